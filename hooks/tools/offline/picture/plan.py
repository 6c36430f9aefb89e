"""Decides the boxes and links of a picture, from the plans that the hooks make of the same objects."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hooks.component.plan.exposure import Route
from hooks.component.seen.observe import ObservedComponent, Workloads
from hooks.component.spec.mpi_key import ObservedKey
from hooks.graph.change.planning import GraphGrounds, plan_on
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.observe import ObservedGraph, observe, without_progress
from hooks.graph.spec.components import GraphServicePlan, build_component
from hooks.graph.workers.generation import Generation
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, labels_of
from hooks.ground.settings import Settings
from hooks.language.api.base import parse_parent, read_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.model import Model
from hooks.tools.offline.picture.live import read_graph_state, read_reasons, read_service_state
from hooks.tools.offline.picture.models import draw_models
from hooks.tools.offline.picture.parts import Box, BoxRole, Link, LinkKind, Picture, clean, natural_order
from hooks.tools.offline.picture.relations import find_relations
from hooks.tools.offline.picture.services import ShownService, count, describe_service, read_service
from hooks.wire.metacontroller.controllers import declared_by
from hooks.wire.metacontroller.parent_key import make_parent_key
from hooks.wire.policy import identity
from hooks.wire.world.objects import Beside, World
from hooks.wire.world.sync_request import build_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a picture depends on beside the graph: settings, optional kinds, models, and live objects.

    `installed` are the keys of `OPTIONAL_KINDS` whose CRDs the cluster has. `children` are the graph's live components
    and scaling adapters. `is_live`: statuses come from a cluster.
    """

    settings: Settings
    installed: frozenset[str]
    models: tuple[Model, ...] = ()
    children: tuple[ReadManifest, ...] = ()
    is_live: bool = False

    def declared_by(self, parent: GroupVersionKind) -> tuple[GroupVersionKind, ...]:
        """The child kinds that the controller of a parent's kind declares."""
        return declared_by(parent, self.installed)


def draw_graph(parent: Manifest, around: Surroundings) -> Picture:
    """The picture of a graph as the API server stores it, in v1alpha1.

    Raises:
        InvalidSpec: the graph cannot be rendered.
    """
    seen = _observe(parent, around)
    grounds = GraphGrounds(
        parent_key=make_parent_key(parent), seen=seen, restarts={}, generation=Generation(), settings=around.settings
    )
    plan, _ = plan_on(grounds)
    services = tuple(_read_services(plan, seen, around.settings))
    drawn = _draw(services, around)
    pools = _draw_pool(plan, services) if kinds.INFERENCE_POOL in around.declared_by(contract.GRAPH) else ()
    metadata = parent["metadata"]
    picture = Picture(
        title=clean(f"{metadata['namespace']}/{metadata['name']}"),
        subtitle=clean(f"DynamoGraphDeployment, run by {plan.run_by.replace(',', ' and ')}, {_gpus(plan.gpus)}"),
        boxes=(*(box for box, _ in pools), *drawn.boxes),
        links=(*(link for _, links in pools for link in links), *drawn.links),
    )
    return _enliven(picture, parent, services, around) if around.is_live else picture


def draw_components(parents: Sequence[Manifest], around: Surroundings) -> Picture:
    """The picture of components without a graph that share a Dynamo namespace.

    Raises:
        InvalidSpec: a component cannot be rendered.
    """
    declared = around.declared_by(contract.COMPONENT)
    seen = _observe_nothing(declared, has_leader_worker_sets=kinds.LEADER_WORKER_SET in declared)
    parsed = (parse_parent(ComponentDeployment, parent) for parent in parents)
    components = sorted(parsed, key=lambda one: natural_order(one.metadata.name))
    services = tuple(
        read_service(component, seen, around.settings, key=f"s{index}") for index, component in enumerate(components)
    )
    drawn = _draw(services, around)
    gpus = sum(one.replicas * one.shape.per_replica for one in services if one.shape)
    namespace = services[0].subject.namespace
    title = " + ".join(f"{namespace}/{one.subject.name}" for one in services)
    return replace(drawn, title=clean(title), subtitle=f"DynamoComponentDeployment, {_gpus(gpus)}")


def _gpus(number: int) -> str:
    return count(number, "GPU") if number else "no GPU"


def _observe(parent: Manifest, around: Surroundings) -> ObservedGraph:
    reader = Beside(world=World(installed=around.installed), children=around.children)
    request = build_request(parent, reader)
    return without_progress(observe(request, around.settings))


def _read_services(plan: GraphPlan, seen: ObservedGraph, settings: Settings) -> Iterator[ShownService]:
    adapters = {adapter.service: adapter.name for adapter in plan.adapters}
    left = {one.service for one in plan.grove.services if one.replicas is None} if plan.grove else set()
    observed = _observe_nothing(seen.installed, has_leader_worker_sets=True)
    for index, component in enumerate(sorted(plan.components, key=lambda one: natural_order(one.service))):
        yield read_service(
            _as_component(plan, component),
            observed,
            settings,
            key=f"s{index}",
            adapter=adapters.get(component.service, ""),
            is_autoscaled=component.service in left,
        )


def _observe_nothing(declared: Container[GroupVersionKind], *, has_leader_worker_sets: bool) -> ObservedComponent:
    """What is observed of a component before it has any object."""
    return ObservedComponent(
        workloads=Workloads(deployment=None, leader_worker_sets={}),
        pods=(),
        mpi_key=ObservedKey(source=None, copy=None, can_copy=False),
        accounts=(),
        registry_secrets=(),
        has_virtual_services=kinds.VIRTUAL_SERVICE in declared,
        has_leader_worker_sets=has_leader_worker_sets,
    )


def _as_component(plan: GraphPlan, component: GraphServicePlan) -> ComponentDeployment:
    """The component as its own hook reads it."""
    manifest = build_component(component)
    owner = {"kind": contract.GRAPH.kind, "name": plan.name}
    return parse_parent(
        ComponentDeployment, {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
    )


def _draw(services: Sequence[ShownService], around: Surroundings) -> Picture:
    """Boxes and links of services, of the ways to them from outside, and of their models and discovery."""
    entries = [found for service in services for found in _draw_entries(service)]
    models = list(draw_models(around.models, services, is_live=around.is_live))
    discovery = list(_draw_discovery(services))
    found = (*entries, *models, *discovery)
    boxes = tuple(
        Box(
            key=one.key,
            role=one.role,
            title=clean(one.subject.service),
            lines=tuple(clean(line) for line in describe_service(one)),
        )
        for one in services
    )
    return Picture(
        title="",
        subtitle="",
        boxes=(*(box for box, _ in entries), *boxes, *(box for box, _ in (*models, *discovery))),
        links=(*(link for _, link in entries), *find_relations(services), *(link for _, link in found[len(entries) :])),
    )


def _draw_entries(service: ShownService) -> Iterator[tuple[Box, Link]]:
    for index, (kind, route) in enumerate(service.routes):
        key = f"e{index}{service.key}"
        box = Box(key=key, role=BoxRole.GATEWAY, title=clean(route.host), lines=tuple(_describe_route(kind, route)))
        yield box, Link(kind=LinkKind.REQUESTS, sources=(key,), targets=(service.key,))


def _describe_route(kind: str, route: Route) -> Iterator[str]:
    yield clean(f"{kind}, class {route.class_name}" if route.class_name else f"{kind}, gateway {route.gateway}")
    if route.tls_secret:
        yield clean(f"TLS by Secret {route.tls_secret}")
    elif route.tls_secret is not None:
        yield "TLS"


def _draw_pool(plan: GraphPlan, services: Sequence[ShownService]) -> tuple[tuple[Box, tuple[Link, ...]], ...]:
    """The InferencePool of the graph's endpoint picker: it asks the picker, and a gateway sends requests to workers."""
    if plan.picker is None:
        return ()
    picker = tuple(one.key for one in services if one.subject.service == plan.picker.service)
    workers = tuple(one.key for one in services if one.subject.type.is_worker)
    box = Box(key="p0", role=BoxRole.GATEWAY, title=clean(identity.epp_pool(plan.name)), lines=("InferencePool",))
    asks = Link(kind=LinkKind.PICKING, sources=("p0",), targets=picker)
    sends = Link(kind=LinkKind.REQUESTS, sources=("p0",), targets=workers)
    return ((box, (asks, sends) if workers else (asks,)),)


def _draw_discovery(services: Sequence[ShownService]) -> Iterator[tuple[Box, Link]]:
    """One box for each way of discovery and Dynamo namespace; it names its services if there are others."""
    ways = sorted({_discovery_of(service) for service in services})
    for index, way in enumerate(ways):
        backend, mode, namespace = way
        members = [service for service in services if _discovery_of(service) == way]
        named = [f"of {', '.join(one.subject.service for one in members)}"] if len(ways) > 1 else []
        title = f"Discovery through {_DISCOVERIES.get(backend, backend)}{f', mode {mode}' if mode else ''}"
        lines = tuple(clean(line) for line in (f"Dynamo namespace {namespace}", *named))
        box = Box(key=f"d{index}", role=BoxRole.DISCOVERY, title=clean(title), lines=lines)
        yield box, Link(kind=LinkKind.DISCOVERY, sources=tuple(one.key for one in members), targets=(box.key,))


_DISCOVERIES = {contract.DISCOVERY_KUBERNETES: "the Kubernetes API server"}


def _discovery_of(service: ShownService) -> tuple[str, str, str]:
    subject = service.subject
    return subject.discovery, subject.discovery_mode, subject.dynamo_namespace


def _enliven(picture: Picture, parent: ReadManifest, services: Iterable[ShownService], around: Surroundings) -> Picture:
    """The picture with the live state of the graph and of its services."""
    graph, _ = read_parent(GraphDeployment, parent)
    components = [one for one in around.children if one["kind"] == contract.COMPONENT.kind and labels_of(one)]
    reasons: Mapping[str, str] = read_reasons(graph, components)
    states = {
        one.key: read_service_state(
            one.replicas, graph.status.services.get(one.subject.service), reasons.get(one.subject.service, "")
        )
        for one in services
    }
    boxes = tuple(replace(box, state=states.get(box.key, box.state)) for box in picture.boxes)
    return replace(picture, boxes=boxes, state=read_graph_state(graph))
