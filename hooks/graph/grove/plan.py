"""A graph as a PodCliqueSet: cliques and scaling groups of its services, and the objects that expose the services.

Each service's pods are built by the rules of components, as for the component that it would be without Grove.

Source: Dynamo operator, internal/dynamo/graph.go, GenerateGrovePodCliqueSet.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hooks.component.seen.discovered import Discovered, write_annotation
from hooks.component.spec.subject import NEVER_COPIED
from hooks.graph.grove.discovered_for_pods import choose_discovered, find_discovered
from hooks.graph.grove.scaling import NEVER, count_wanted, counts_still, find_held, plan_scaling
from hooks.graph.grove.service import GroveService, plan_grove_service
from hooks.graph.seen.grove import ObservedGrove, ObservedSet
from hooks.graph.seen.grove_names import pod_clique_set_name
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.spec.components import GraphServicePlan
from hooks.graph.spec.service_metadata import common_annotations
from hooks.graph.spec.topology import WHOLE_GRAPH, plan_topology
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.grove import (
    ANNOTATION_VOLCANO_QUEUE,
    KAI_SCHEDULER,
    LABEL_KAI_QUEUE,
    Clique,
    Topology,
    TopologyForm,
    build_pod_clique_set,
    find_topology_form,
    with_update_strategy,
)
from hooks.ground.k8s.grove_immutables import find_immutable_changes, keep_immutable
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import Json, Manifest, PodSpec, build_metadata, name_of
from hooks.ground.problems import SPEC, Joined, Key, Problem
from hooks.ground.settings import Settings, Switch
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import grove as rules
from hooks.wire.metacontroller.effects import ScalePodClique


@dataclass(frozen=True, slots=True, kw_only=True)
class GrovePlan:
    """The PodCliqueSet of a graph, and the other objects that its services need.

    `name` is the set's. The set is built with the plan, because Grove's rules for changes and the graph's readiness
    compare it with the existing one. `is_withheld` says that an existing set of this name is being deleted; then no
    set is returned. `below` are the services that want fewer replicas than Grove keeps available; while there are any,
    it never ends the gang of the graph. `held` become smaller when their update has ended. `effects` set replicas:
    Grove takes these from the template only when it creates a clique.
    """

    name: str
    namespace: str
    services: tuple[GroveService, ...]
    pod_clique_set: Manifest
    below: tuple[str, ...]
    held: frozenset[str] = frozenset()
    is_withheld: bool
    effects: tuple[ScalePodClique, ...] = ()
    notes: tuple[str, ...]


def plan_grove(
    graph: GraphDeployment, components: Iterable[GraphServicePlan], seen: ObservedGraph, settings: Settings
) -> GrovePlan:
    """Decide about the set; `components` are the services as components.

    Raises:
        InvalidSpec: a service cannot be rendered, or Grove would refuse the set or its change; all problems.
    """
    components, existing = tuple(components), seen.grove.pod_clique_set
    scheduler, topology = _choose_scheduler(graph, settings), plan_topology(graph, settings, _topology_form(existing))

    def plan_service(component: GraphServicePlan, kept: Discovered | None = None) -> GroveService:
        service = plan_grove_service(graph, component, seen, settings, kept=kept)
        return _schedule(_place(service, topology.get(service.service)), scheduler, existing)

    services: list[GroveService] = []
    problems: list[Problem] = []
    for component in components:
        try:
            found = plan_service(component)
            kept = find_discovered(found, seen, settings)
            services.append(found if kept is None else choose_discovered(found, plan_service(component, kept), seen))
        except InvalidSpec as error:
            problems += error.problems
    if problems:
        raise InvalidSpec(tuple(problems))
    below = tuple(service.service for service in services if count_wanted(service, seen.grove) < service.least)
    pod_clique_set = _build_set(
        graph,
        pod_clique_set_name(graph, seen.grove.set_name),
        services,
        topology.get(WHOLE_GRAPH),
        termination_delay=NEVER if below or counts_still(seen.grove) else settings.grove_termination_delay,
        annotations={**_kept_decisions(graph, components, seen), **_volcano_queue(graph, settings)},
    )
    if existing is not None and not existing.is_deleting:
        pod_clique_set = keep_immutable(pod_clique_set, existing.spec)
    problems = [*_mixed_schedulers(services), *_refused_changes(pod_clique_set, existing)]
    if problems:
        raise InvalidSpec(tuple(problems))
    plan = GrovePlan(
        name=name_of(pod_clique_set),
        namespace=graph.metadata.namespace,
        services=tuple(services),
        pod_clique_set=pod_clique_set,
        below=below,
        is_withheld=existing is not None and existing.is_deleting,
        notes=tuple(_notes(services)),
    )
    return with_set(plan, pod_clique_set, seen.grove, settings)


def with_set(plan: GrovePlan, pod_clique_set: Manifest, seen: ObservedGrove, settings: Settings) -> GrovePlan:
    """The plan with the set that is returned, by which it follows what is scaled now, and what later."""
    held = frozenset(find_held(plan.services, seen, pod_clique_set, settings))
    free = [service for service in plan.services if service.service not in held]
    effects = tuple(plan_scaling(free, seen, plan.namespace, settings))
    return replace(plan, pod_clique_set=pod_clique_set, held=held, effects=effects)


def build_grove(plan: GrovePlan) -> list[Manifest]:
    """The set, unless another of its name is being deleted, and the objects that expose the services."""
    exposed = [child for service in plan.services for child in service.exposed]
    has_set = plan.services and not plan.is_withheld  # Grove refuses a set without cliques
    return [plan.pod_clique_set, *exposed] if has_set else exposed


def _kept_decisions(
    graph: GraphDeployment, components: Iterable[GraphServicePlan], seen: ObservedGraph
) -> dict[str, str]:
    """What was decided for the graph or for services, in annotations of components, which do not exist under Grove."""
    name = contract.ANNOTATION_NAMESPACE_PREFIX
    found = (component.spec.get("annotations", {}).get(name) for component in components)
    origin = graph.metadata.annotations.get(contract.ANNOTATION_ORIGIN_VERSION, "")
    decided = {name: next(filter(None, found), ""), contract.ANNOTATION_ORIGIN_VERSION: origin}
    if seen.kept_releases:
        decided[contract.ANNOTATION_KEPT_RELEASE] = canonical_json(seen.kept_releases)
    return {key: value for key, value in decided.items() if value}


def _build_set(
    graph: GraphDeployment,
    name: str,
    services: Sequence[GroveService],
    topology: Topology | None,
    *,
    termination_delay: str,
    annotations: Mapping[str, str],
) -> Manifest:
    cliques = (clique for service in services for clique in service.cliques)
    groups = [service.group for service in services if service.group]
    discovered = {service.service: value for service in services if (value := service.discovered.to_json())}
    labels = {key: value for key, value in graph.spec.labels.items() if key not in NEVER_COPIED}
    whole = {**common_annotations(graph), **annotations, **write_annotation(discovered)}
    built = build_pod_clique_set(
        build_metadata(name, graph.metadata.namespace, labels=labels, annotations=whole),
        cliques,
        groups,
        termination_delay=termination_delay,
        priority_class=graph.spec.priority_class_name,
        topology=topology,
    )
    return with_update_strategy(built, graph.metadata.annotations.get(contract.ANNOTATION_GROVE_UPDATE_STRATEGY, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scheduler:
    """The scheduler of pods whose user chose none, empty for the cluster's own, and KAI's queues, empty without KAI.

    The graph asks for `asked`; `usual` is the queue of the settings, for pods without a queue of their own.
    """

    name: str
    asked: str
    usual: str


def _choose_scheduler(graph: GraphDeployment, settings: Settings) -> _Scheduler:
    """The scheduler that the settings switch on.

    Source: Dynamo operator, internal/dynamo/grove.go, DetermineKaiSchedulerQueue and injectVolcanoSchedulerIfEnabled.
    """
    if settings.kai_scheduler is Switch.ON:
        asked = graph.metadata.annotations.get(contract.ANNOTATION_KAI_QUEUE, "").strip()
        return _Scheduler(name=KAI_SCHEDULER, asked=asked, usual=settings.kai_queue)
    name = contract.VOLCANO_SCHEDULER if settings.volcano_scheduler is Switch.ON else ""
    return _Scheduler(name=name, asked="", usual="")


def _volcano_queue(graph: GraphDeployment, settings: Settings) -> dict[str, str]:
    """The annotation of the set by which Grove's backend for Volcano chooses a queue; {} for the default queue."""
    queue = graph.metadata.annotations.get(contract.ANNOTATION_VOLCANO_QUEUE, "").strip()
    return {ANNOTATION_VOLCANO_QUEUE: queue} if queue and settings.volcano_scheduler is Switch.ON else {}


def _schedule(service: GroveService, scheduler: _Scheduler, existing: ObservedSet | None) -> GroveService:
    kept = _kept_schedulers(existing)
    return replace(service, cliques=tuple(_schedule_clique(clique, scheduler, kept) for clique in service.cliques))


def _topology_form(existing: ObservedSet | None) -> TopologyForm | None:
    return None if existing is None or existing.is_deleting else find_topology_form(existing.spec.get("template") or {})


def _place(service: GroveService, topology: Topology | None) -> GroveService:
    """Add a service's topology constraint to its scaling group if it runs on several nodes, else to its clique."""
    if topology is None:
        return service
    if service.group:
        return replace(service, group=replace(service.group, topology=topology))
    return replace(service, cliques=tuple(replace(clique, topology=topology) for clique in service.cliques))


def _schedule_clique(clique: Clique, scheduler: _Scheduler, kept: Mapping[str, str]) -> Clique:
    """Give a clique the scheduler of the settings, with KAI's queue, unless the user chose another scheduler.

    An existing set keeps its scheduler: Grove refuses to change it, and switching one on or off must not block every
    change of existing graphs.
    """
    users = clique.pod_spec.get("schedulerName", "")
    if users and users != KAI_SCHEDULER:
        return clique
    wanted = users or kept.get(clique.name, scheduler.name)
    if not wanted:
        return clique
    pod: PodSpec = {**clique.pod_spec, "schedulerName": wanted}
    queue = scheduler.asked or clique.labels.get(LABEL_KAI_QUEUE) or scheduler.usual
    is_queued = wanted == KAI_SCHEDULER and scheduler.usual
    labels = {**clique.labels, LABEL_KAI_QUEUE: queue} if is_queued else clique.labels
    return replace(clique, pod_spec=pod, labels=labels)


def _kept_schedulers(existing: ObservedSet | None) -> dict[str, str]:
    """The scheduler of each clique of the existing set, empty for none; {} if that is not recorded."""
    if existing is None or existing.is_deleting or existing.applied_spec is None:
        return {}
    cliques = (one for one in cliques_of(existing.applied_spec) if "name" in one)  # users may edit it
    return {clique["name"]: _scheduler_of(clique) for clique in cliques}


def _scheduler_of(clique: Mapping[str, Json]) -> str:
    return str(((clique.get("spec") or {}).get("podSpec") or {}).get("schedulerName") or "")


def _mixed_schedulers(services: Iterable[GroveService]) -> Iterator[Problem]:
    """Grove accepts only one scheduler for all cliques of a set."""
    chosen: dict[str, str] = {}
    for service in services:
        for clique in service.cliques:
            chosen.setdefault(clique.pod_spec.get("schedulerName", ""), service.service)
    if len(chosen) > 1:
        paths = {name: SPEC / "services" / Key(service) for name, service in sorted(chosen.items())}
        found = [part for name, path in paths.items() for part in (", ", f"{name or 'none'} (", path, ")")]
        users = next((name for name in paths if name not in {"", KAI_SCHEDULER}), KAI_SCHEDULER)
        yield rules.GROVE_SCHEDULER.at(paths[users] / "extraPodSpec.schedulerName", found=Joined(tuple(found[1:])))


def _refused_changes(wanted: Manifest, existing: ObservedSet | None) -> Iterator[Problem]:
    if existing is None or existing.is_deleting:
        return
    changes = list(find_immutable_changes(existing.applied_spec or existing.spec, wanted["spec"]))
    if changes:
        yield rules.GROVE_FIXED.at(SPEC / "services", name=name_of(wanted), changes="; ".join(changes))


def _notes(services: Iterable[GroveService]) -> Iterator[str]:
    for service in services:
        if service.replicas is None:
            yield f"{service.service}: replicas are left to autoscalers"
