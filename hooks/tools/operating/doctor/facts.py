"""The facts that checks judge: what the API server answered, and which of its objects are whose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import TopologyForm
from hooks.ground.k8s.pod_sets import pod_spec_of, wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest, labels_of, plural_of
from hooks.ground.settings import ENVIRONMENT_PREFIX
from hooks.tools.operating.foreign_owners import NONE_FOREIGN, ForeignOwned
from hooks.wire.metacontroller.install_files import CONTROLLER_FILES

HOOKS_NAME = "dynamo-hooks"
OPERATOR_NAME = "dynamo-operator"
SET_CRD = f"{plural_of(kinds.POD_CLIQUE_SET)}.{kinds.POD_CLIQUE_SET.group}"
_INSTALLATION = f"{ENVIRONMENT_PREFIX}INSTALLATION"
_RESTRICTION = f"{ENVIRONMENT_PREFIX}INSTALLATION_NAMESPACE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedService:
    """A Service: whether it exists, how many of its endpoints are ready, and what it answered through the API server.

    `status` is 0 if it was not asked or did not answer; `said` then says why.
    """

    exists: bool
    ready: int = 0
    status: int = 0
    said: str = ""


class CertificateSource(StrEnum):
    """Who renews a certificate: the chart's CronJob, cert-manager, or another tool."""

    CHART = "chart"
    CERT_MANAGER = "cert-manager"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate as PEM text, without its key; empty if its Secret does not exist.

    `renewal` is the name of the chart's CronJob that renews it; empty if there is none, or if it may not be read.
    """

    text: str
    source: CertificateSource = CertificateSource.CHART
    renewal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A right of a user, as the API server judges it. `namespace` is empty for the whole cluster."""

    holder: str
    user: str
    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    allowed: bool = False

    @property
    def words(self) -> str:
        """`create deployments.apps in team-a`."""
        return f"{self.verb} {self.about}"

    @property
    def about(self) -> str:
        """`deployments.apps in team-a`."""
        name, _, below = self.resource.partition("/")
        resource = (f"{name}.{self.group}" if self.group else name) + (f"/{below}" if below else "")
        named = f" {self.name}" if self.name else ""
        return f"{resource}{named}" + (f" in {self.namespace}" if self.namespace else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A component's Deployment: its name, the counts of its status, and since when it has them; None if not known."""

    name: str
    counts: Mapping[str, int]
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPart:
    """A PodClique of a graph, and what Grove says of its last failure there."""

    title: str
    namespace: str
    name: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroveFacts:
    """What was read of Grove.

    `crds` are the names of definitions, of Grove and of schedulers. `form` is how the definition of PodCliqueSets has
    topologies, None if it has none. `tag` is that of the operator's image, empty if no Deployment has it. `bindings`
    are the names of topologies, None if they were not read. `failed` are the parts that Grove could not make.
    """

    crds: frozenset[str] = frozenset()
    form: TopologyForm | None = None
    tag: str = ""
    bindings: tuple[str, ...] | None = None
    failed: tuple[FailedPart, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether the cluster has PodCliqueSets."""
        return SET_CRD in self.crds


NO_GROVE = GroveFacts()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationFacts:
    """What was read. `unread` has what could not be read, with the reason: checks say nothing about that.

    `crds` are by name, `backends` by namespace and name, `certificates` by those of their Secret. `parents` are the
    objects of the five kinds. `namespace` is where the hooks are searched; empty for everywhere. `claims` has the
    namespaces with the label of an installation, and that label. `foreign_owned` are objects that name their owners by
    another version than v1alpha1. `unmanaged_pods` have the label of a graph, and no workload of a graph manages them.
    `counted` are the Deployments of components, by the uids of these. `constrained` are the graphs with topology
    constraints, as `namespace/name`.
    """

    now: datetime
    kubernetes: str = ""
    namespace: str = ""
    crds: Mapping[str, ReadManifest] = field(default_factory=dict)
    served: frozenset[str] = frozenset()
    controllers: tuple[ReadManifest, ...] = ()
    events: tuple[ReadManifest, ...] = ()
    parents: tuple[ReadManifest, ...] = ()
    claims: Mapping[str, str] = field(default_factory=dict)
    workloads: tuple[ReadManifest, ...] = ()
    counted: Mapping[str, Counted] = field(default_factory=dict)
    pods: tuple[ReadManifest, ...] = ()
    backends: Mapping[tuple[str, str], ReachedService] = field(default_factory=dict)
    webhooks: tuple[ReadManifest, ...] = ()
    certificates: Mapping[tuple[str, str], Certificate] = field(default_factory=dict)
    rights: tuple[Right, ...] = ()
    foreign_owned: ForeignOwned = NONE_FOREIGN
    unmanaged_pods: tuple[ReadManifest, ...] = ()
    grove: GroveFacts = NO_GROVE
    constrained: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)

    @property
    def hooks(self) -> tuple[ReadManifest, ...]:
        """The Deployments of the hooks."""
        return tuple(found for found in self.workloads if is_hooks(found, self.namespace))

    @property
    def metacontrollers(self) -> tuple[ReadManifest, ...]:
        """The workloads of Metacontroller that are not scaled to nothing."""
        return tuple(found for found in self.workloads if is_metacontroller(found) and wanted_replicas(found) > 0)

    @property
    def operators(self) -> tuple[ReadManifest, ...]:
        """The Go operator's Deployments, also those that are scaled to nothing."""
        return tuple(
            found for found in self.workloads if labels_of(found).get(contract.LABEL_APP_NAME) == OPERATOR_NAME
        )

    @property
    def own_controllers(self) -> tuple[ReadManifest, ...]:
        """The controllers of the hooks, of all installations."""
        return tuple(found for found in self.controllers if base_name(found))

    @property
    def restrictions(self) -> Mapping[str, str]:
        """Name of an installation to the namespace to which its hooks are restricted, by their variables."""
        found = [variables_of(workload) for workload in self.workloads if is_hooks(workload)]
        return {v[_INSTALLATION]: v[_RESTRICTION] for v in found if v.get(_INSTALLATION) and v.get(_RESTRICTION)}

    @property
    def is_installed(self) -> bool:
        """Whether anything of ours is there; a CRD may be the Go operator's."""
        return bool(self.hooks or self.own_controllers)

    @property
    def has_crds(self) -> bool:
        """Whether one of our kinds is defined, by whomever."""
        return any(name.endswith(f".{contract.GROUP}") for name in self.crds)


BASE_NAMES = tuple(f"dynamo-{name.removesuffix('.yaml')}" for name in CONTROLLER_FILES)
"""The names of the five controllers; those of a restricted installation have its name behind."""


def base_name(controller: ReadManifest) -> str:
    """Which of the five controllers it is; empty if it is none of them."""
    name = str(controller["metadata"]["name"])
    if contract.GROUP not in parent_groups(controller):
        return ""
    return next((base for base in BASE_NAMES if name == base or name.startswith(f"{base}-")), "")


def installation_of(controller: ReadManifest) -> str:
    """The installation's name; empty for that of the whole cluster."""
    name, base = str(controller["metadata"]["name"]), base_name(controller)
    return name.removeprefix(base).removeprefix("-") if base else ""


def parent_groups(controller: ReadManifest) -> frozenset[str]:
    """The API groups of the objects that a controller looks after."""
    return frozenset(str(rule.get("apiVersion", "")).partition("/")[0] for rule in parent_rules(controller))


def parent_rules(controller: ReadManifest) -> list[Mapping[str, Json]]:
    """The rules for parents of a Composite- or DecoratorController."""
    spec = controller.get("spec") or {}
    parent = spec.get("parentResource")
    return [parent] if parent else list(spec.get("resources") or ())


def webhooks_of(controller: ReadManifest) -> dict[str, Mapping[str, Json]]:
    """Name of a hook, such as `sync`, to its webhook."""
    hooks = (controller.get("spec") or {}).get("hooks") or {}
    return {name: hook["webhook"] for name, hook in hooks.items() if (hook or {}).get("webhook")}


def status_written(obj: ReadManifest) -> datetime | None:
    """When the status of an object was last written; None if that is not recorded."""
    entries = obj["metadata"].get("managedFields") or ()
    times = [str(one["time"]) for one in entries if one.get("subresource") == "status" and one.get("time")]
    return max(map(datetime.fromisoformat, times), default=None)


def containers_of(workload: ReadManifest) -> list[Mapping[str, Json]]:
    """The containers of a workload's pod template."""
    return list(pod_spec_of(workload).get("containers") or ())


def words_of(container: Mapping[str, Json]) -> list[str]:
    """The command and the arguments of a container."""
    return [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]


def account_of(workload: ReadManifest) -> str:
    """The user that the pods of a workload are for the API server."""
    spec = pod_spec_of(workload)
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    return f"system:serviceaccount:{workload['metadata']['namespace']}:{name}"


def ready_of(workload: ReadManifest) -> int:
    """The number of ready pods."""
    return int((workload.get("status") or {}).get("readyReplicas") or 0)


def is_hooks(workload: ReadManifest, namespace: str = "") -> bool:
    """Whether the workload serves the hooks (in the namespace, if one is given)."""
    if namespace and workload["metadata"].get("namespace") != namespace:
        return False
    return any(words_of(found)[:1] == ["serve"] and found.get("name") == "hooks" for found in containers_of(workload))


def is_metacontroller(workload: ReadManifest) -> bool:
    """Whether the workload runs Metacontroller, under whatever name: its image says so."""
    return metacontroller_container(workload) is not None


def metacontroller_container(workload: ReadManifest) -> Mapping[str, Json] | None:
    """The container of Metacontroller."""
    for container in containers_of(workload):
        name = str(container.get("image") or "").partition("@")[0].rpartition("/")[2]
        if name.partition(":")[0].startswith("metacontroller"):
            return container
    return None


def hooks_containers(workload: ReadManifest) -> list[Mapping[str, Json]]:
    """The containers that serve the hooks."""
    return [found for found in containers_of(workload) if found.get("name") == "hooks"]


def variables_of(workload: ReadManifest) -> dict[str, str]:
    """The variables with a value of the container `hooks`."""
    variables = [variable for found in hooks_containers(workload) for variable in found.get("env") or ()]
    return {str(v["name"]): str(v["value"]) for v in variables if v.get("value") is not None}
