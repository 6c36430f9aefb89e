"""One service of a graph under Grove: its cliques, the group that scales them together, and the objects that expose it.

| the service runs on | cliques | scaled by |
|---|---|---|
| one node | `<svc>` | the PodClique `<set>-0-<svc>` |
| N nodes | `<svc>-ldr` with 1 pod, `<svc>-wkr` with N-1 | the PodCliqueScalingGroup `<set>-0-<svc>` |
"""

from dataclasses import dataclass, replace

from hooks.component.plan.component import ComponentPlan, plan_component
from hooks.component.plan.exposure import build_exposure
from hooks.component.pod.backends import Backend
from hooks.component.pod.placement import Orchestrator, Placement, Role, clique_name, plan_roles
from hooks.component.pod.template import PodPlan, build_pod
from hooks.component.report.explain import explain_missing
from hooks.component.rules.validate import validate_component
from hooks.component.seen.discovered import Discovered
from hooks.component.seen.observe import ObservedComponent, Workloads
from hooks.component.spec.mpi_key import ObservedKey
from hooks.component.spec.operator_release import UNWRITTEN
from hooks.graph.seen.grove import ObservedGrove
from hooks.graph.seen.grove_names import pod_clique_set_name
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.spec.components import GraphServicePlan, build_component
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import Clique, ScalingGroup
from hooks.ground.k8s.not_ready import Explanation
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import METADATA, SPEC, Key, texts_of
from hooks.ground.settings import Settings, Switch
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.graph import GraphDeployment

_NEVER_IN_DEPLOYMENTS = frozenset({"restartPolicy", "activeDeadlineSeconds"})
_NO_WORKLOADS = Workloads(deployment=None, leader_worker_sets={})
_NO_KEY = ObservedKey(source=None, copy=None, can_copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroveService:
    """A service as Grove runs it.

    `kind` and `target` name the object that is scaled. `replicas` are the wanted ones; None if no spec sets them, so
    that an autoscaler may choose. `discovered` is what its pods get from objects of the cluster, `exposed` are its
    Service, Ingress and VirtualService. `warnings` are sentences for the user, `missing_dependencies` what its pods
    still need. `leaves_adapter`: an adapter exists and is no longer enabled.
    """

    service: str
    kind: str
    target: str
    replicas: int | None
    cliques: tuple[Clique, ...]
    group: ScalingGroup | None
    discovered: Discovered
    exposed: tuple[Manifest, ...]
    warnings: tuple[str, ...]
    missing_dependencies: tuple[Explanation, ...]
    leaves_adapter: bool = False

    @property
    def least(self) -> int:
        """The replicas that Grove keeps available; below them it waits, and after its delay ends the gang."""
        return self.group.min_available if self.group else self.cliques[0].min_available


def plan_grove_service(
    graph: GraphDeployment,
    planned: GraphServicePlan,
    seen: ObservedGraph,
    settings: Settings,
    *,
    kept: Discovered | None = None,
) -> GroveService:
    """Decide about one service; `planned` is the component that it would be without Grove.

    Its pods get the present discovery, or the earlier one if `kept` has it.

    Raises:
        InvalidSpec: it cannot be rendered; every problem names a field below `spec.services[<service>]`.
    """
    path = SPEC / "services" / Key(planned.service)
    try:
        service = _plan(graph, planned, seen, settings, kept=kept)
    except InvalidSpec as error:
        raise InvalidSpec(
            [problem.under(path, instead_of=SPEC).under(path, instead_of=METADATA) for problem in error.problems]
        ) from error
    return service if _has_replicas_set(graph, planned) else _hand_over(service, planned, seen, settings)


def target_name(set_name: str, service: str) -> str:
    """Name of the PodClique or PodCliqueScalingGroup that runs a service; the set has one replica."""
    return f"{set_name}-0-{service.lower()}"


def keeps_adapter(service: GroveService, seen: ObservedGrove) -> bool:
    """Whether the adapter of a service that no longer enables it must stay for now.

    Only the adapter shows that the replicas must be set back to the graph's. Scaling may fail or be off, so the adapter
    stays until the live replicas are the graph's.
    """
    found = seen.scalables.get((service.kind, service.target))
    return service.leaves_adapter and (found is None or found.desired != service.replicas)


def _plan(
    graph: GraphDeployment,
    planned: GraphServicePlan,
    seen: ObservedGraph,
    settings: Settings,
    *,
    kept: Discovered | None,
) -> GroveService:
    deployment = _as_component(graph, planned)
    component = plan_component(deployment, _seen_by_component(seen), settings)
    # Without an account in the spec none is set, so that the namespace's default applies.
    found = replace(component.pod.discovered, account=None)
    discovered = found if kept is None else kept.within(found)
    cliques, warnings = _plan_cliques(deployment, component, replace(component.pod, discovered=discovered))
    name, is_multinode = planned.service.lower(), deployment.spec.is_multinode
    count = _template_replicas(deployment, component)
    kind = kinds.POD_CLIQUE_SCALING_GROUP if is_multinode else kinds.POD_CLIQUE
    names = tuple(clique.name for clique in cliques)
    exposed = build_exposure(
        component.subject, component.exposure, labels=component.labels, annotations=component.annotations
    )
    return GroveService(
        service=planned.service,
        kind=kind.kind,
        target=target_name(pod_clique_set_name(graph, seen.grove.set_name), planned.service),
        replicas=component.replicas,
        cliques=cliques,
        group=ScalingGroup(name=name, clique_names=names, replicas=count, min_available=_least(deployment))
        if is_multinode
        else None,
        discovered=discovered,
        exposed=tuple(exposed),
        warnings=(*(f"{SPEC / 'services' / Key(planned.service)}: {one}" for one in component.warnings), *warnings),
        missing_dependencies=tuple(explain_missing(component.pod)),
    )


def _as_component(graph: GraphDeployment, planned: GraphServicePlan) -> ComponentDeployment:
    """The service as a component, parsed as if read from the cluster.

    Raises:
        InvalidSpec: the component has problems.
    """
    manifest = build_component(planned)
    owner = {"kind": contract.GRAPH.kind, "name": graph.metadata.name}
    deployment = parse_parent(
        ComponentDeployment, {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
    )
    if problems := validate_component(_without_placement(deployment)):
        raise InvalidSpec(problems)
    return deployment


def _without_placement(component: ComponentDeployment) -> ComponentDeployment:
    """The component on one node and without topology, so that rules of the other path do not apply."""
    pod = {key: value for key, value in component.spec.extra_pod_spec.items() if key not in _NEVER_IN_DEPLOYMENTS}
    update = {"multinode": None, "topology_constraint": None, "min_available": None, "extra_pod_spec": pod}
    spec = component.spec.model_copy(update=update)
    return component.model_copy(update={"spec": spec})


def _seen_by_component(seen: ObservedGraph) -> ObservedComponent:
    """What a component's sync would observe, taken from the graph; the graph handles workloads and the SSH key."""
    return ObservedComponent(
        workloads=_NO_WORKLOADS,
        pods=(),
        mpi_key=_NO_KEY,
        accounts=(),
        registry_secrets=seen.registry_secrets,
        has_virtual_services=kinds.VIRTUAL_SERVICE in seen.installed,
        has_leader_worker_sets=False,
        operator_release=UNWRITTEN,  # the graph has decided, and its set never gets further cliques
    )


def _has_replicas_set(graph: GraphDeployment, planned: GraphServicePlan) -> bool:
    """Whether the service, its adapter or `DYN_DEPLOYMENT_CONFIG` sets the replicas."""
    spec = graph.spec.services[planned.service]
    has_adapter = spec.scaling_adapter is not None and spec.scaling_adapter.enabled
    return spec.replicas is not None or has_adapter or planned.spec["replicas"] != 1


def _hand_over(
    service: GroveService, planned: GraphServicePlan, seen: ObservedGraph, settings: Settings
) -> GroveService:
    """Leave the replicas to autoscalers; if an adapter was just disabled, or Grove lost them, first set the graph's."""
    found = seen.grove.scalables.get((service.kind, service.target))
    if settings.effect_scale is Switch.ON:
        if planned.name in seen.adapters:
            return replace(service, leaves_adapter=True)
        return service if found is not None and found.is_born_empty else replace(service, replicas=None)
    left = replace(service, replicas=None)
    if found is None or found.desired == service.replicas:
        return left
    path = SPEC / "services" / Key(service.service)
    warning = f"{path}: replicas is not set and stays {found.desired}, because the setting effect_scale is off"
    return replace(left, warnings=(*service.warnings, warning))


def _plan_cliques(
    deployment: ComponentDeployment, component: ComponentPlan, pod: PodPlan
) -> tuple[tuple[Clique, ...], tuple[str, ...]]:
    """The cliques of all roles, the leader first, and warnings about their pods."""
    spec, service = deployment.spec, component.subject.service
    cliques: list[Clique] = []
    warnings: list[str] = []
    for role, pods in plan_roles(spec.node_count):
        place = Placement(role=role, orchestrator=Orchestrator.GROVE, node_count=spec.node_count, service=service)
        built = build_pod(pod, place)
        warnings += texts_of(one.under(SPEC / "services" / Key(service), instead_of=SPEC) for one in built.warnings)
        cliques.append(
            Clique(
                name=clique_name(service, role),
                replicas=_template_replicas(deployment, component) if role is Role.MAIN else pods,
                min_available=_least(deployment) if role is Role.MAIN else pods,
                labels=_labels(component, role),
                annotations=component.pod_annotations,
                pod_spec=built.spec,
                starts_after=_starts_after(pod, role, service),
            )
        )
    return tuple(cliques), tuple(dict.fromkeys(warnings))


def _least(deployment: ComponentDeployment) -> int:
    """The replicas that must be available together."""
    return deployment.spec.min_available or 1


def _template_replicas(deployment: ComponentDeployment, component: ComponentPlan) -> int:
    """The replicas that Grove creates first; it refuses fewer than must be available, so 0 is set afterwards."""
    return max(component.replicas, _least(deployment))


def _labels(component: ComponentPlan, role: Role) -> dict[str, str]:
    """Labels of a role's pods; a worker answers no requests, so it has no label of an endpoint of its model."""
    subject = component.subject
    clique = {contract.LABEL_SELECTOR: f"{subject.graph}-{clique_name(subject.service, role)}"}
    if role is Role.MAIN:
        return {**component.pod_labels, **clique}
    dropped = contract.LABEL_MODEL_HASH if role is Role.WORKER else ""
    labels = {key: value for key, value in component.pod_labels.items() if key != dropped}
    return {**labels, **clique, contract.LABEL_ROLE: role.value}


def _starts_after(pod: PodPlan, role: Role, service: str) -> tuple[str, ...]:
    """TensorRT-LLM's leader starts ranks on its workers by ssh, so the workers start first.

    Source: Dynamo operator, internal/dynamo/grove.go, getCliqueStartupDependencies.
    """
    is_waiting = pod.backend is Backend.TRTLLM and role is Role.LEADER
    return (clique_name(service, Role.WORKER),) if is_waiting else ()
