"""Children and related objects of a graph, read once into frozen values; decides nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hooks.component.spec.mpi_key import ObservedKey, observe_key
from hooks.component.spec.operator_release import UNWRITTEN
from hooks.component.spec.pull_secrets import RegistrySecret, observe_registry_secrets
from hooks.graph.seen.frontends import Endpoints, observe_frontends
from hooks.graph.seen.grove import ObservedGrove, observe_grove, without_counts
from hooks.graph.seen.live_path import GraphPath, find_live_path
from hooks.graph.seen.upstream_generations import NONE as NO_GENERATIONS
from hooks.graph.seen.upstream_generations import Generations, find_generations
from hooks.graph.seen.worker_labels import LivePool, find_untyped, observe_pool
from hooks.graph.spec.namespace_prefix import TAKEN, observe_longer, observe_prefix, observe_seeing
from hooks.graph.spec.operator_release import find_operator_release
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition, is_true
from hooks.ground.k8s.deletion import advise_deletion, why_deleting
from hooks.ground.k8s.grove import GROVE, LABEL_MANAGED_BY
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.pod_reasons import cannot_pull
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.rbac import RoleReference
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    ReadManifest,
    annotations_of,
    is_controlled_by,
    is_deleting,
    labels_of,
    name_of,
)
from hooks.ground.settings import Settings, Switch
from hooks.wire.metacontroller.last_applied import read_applied_spec, read_last_applied
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.deviations import is_left_behind
from hooks.wire.policy.identity import component_name
from hooks.wire.policy.new_defaults import HELD
from hooks.wire.policy.on_demand import NOT_YET_READ, has_go_finalizer
from hooks.wire.policy.rendering_mark import RenderingMark, read_mark
from hooks.wire.policy.rollout_pace import RolloutPace, read_pace


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildComponent:
    """A DynamoComponentDeployment of the graph as the cluster holds it.

    `applied_spec` is the spec as it was last applied, None if that is not recorded. `is_available` and `message` are
    those of its condition Available; `unready` and `reason` are those of its condition Ready while that is False, else
    empty. `service` is its `status.service`, empty while it has none. `is_held`: its workload waits with new defaults.
    `rendering` is its mark, None if it has none, and `suffix` the generation in its label, empty for none.
    `is_paced`: it keeps old pods until other workers are ready, by its `pace`, None for one that cannot be read.
    `unready_since` is when its condition Ready became False, empty while it is not.
    """

    is_deleting: bool
    generation: int
    observed_generation: int
    spec: Mapping[str, Json]
    applied_spec: Mapping[str, Json] | None
    is_available: bool
    message: str
    unready: str
    reason: str
    service: Mapping[str, Json]
    is_held: bool = False
    rendering: RenderingMark | None = None
    suffix: str = ""
    pace: RolloutPace | None = None
    is_paced: bool = False
    unready_since: str = ""

    @property
    def is_settled(self) -> bool:
        """Whether its newest spec runs, and no pod of an older one."""
        return self.observed_generation >= self.generation and self.is_available and not self.unready

    @property
    def has_status(self) -> bool:
        """Whether its hook has ever answered; until then the API server shows the default generation, -1."""
        return self.observed_generation > 0

    @property
    def has_ready_pods(self) -> bool:
        """Whether some of its pods serve, as far as its status says."""
        return self.is_available or int(self.service.get("readyReplicas") or 0) > 0

    @property
    def restart_at(self) -> str:
        """The id of the last restart, empty for none; the applied spec counts if the annotation was removed."""
        found = ((spec.get("annotations") or {}).get(contract.ANNOTATION_RESTART_AT) for spec in self._specs())
        return str(next((restart for restart in found if restart), ""))

    def _specs(self) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        return self.spec, self.applied_spec or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedClaim:
    """A PersistentVolumeClaim of the graph; absent fields are empty. `is_lost`: its volume is gone.

    `ending` says that it is being deleted, and what holds it, `remedy` what to do; both are empty if it is not.
    """

    size: str
    access_modes: tuple[str, ...]
    storage_class: str
    is_lost: bool
    ending: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedGraph:
    """All that a graph's sync sees beside the graph, each by name.

    `adapters` holds the replicas of each scaling adapter, `claims` the claims that are children, `foreign_claims` the
    claims with another owner, `bindings` the role of each RoleBinding, `installed` the optional kinds that the
    controller declares, `live_path` the path on which the graph runs already, None for a new graph, `grove` the
    objects of Grove, `mpi_key` the SSH key of multinode TensorRT-LLM with the graph's copy of it. `pods` are by
    service the pods that were read, Grove's or those of rolling workers; `pod_faults` say by service why they could
    not be. `with_image_errors` are services with pods whose images cannot be pulled. `untyped` are the services whose
    existing workload has the type `worker` in selectors, which cannot change. `operator_release` is the release that
    the children keep as that with which the graph began, None for a new graph. `prefix` is what is known of the bare
    prefix of its Dynamo namespace, `pool` how its InferencePool finds workers. `generations` are the components whose
    names have a generation in them. `unread` says in half a sentence why it is not known which of them there are, of
    a graph that the Go operator may have begun. `is_namespace_ending`: the namespace is being deleted. `is_ending`:
    the graph itself is. `kept_releases` are by service the releases that services keep, whose images name none.
    `pods_known` are the services whose pods were read, None if pods were given otherwise or are
    never read. `endpoints` are those of the frontends' Services, None if no EndpointSlice is in the request.
    `longer` are the other graphs whose Dynamo namespace begins with this one's, `seeing` those that see its workers.
    """

    components: Mapping[str, ChildComponent]
    adapters: Mapping[str, int]
    claims: Mapping[str, ObservedClaim]
    foreign_claims: Mapping[str, ObservedClaim]
    bindings: Mapping[str, RoleReference]
    installed: frozenset[GroupVersionKind]
    live_path: GraphPath | None
    grove: ObservedGrove
    pods: Mapping[str, tuple[ReadManifest, ...]]
    with_image_errors: frozenset[str]
    mpi_key: ObservedKey
    registry_secrets: tuple[RegistrySecret, ...]
    untyped: frozenset[str] = frozenset()
    operator_release: str | None = None
    prefix: str = TAKEN
    pool: LivePool = LivePool.NONE
    generations: Generations = NO_GENERATIONS
    pod_faults: Mapping[str, str] = field(default_factory=dict)
    unread: str = ""
    is_namespace_ending: bool = False
    is_ending: bool = False
    pods_known: frozenset[str] | None = None
    endpoints: Endpoints | None = None
    longer: tuple[str, ...] = ()
    seeing: tuple[str, ...] = ()
    kept_releases: Mapping[str, str] = field(default_factory=dict)

    def knows_pods(self, service: str) -> bool:
        """Whether all pods of a service under Grove are among `pods`, or nothing can tell of them."""
        return self.pods_known is None or service in self.pods_known

    def component_of(self, graph: str, service: str) -> ChildComponent | None:
        """The live component of a service of the graph with that name."""
        return self.components.get(self.generations.current.get(service) or component_name(graph, service))


def observe(request: SyncRequest, settings: Settings) -> ObservedGraph:
    """Read the children and related objects of a graph's sync."""
    children, uid = request.children, request.parent["metadata"].get("uid", "")
    claims = {name_of(claim): _observe_claim(claim) for claim in children.of(kinds.PERSISTENT_VOLUME_CLAIM)}
    related = request.related.of(kinds.PERSISTENT_VOLUME_CLAIM)
    own = [claim for claim in related if is_controlled_by(claim, uid)]
    foreign = {name_of(claim): _observe_claim(claim) for claim in related if not is_controlled_by(claim, uid)}
    pods, longer = _observe_pods(request), observe_longer(request)
    return ObservedGraph(
        components={name_of(child): _observe_component(child) for child in children.of(contract.COMPONENT)},
        adapters={name_of(a): wanted_replicas(a) for a in children.of(contract.SCALING_ADAPTER)},
        claims={**{name_of(claim): _observe_claim(claim) for claim in own}, **claims},
        foreign_claims={name: claim for name, claim in foreign.items() if name not in claims},
        bindings={name_of(binding): _observe_binding(binding) for binding in children.of(kinds.ROLE_BINDING)},
        installed=children.optional_kinds(),
        live_path=find_live_path(children.of(contract.COMPONENT), children.of(kinds.POD_CLIQUE_SET), request.status),
        grove=observe_grove(request),
        pods=pods,
        with_image_errors=frozenset(service for service, found in pods.items() if cannot_pull(found)),
        mpi_key=observe_key(request, settings),
        registry_secrets=observe_registry_secrets(request.related.of(kinds.SECRET)),
        untyped=find_untyped(request.children),
        operator_release=_observe_operator_release(request),
        prefix=observe_prefix(request, longer),
        pool=observe_pool(request),
        generations=find_generations(request.parent, [*children.of(contract.COMPONENT), *_find_left_behind(request)]),
        pod_faults=_find_pod_faults(request),
        unread=_why_unread(request),
        is_namespace_ending=any(map(is_deleting, request.related.of(kinds.NAMESPACE))),
        is_ending=is_deleting(request.parent),
        pods_known=_find_known_pods(request, settings),
        endpoints=observe_frontends(request),
        longer=longer,
        seeing=observe_seeing(request),
    )


def _observe_operator_release(request: SyncRequest) -> str | None:
    """What all children keep, also those that a Go operator left; before 1.0 that wrote no origin."""
    kept = find_operator_release(request.parent, [*request.children.all(), *_find_left_behind(request)])
    return UNWRITTEN if kept is None and has_go_finalizer(request.parent) else kept


def query_components(parent: ReadManifest) -> ObjectQuery:
    """The query for all components with the graph's label.

    A Go operator may have left some with other names, beside which none may be created.
    """
    labels = ((contract.LABEL_GRAPH, name_of(parent)),)
    return ObjectQuery(contract.COMPONENT, parent["metadata"]["namespace"], labels=labels)


def query_pods(parent: ReadManifest, service: str) -> ObjectQuery:
    """The query for a service's pods under Grove."""
    labels = {contract.LABEL_COMPONENT: service, contract.LABEL_GRAPH: name_of(parent), LABEL_MANAGED_BY: GROVE}
    return ObjectQuery(kinds.POD, parent["metadata"]["namespace"], labels=tuple(sorted(labels.items())))


def query_worker_pods(parent: ReadManifest, service: str, component: str) -> ObjectQuery:
    """The query for the pods of a service that its component's Deployment runs; groups of pods have no component."""
    labels = {contract.LABEL_COMPONENT: service, contract.LABEL_GRAPH: name_of(parent)}
    own = {**labels, **({contract.LABEL_SELECTOR: component} if component else {})}
    return ObjectQuery(kinds.POD, parent["metadata"]["namespace"], labels=tuple(sorted(own.items())))


def _why_unread(request: SyncRequest) -> str:
    """Why it is not known which components the Go operator left; empty if it is known, or that operator left none."""
    if request.related.has_kind(contract.COMPONENT) or not has_go_finalizer(request.parent):
        return ""
    return request.answered.get(query_components(request.parent), "") or NOT_YET_READ


def _find_known_pods(request: SyncRequest, settings: Settings) -> frozenset[str] | None:
    """The services whose pods were read."""
    answers = [(query, fault) for query, fault in request.answered.items() if query.kind == kinds.POD]
    if settings.explain_pods is Switch.OFF or (not answers and request.related.has_kind(kinds.POD)):
        return None
    return frozenset(dict(query.labels)[contract.LABEL_COMPONENT] for query, fault in answers if not fault)


def _find_pod_faults(request: SyncRequest) -> dict[str, str]:
    """By service why its pods could not be read."""
    faults = ((dict(query.labels), fault) for query, fault in request.answered.items() if query.kind == kinds.POD)
    return {labels[contract.LABEL_COMPONENT]: fault for labels, fault in faults if fault}


def _find_left_behind(request: SyncRequest) -> Iterator[ReadManifest]:
    """The graph's components that Metacontroller does not take for children; their names are not free."""
    for one in request.related.of(contract.COMPONENT):
        if is_left_behind(one, request.parent):
            yield one


def without_progress(seen: ObservedGraph) -> ObservedGraph:
    """The part that a plan depends on: components without their state, and no pods."""
    components, grove = dict.fromkeys(seen.components, _PRESENT), without_counts(seen.grove)
    calm = replace(seen, pods={}, pod_faults={}, pods_known=None, unread="", is_namespace_ending=False, is_ending=False)
    return replace(calm, components=components, grove=grove, endpoints=None, longer=(), seeing=())


_PRESENT = ChildComponent(
    is_deleting=False,
    generation=0,
    observed_generation=0,
    spec={},
    applied_spec=None,
    is_available=False,
    message="",
    unready="",
    reason="",
    service={},
)


def _observe_pods(request: SyncRequest) -> dict[str, tuple[ReadManifest, ...]]:
    pods: dict[str, tuple[ReadManifest, ...]] = {}
    for pod in request.related.of(kinds.POD):
        service = labels_of(pod).get(contract.LABEL_COMPONENT, "")
        pods[service] = (*pods.get(service, ()), pod)
    return pods


def _observe_component(child: ReadManifest) -> ChildComponent:
    kept = read_last_applied(child) or child  # labels may have been changed since
    status = child.get("status") or {}
    conditions = status.get("conditions") or ()
    available, ready = (find_condition(conditions, type_) or {} for type_ in ("Available", READY))
    is_unready = ready.get("status") == "False"
    return ChildComponent(
        is_deleting=is_deleting(child),
        generation=int(child["metadata"].get("generation", 0)),
        observed_generation=int(status.get("observedGeneration", 0)),
        spec=child.get("spec") or {},
        applied_spec=read_applied_spec(child),
        is_available=available.get("status") == "True",
        message=str(available.get("message") or ""),
        unready=str(ready.get("message") or "") if is_unready else "",
        reason=str(ready.get("reason") or "") if is_unready else "",
        service=clean_json(status.get("service") or {}),
        is_held=is_true(conditions, HELD),
        rendering=read_mark(kept),
        suffix=_suffix_of(kept),
        pace=read_pace(annotations_of(child).get(contract.ANNOTATION_PACE, "")),
        is_paced=contract.ANNOTATION_PACE in annotations_of(child),
        unready_since=str(ready.get("lastTransitionTime") or "") if is_unready else "",
    )


def _suffix_of(component: ReadManifest) -> str:
    """The generation in a component's label; our components say it in their spec, too, if labels were removed."""
    in_spec = (component.get("spec") or {}).get("labels") or {}
    return str({**in_spec, **labels_of(component)}.get(contract.LABEL_WORKER_HASH) or "")


def _observe_claim(claim: ReadManifest) -> ObservedClaim:
    spec = claim.get("spec") or {}
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "")
    return ObservedClaim(
        size=canonical_quantity(size) if size else "",
        access_modes=tuple(spec.get("accessModes") or ()),
        storage_class=str(spec.get("storageClassName") or ""),
        is_lost=(claim.get("status") or {}).get("phase") == "Lost",
        ending=why_deleting(claim),
        remedy=advise_deletion(claim),
    )


def _observe_binding(binding: ReadManifest) -> RoleReference:
    reference = binding.get("roleRef") or {}
    return RoleReference(kind=reference.get("kind", ""), name=reference.get("name", ""))
