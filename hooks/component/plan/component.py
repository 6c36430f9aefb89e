"""Makes every decision about a component: its workload and replicas, its pods and labels, and how it is reached."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from hooks.component.image.command_line import CommandLine
from hooks.component.image.runtime_version import (
    CURRENT_SINCE,
    find_runtime_container,
    is_since,
    resolve_runtime_version,
)
from hooks.component.plan.exposure import Exposure, plan_exposure
from hooks.component.plan.groups import GroupsPlan, plan_groups
from hooks.component.plan.strategy import resolve_strategy, with_amounts
from hooks.component.pod.backends import Backend, resolve_backend
from hooks.component.pod.defaults import ComponentDefaults, resolve_defaults
from hooks.component.pod.port_rules import find_number_of
from hooks.component.pod.sidecars import images_of_sidecars
from hooks.component.pod.template import PodPlan, users_account
from hooks.component.pod.volumes import plan_volumes
from hooks.component.seen.discovered import FALLBACK_ACCOUNT, Discovered
from hooks.component.seen.observe import ObservedComponent, Workloads
from hooks.component.spec.beta_fields import find_beta_warnings, find_frontend_container, write_nodes
from hooks.component.spec.mpi_key import KeyPlan, plan_key
from hooks.component.spec.operator_release import begin_component
from hooks.component.spec.projection import project
from hooks.component.spec.pull_secrets import find_pull_secrets
from hooks.component.spec.subject import NEVER_COPIED, ComponentType, Subject, operator_labels, resolve_subject
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Json, name_of
from hooks.ground.problems import METADATA, SPEC, FieldPath, Problem
from hooks.ground.settings import Settings, Switch
from hooks.language.api.component import ComponentDeployment, ComponentDeploymentSpec
from hooks.language.api.component_spec import ComponentSpec, Ingress
from hooks.language.rules import component as component_rules
from hooks.language.rules.slips import KEPT_RELEASE
from hooks.language.rules.spec import ISTIO_MISSING, NO_ISTIO
from hooks.wire.policy.identity import discovery_account, mpi_secret

_RELEASE_LABEL = re.compile(
    r"helm\.sh/chart|app\.kubernetes\.io/version|argocd\.argoproj\.io/.*|([^/]+\.)?toolkit\.fluxcd\.io/.*"
)
"""Labels that delivery tools set on the component and change with each release; pods do not get them."""
_REACHED = (contract.HTTP_PORT_NAME, contract.SYSTEM_PORT_NAME)
_DESCRIBING = (
    contract.ANNOTATION_DISCOVERY_MODE,
    contract.ANNOTATION_EXECUTOR_BACKEND,
    contract.ANNOTATION_ORIGIN_VERSION,
)
"""Annotations of a component that its pods of 1.x have, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentPlan:
    """The children of a component; `labels` and `annotations` are those of the children, `warnings` go into the status.

    The workload is a Deployment, or `groups` if the replicas span nodes. It is left out while `waits_for` names another
    workload that must be gone first; `waits_for` is half a sentence. `mpi_key` is None if no key is copied. `kept` is
    what a workload's pods keep of an earlier discovery, by name of the workload. `queue` is the Volcano queue that the
    user names, empty for none. `projection` has the fields of `status.service` that follow from the spec.
    """

    subject: Subject
    replicas: int
    groups: GroupsPlan | None
    waits_for: str
    mpi_key: KeyPlan | None
    strategy: Mapping[str, Json]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pod_labels: Mapping[str, str]
    pod_annotations: Mapping[str, str]
    queue: str
    pod: PodPlan
    kept: Mapping[str, Discovered]
    exposure: Exposure
    projection: Mapping[str, Json]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def refuse_multinode(component: ComponentDeployment, seen: ObservedComponent) -> tuple[Problem, ...]:
    """The problem of a component over several nodes if the cluster cannot run it; otherwise ().

    The sync checks this before it plans anything: with this problem, no child may be created.
    """
    lacks_orchestrator = component.spec.is_multinode and not seen.has_leader_worker_sets
    return (component_rules.NO_ORCHESTRATOR.at(SPEC / "multinode"),) if lacks_orchestrator else ()


def find_istio_warnings(
    ingress: Ingress | None, path: FieldPath, installed: Collection[GroupVersionKind] | None
) -> Iterator[Problem]:
    """The warning that the ingress gets no Istio VirtualService; none if `installed` is unknown."""
    if installed is None or kinds.VIRTUAL_SERVICE in installed or ingress is None:
        return
    if ingress.enabled and ingress.use_virtual_service and ingress.virtual_service_gateway:
        yield ISTIO_MISSING.at(path / "ingress")


def plan_component(component: ComponentDeployment, seen: ObservedComponent, settings: Settings) -> ComponentPlan:
    """Plan a component whose spec has no problems; over several nodes, the cluster needs LeaderWorkerSet and Volcano.

    Raises:
        InvalidSpec: the component needs a Service, which cannot have the component's name.
    """
    spec = component.spec.model_copy(update={"annotations": begin_component(component.spec, seen.operator_release)})
    subject = resolve_subject(component, settings)
    defaults = resolve_defaults(spec, subject)
    labels = _object_labels(component, subject)
    replicas = 1 if spec.replicas is None else spec.replicas
    known = {**component.metadata.annotations, **spec.annotations}
    frontend, kept = find_frontend_container(known, spec.extra_pod_spec), known.get(contract.ANNOTATION_KEPT_RELEASE)
    exposure, warnings = _plan_exposure(spec, subject, defaults, seen, frontend=frontend)
    pod = replace(_plan_pod(spec, subject, defaults, seen=seen, settings=settings), frontend_container=frontend)
    key = plan_key(subject.name, subject.namespace, seen.mpi_key, settings) if copies_mpi_key(component) else None
    return ComponentPlan(
        subject=subject,
        replicas=replicas,
        groups=_plan_groups(spec, subject, seen.workloads, replicas=replicas, settings=settings),
        waits_for=_find_predecessor(spec, seen.workloads),
        mpi_key=key,
        strategy=resolve_strategy(with_amounts(spec.annotations, settings), may_overlap=defaults.may_overlap),
        labels=labels,
        annotations=_object_annotations(spec, subject),
        pod_labels=_pod_labels(component, subject),
        pod_annotations=_pod_annotations(spec, subject),
        queue=known.get(contract.ANNOTATION_VOLCANO_QUEUE, "").strip(),
        pod=pod,
        kept={},
        exposure=exposure,
        projection=project(spec, subject.dynamo_namespace),
        warnings=(
            *([KEPT_RELEASE.at(SPEC / "runtimeVersionOverride", release=kept).text] if kept else []),
            *warnings,
            *(key.warnings if key else ()),
            *find_beta_warnings(contract.COMPONENT, component.metadata.annotations, write_nodes(spec.node_count)),
        ),
        notes=(
            f"account {pod.account or pod.discovered.account}",
            f"discovery {subject.discovery}",
            f"runtime {resolve_runtime_version(spec) or 'of unknown release'}",
        ),
    )


def images_of(spec: ComponentSpec) -> Iterator[str]:
    """The images of all containers of a component, including init containers."""
    yield str(spec.main_container.get("image") or "")
    for field in ("containers", "initContainers"):
        for container in spec.extra_pod_spec.get(field) or ():
            yield str(container.get("image") or "")
    yield from images_of_sidecars(spec)


def wants_pull_secrets(spec: ComponentSpec) -> bool:
    """Whether pods get the registry Secrets that match their images; an annotation of the service turns this off."""
    return spec.annotations.get(contract.ANNOTATION_DISABLE_PULL_SECRETS) != "true"


def copies_mpi_key(component: ComponentDeployment) -> bool:
    """Whether the component needs the SSH key and has no graph that copies it."""
    if component.graph_name or not component.spec.is_multinode:
        return False
    return detect_backend(component.spec) is Backend.TRTLLM


def detect_backend(spec: ComponentDeploymentSpec) -> Backend:
    """The engine of a spec without problems."""
    kind, command_line = ComponentType.of(spec.component_type), CommandLine.of(spec.main_container)
    return resolve_backend(kind, command_line, spec.backend_framework)


def named_account(spec: ComponentSpec, subject: Subject, defaults: ComponentDefaults) -> str:
    """The ServiceAccount of the spec: the user's, the type's, or the graph's for discovery; empty for none."""
    account = users_account(spec) or defaults.account
    if account or not (subject.graph and subject.uses_kubernetes_discovery):
        return account
    return discovery_account(subject.graph)


def _plan_groups(
    spec: ComponentSpec, subject: Subject, workloads: Workloads, *, replicas: int, settings: Settings
) -> GroupsPlan | None:
    if not spec.is_multinode:
        return None
    one_set, nodes = settings.lws_gangs is Switch.ON, spec.node_count
    return plan_groups(subject.name, node_count=nodes, replicas=replicas, observed=workloads, one_set=one_set)


def _find_predecessor(spec: ComponentSpec, workloads: Workloads) -> str:
    """Half a sentence that names a workload of the other kind, which must be gone first; empty if there is none.

    Both together would need twice the GPUs. The Dynamo operator does not delete the old workload when the number of
    nodes changes between one and several.
    """
    if not spec.is_multinode:
        names = ", ".join(sorted(workloads.leader_worker_sets))
        return f"it waits until LeaderWorkerSet {names} is gone" if names else ""
    deployment = workloads.deployment
    return f"it waits until Deployment {name_of(deployment)} is gone" if deployment is not None else ""


def _plan_exposure(
    spec: ComponentSpec, subject: Subject, defaults: ComponentDefaults, seen: ObservedComponent, *, frontend: str
) -> tuple[Exposure, tuple[str, ...]]:
    """Decide how the component is reached, with warnings about what is missing in this cluster."""
    found = ((name, find_number_of(spec, name, frontend_container=frontend)) for name in _REACHED)
    listening = {name: number for name, number in found if number is not None}
    exposure = plan_exposure(subject, defaults, spec.ingress, is_multinode=spec.is_multinode, listening=listening)
    if exposure.ports and not subject.name[0].isalpha():
        raise InvalidSpec(component_rules.SERVICE_OBJECT_NAME.at(METADATA / "name", name=subject.name))
    if exposure.virtual_service and not seen.has_virtual_services:
        return replace(exposure, virtual_service=None), (NO_ISTIO,)
    return exposure, ()


def _plan_pod(
    spec: ComponentDeploymentSpec,
    subject: Subject,
    defaults: ComponentDefaults,
    *,
    seen: ObservedComponent,
    settings: Settings,
) -> PodPlan:
    backend = detect_backend(spec)
    account = named_account(spec, subject, defaults)
    secrets = find_pull_secrets(images_of(spec), seen.registry_secrets) if wants_pull_secrets(spec) else None
    return PodPlan(
        subject=subject,
        spec=spec,
        defaults=defaults,
        backend=backend,
        volumes=plan_volumes(spec, backend),
        account=account,
        discovered=Discovered(
            account=None if account else next(iter(seen.accounts), FALLBACK_ACCOUNT), pull_secrets=secrets
        ),
        mpi_secret=mpi_secret(subject.graph or subject.name),
        settings=settings,
        runtime_container=find_runtime_container(spec) if subject.type.is_worker else None,
    )


def _object_labels(component: ComponentDeployment, subject: Subject) -> dict[str, str]:
    return {**_own_labels(component.spec.labels, component.metadata.labels), **subject.model_labels()}


def _own_labels(of_spec: Mapping[str, str], of_component: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in {**of_spec, **of_component}.items() if key not in NEVER_COPIED}


def _object_annotations(spec: ComponentSpec, subject: Subject) -> dict[str, str]:
    pods = spec.extra_pod_metadata.annotations if spec.extra_pod_metadata else {}
    model = {contract.ANNOTATION_BASE_MODEL: subject.base_model} if subject.base_model else {}
    return {**spec.annotations, **pods, **model}


def _pod_labels(component: ComponentDeployment, subject: Subject) -> dict[str, str]:
    """Labels of the pods; labels that selectors use are set last, so that a user's labels cannot break selectors."""
    spec = component.spec
    has_metrics = spec.annotations.get(contract.ANNOTATION_ENABLE_METRICS) != "false"
    metrics = {contract.LABEL_METRICS: "true"} if has_metrics else {}
    users = spec.extra_pod_metadata.labels if spec.extra_pod_metadata else {}
    graph = subject.graph or spec.labels.get(contract.LABEL_GRAPH, "")
    of_component = {key: value for key, value in component.metadata.labels.items() if not _RELEASE_LABEL.fullmatch(key)}
    own = _own_labels(spec.labels, of_component)
    class_ = spec.labels.get(contract.LABEL_COMPONENT_CLASS)
    picked = {contract.LABEL_COMPONENT_CLASS: class_} if class_ else {}
    return {**metrics, **own, **users, **picked, **operator_labels(subject), contract.LABEL_GRAPH: graph}


def _pod_annotations(spec: ComponentSpec, subject: Subject) -> dict[str, str]:
    users = spec.extra_pod_metadata.annotations if spec.extra_pod_metadata else {}
    restart = spec.annotations.get(contract.ANNOTATION_RESTART_AT)
    described = {**_describe_pods(spec, subject), **users}
    return {**described, contract.ANNOTATION_RESTART_AT: restart} if restart else described


def _describe_pods(spec: ComponentSpec, subject: Subject) -> dict[str, str]:
    """How the pods discover each other, and what decided how they start over several nodes; {} before 1.0."""
    if not is_since(resolve_runtime_version(spec), CURRENT_SINCE):
        return {}
    copied = {key: spec.annotations[key] for key in _DESCRIBING if spec.annotations.get(key)}
    return {contract.ANNOTATION_DISCOVERY_BACKEND: subject.discovery, **copied}
