"""Every decision about a graph's children, each with a note that says why.

A graph becomes a PodCliqueSet or one DynamoComponentDeployment per service; `path` says which.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hooks.component.spec.beta_fields import find_beta_warnings, find_frontend_containers, write_nodes
from hooks.component.spec.mpi_key import KeyPlan, plan_key
from hooks.component.spec.subject import ComponentType
from hooks.graph.grove.plan import GrovePlan, plan_grove
from hooks.graph.grove.service import keeps_adapter
from hooks.graph.plan.accounts import AccountPlan, plan_accounts
from hooks.graph.plan.claims import ClaimsPlan, plan_claims
from hooks.graph.plan.frontends import ServingPlan, plan_serving
from hooks.graph.plan.path import PathPlan, plan_path
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.seen.worker_labels import LivePool
from hooks.graph.spec.components import GraphServicePlan, ServiceInputs, plan_component, read_configured
from hooks.graph.spec.inference_pool import PickerPlan, plan_picker
from hooks.graph.spec.ingress import default_ingress
from hooks.graph.spec.model_services import ModelServicePlan, plan_model_services
from hooks.graph.spec.mpi_key import needs_mpi_key
from hooks.graph.spec.multinode import check_components
from hooks.graph.spec.namespace_prefix import TAKEN, decide_prefix, has_deciding_frontend
from hooks.graph.spec.operator_release import begin
from hooks.graph.spec.overview import name_path, total_gpus
from hooks.graph.spec.projection import project_services, read_planned
from hooks.graph.spec.scaling import AdapterPlan, keep_adapters, plan_adapters
from hooks.graph.workers.generation import NONE as NO_GENERATION
from hooks.graph.workers.generation import Generation
from hooks.graph.workers.live_components import find_workers
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.grove import KAI_SCHEDULER
from hooks.ground.k8s.types import GroupVersionKind, Json
from hooks.ground.problems import SPEC, FieldPath, Joined, Key, Problem
from hooks.ground.settings import Settings
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules.graph import NO_ORCHESTRATOR, PRIORITY_CLASS_GROVE, PRIORITY_CLASS_IDLE
from hooks.language.rules.slips import KEPT_RELEASE
from hooks.wire.metacontroller.controllers import can_use_leader_worker_sets

PRIORITY_READERS = frozenset({KAI_SCHEDULER, contract.VOLCANO_SCHEDULER})
"""The schedulers that read the priority of a graph where Grove writes it, in the PodGang; no pod has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPlan:
    """All children of a graph, decided but not yet shaped, sorted by name within each kind; `labels` are the graph's.

    `warnings` are for the user, whether or not the graph is ready.

    `run_by` names what runs the pods, and `gpus` is the number of GPUs that all pods request.

    `serving` is what answering a request takes.

    `components` are the services as components; they are created only if `grove` is None. `blocked_by` is half a
    sentence about the rest of the other path, empty if nothing is left; until the rest is deleted, no workload is
    returned. `projections` are by service the fields of its status that follow from the spec.
    """

    name: str
    labels: Mapping[str, str]
    run_by: str
    gpus: int
    components: tuple[GraphServicePlan, ...]
    projections: Mapping[str, Mapping[str, Json]]
    serving: ServingPlan
    grove: GrovePlan | None
    blocked_by: str
    mpi_key: KeyPlan | None
    adapters: tuple[AdapterPlan, ...]
    claims: ClaimsPlan
    accounts: tuple[AccountPlan, ...]
    picker: PickerPlan | None
    model_services: tuple[ModelServicePlan, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def plan_graph(
    graph: GraphDeployment,
    raw: Mapping[str, Mapping[str, Json]],
    seen: ObservedGraph,
    settings: Settings,
    *,
    restarts: Mapping[str, str],
    generation: Generation = NO_GENERATION,
) -> GraphPlan:
    """Decide about all children; `raw` holds each service's spec as the user wrote it, without nulls and floats.

    `restarts` is by service the id of the restart that its pods get as annotation, `generation` that of its workers.

    Raises:
        InvalidSpec: services span several nodes and nothing can run them, or a service's configuration is unreadable.
    """
    graph, path = begin(graph, seen.operator_release), plan_path(graph, seen)
    if not path.takes_grove:
        _check_orchestrator(graph, seen.installed)
    adapters, accounts = plan_adapters(graph, seen.adapters), plan_accounts(graph, seen, settings)
    inputs = _find_inputs(graph, raw, seen, settings, generation=generation)
    components = _plan_components(graph, raw, inputs, adapters=adapters, restarts=restarts)
    if not path.takes_grove:
        check_components(components)
    grove = plan_grove(graph, components, seen, settings) if path.takes_grove else None
    specs = {one.service: read_planned(graph, one) for one in components}
    lingering = [s.service for s in grove.services if keeps_adapter(s, seen.grove)] if grove else []
    return GraphPlan(
        name=graph.metadata.name,
        labels=graph.metadata.labels,
        run_by=name_path(graph, by_grove=path.takes_grove),
        gpus=total_gpus(graph, components),
        components=components,
        projections=project_services(graph, specs),
        serving=plan_serving(components, specs),
        grove=grove,
        blocked_by=path.blocked_by,
        mpi_key=_plan_mpi_key(graph, seen, settings),
        adapters=tuple(sorted((*adapters, *keep_adapters(graph, seen.adapters, lingering)), key=lambda a: a.name)),
        claims=plan_claims(graph, seen),
        accounts=accounts,
        picker=plan_picker(graph),
        model_services=plan_model_services(graph),
        warnings=(
            *(
                KEPT_RELEASE.at(SPEC / "services" / Key(name) / "runtimeVersionOverride", release=release).text
                for name, release in sorted(seen.kept_releases.items())
            ),
            *_warn(graph, path, components, grove, restarts=restarts, generation=generation),
        ),
        notes=(
            path.note,
            *_waiting(path.blocked_by),
            *(grove.notes if grove else ()),
            *_notes(adapters, lingering, accounts),
        ),
    )


def _warn(
    graph: GraphDeployment,
    path: PathPlan,
    components: Iterable[GraphServicePlan],
    grove: GrovePlan | None,
    *,
    restarts: Mapping[str, str],
    generation: Generation,
) -> Iterator[str]:
    """What a user should know of the graph, whether or not it is ready."""
    yield from path.warnings
    yield from _find_idle_priority(graph, grove)
    yield from _find_idle_restarts(graph, restarts)
    yield from _find_idle_frontend(graph, components)
    yield from _find_kept(graph)
    if generation.remark:
        yield generation.remark


def _find_kept(graph: GraphDeployment) -> tuple[str, ...]:
    services = {name: write_nodes(spec.node_count) for name, spec in graph.spec.services.items()}
    return find_beta_warnings(contract.GRAPH, graph.metadata.annotations, {"services": services})


def _check_orchestrator(graph: GraphDeployment, installed: frozenset[GroupVersionKind]) -> None:
    """Refuse services over several nodes that nothing can run.

    Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, reconcileResources.
    """
    multinode = sorted(name for name, spec in graph.spec.services.items() if spec.is_multinode)
    if multinode and not can_use_leader_worker_sets(installed):
        paths = [SPEC / "services" / Key(name) for name in multinode]
        raise InvalidSpec(NO_ORCHESTRATOR.at(paths[0] / "multinode.nodeCount", services=Joined.of(paths)))


def _find_inputs(
    graph: GraphDeployment,
    raw: Mapping[str, Mapping[str, Json]],
    seen: ObservedGraph,
    settings: Settings,
    *,
    generation: Generation,
) -> dict[str, ServiceInputs]:
    """By service the inputs of its component that follow from the graph, but for replicas and restarts."""
    frontends, workers = find_frontend_containers(graph.metadata.annotations, raw), find_workers(graph)
    ingress, prefix = default_ingress(graph.metadata.name, settings), decide_prefix(graph, seen.prefix, settings)
    return {
        service: ServiceInputs(
            replicas=None,
            restart_at="",
            ingress=ingress,
            frontend=frontends.get(service, ""),
            keeps_type=service in seen.untyped or seen.pool is LivePool.BY_TYPE,
            prefix=prefix if has_deciding_frontend(spec) else TAKEN if service in generation.announced else "",
            name=seen.generations.current.get(service, ""),
            suffix=generation.suffix if service in workers else "",
        )
        for service, spec in graph.spec.services.items()
    }


def _plan_components(
    graph: GraphDeployment,
    raw: Mapping[str, Mapping[str, Json]],
    inputs: Mapping[str, ServiceInputs],
    *,
    adapters: Iterable[AdapterPlan],
    restarts: Mapping[str, str],
) -> tuple[GraphServicePlan, ...]:
    scaled = {adapter.service: adapter.replicas for adapter in adapters}
    plans: list[GraphServicePlan] = []
    problems: list[Problem] = []
    for service in sorted(graph.spec.services):
        try:
            around = replace(inputs[service], replicas=scaled.get(service), restart_at=restarts.get(service, ""))
            plans.append(plan_component(graph, service, raw[service], around))
        except InvalidSpec as error:
            problems += error.problems
    if problems:
        raise InvalidSpec(_one_per_field(problems))
    return tuple(plans)


def find_configuration_problems(graph: GraphDeployment) -> tuple[Problem, ...]:
    """The problems of `DYN_DEPLOYMENT_CONFIG`; with one of them, planning refuses the graph."""
    return _one_per_field(
        problem for service in sorted(graph.spec.services) for problem in read_configured(graph, service)[1]
    )


def _one_per_field(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The first problem of each field, because a variable of the graph is read once for each service."""
    first: dict[FieldPath, Problem] = {}
    for problem in problems:
        first.setdefault(problem.path, problem)
    return tuple(first.values())


def _find_idle_restarts(graph: GraphDeployment, restarts: Mapping[str, str]) -> Iterator[str]:
    """Services whose restartAt annotation is overridden by the restart in progress, or by the last one."""
    for service, spec in sorted(graph.spec.services.items()):
        own, used = spec.annotations.get(contract.ANNOTATION_RESTART_AT), restarts.get(service)
        if own and used and own != used:
            yield (
                f"spec.services[{service}].annotations[{contract.ANNOTATION_RESTART_AT}] is {own!r} and has "
                f"no effect, the pods keep {used!r}; restart by spec.restart"
            )


def _find_idle_priority(graph: GraphDeployment, grove: GrovePlan | None) -> Iterator[str]:
    pods = (clique.pod_spec for service in (grove.services if grove else ()) for clique in service.cliques)
    if graph.spec.priority_class_name and not any(pod.get("schedulerName") in PRIORITY_READERS for pod in pods):
        rule = PRIORITY_CLASS_GROVE if grove else PRIORITY_CLASS_IDLE
        yield rule.at(SPEC / "priorityClassName").text


def _find_idle_frontend(graph: GraphDeployment, components: Iterable[GraphServicePlan]) -> Iterator[str]:
    """A remark if there is a frontend and nothing behind it; a service of another type may run an engine too."""
    types = {name: ComponentType.of(spec.component_type) for name, spec in graph.spec.services.items()}
    serving = [one for one in components if (type_ := types[one.service]).is_worker or type_ is ComponentType.OTHER]
    if ComponentType.FRONTEND not in types.values() or any(one.spec.get("replicas", 1) for one in serving):
        return
    if serving:
        scaled = ", ".join(one.service for one in serving)
        yield f"every worker ({scaled}) has 0 replicas, so the frontend has no model to serve"
    else:
        yield "spec.services has a frontend and no worker, so the frontend has no model to serve"


def _plan_mpi_key(graph: GraphDeployment, seen: ObservedGraph, settings: Settings) -> KeyPlan | None:
    if not needs_mpi_key(graph):
        return None
    return plan_key(graph.metadata.name, graph.metadata.namespace, seen.mpi_key, settings)


def _waiting(blocked_by: str) -> list[str]:
    return [f"no workload is returned: {blocked_by}"] if blocked_by else []


def _notes(adapters: tuple[AdapterPlan, ...], lingering: Iterable[str], accounts: tuple[AccountPlan, ...]) -> list[str]:
    origin = {True: "the graph's, for a new adapter", False: "the adapter's"}
    scaled = [f"{a.service}: {a.replicas} replicas, {origin[a.is_new]}" for a in adapters]
    kept = [f"{service}: its adapter stays until the replicas are the graph's again" for service in lingering]
    rebound = [f"RoleBinding {a.binding} is removed once: its role changed" for a in accounts if a.is_rebound]
    return [*scaled, *kept, *rebound]
