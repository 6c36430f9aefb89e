"""What the live components of a graph say of its workers, of those who look for them, and of what they see."""

from collections.abc import Collection, Iterator, Mapping

from hooks.component.image.runtime_version import STRICT_PREFIX_SINCE, RuntimeVersion, is_since
from hooks.component.spec.beta_fields import find_frontend_container
from hooks.component.spec.projection import with_suffix
from hooks.component.spec.subject import ComponentType
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.spec.namespace_prefix import TAKEN
from hooks.graph.spec.service_metadata import namespace_of
from hooks.graph.workers.sight import is_seeing, read_hand_set, versions_of_frontends
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy.rendering_mark import FOREIGN_REVISION, is_of_service

SEEKERS = frozenset({ComponentType.FRONTEND, ComponentType.EPP})
"""Types that look for workers themselves, in pods of their own."""
_PREFIX_REVISION = 3
"""The first revision of the hooks whose frontends have the prefix."""


def find_workers(graph: GraphDeployment) -> tuple[str, ...]:
    """The services that are workers."""
    services = graph.spec.services.items()
    return tuple(sorted(name for name, spec in services if ComponentType.of(spec.component_type).is_worker))


def find_live(graph: GraphDeployment, seen: ObservedGraph) -> dict[str, ChildComponent]:
    """The live components of a graph's services."""
    found = {name: seen.component_of(graph.metadata.name, name) for name in graph.spec.services}
    return {name: one for name, one in found.items() if one is not None and not one.is_deleting}


def find_trusted(graph: GraphDeployment, seen: ObservedGraph) -> frozenset[str]:
    """The services whose frontends of unknown release see workers of a generation already.

    The Go operator gives all frontends the prefix, of whatever release, beside workers with a generation; and once we
    have announced it to such a frontend, it keeps it.
    """
    live = find_live(graph, seen)
    are_seen = any(live[name].suffix for name in find_workers(graph) if name in live)
    return frozenset(
        name
        for name, one in live.items()
        if (is_announced(one) or (are_seen and _is_foreign(one))) and _is_unknown(one)
    )


def find_added(graph: GraphDeployment, seen: ObservedGraph, reported: Collection[str]) -> frozenset[str]:
    """The workers without a component that are new; `reported` are the services in the graph's status.

    The component may have been deleted. Of which spec it was nothing shows, so beside a generation it is new, too.
    Workers without one get none because of that, nor because the status is lost.
    One that a Go operator left, and that is not taken over yet, is not new.
    """
    live = find_live(graph, seen)
    has_generation = any(live[name].suffix for name in find_workers(graph) if name in live)
    left = {service for service, name in seen.generations.current.items() if name not in seen.components}
    new = frozenset(find_workers(graph)) - live.keys() - left
    if has_generation:
        return new
    return new - frozenset(reported) if reported else frozenset()


def find_seekers(graph: GraphDeployment, live: Mapping[str, ChildComponent]) -> Iterator[str]:
    """The live services that look for workers; a frontend beside a worker is replaced with it."""
    for name in live:
        if graph.spec.services[name].component_type in SEEKERS:
            yield name


def _spec_of(component: ChildComponent) -> Mapping[str, Json]:
    """Its spec as it was last applied: it may have been changed since."""
    return component.spec if component.applied_spec is None else component.applied_spec


def is_announced(component: ChildComponent) -> bool:
    """Whether its spec says that its frontends have the prefix."""
    return (_spec_of(component).get("annotations") or {}).get(contract.ANNOTATION_NAMESPACE_PREFIX) == TAKEN


def sees_now(component: ChildComponent) -> bool:
    """Whether all its pods have the prefix."""
    return component.is_settled and has_prefix(component)


def has_prefix(component: ChildComponent) -> bool:
    """Whether its newest pods have the prefix: its live spec is of such a release, and these hooks rendered it."""
    spec, is_told = _parse(component), is_announced(component)
    if spec is None:
        return False
    if spec.component_type == ComponentType.EPP:
        return spec.epp_config is None
    mark = component.rendering
    is_rendered = mark is not None and mark.revision >= _PREFIX_REVISION and not component.is_held
    return all(
        is_seeing(spec, version, takes_bare=is_told)
        and (is_told or (is_rendered and is_since(version, STRICT_PREFIX_SINCE)))
        for version in versions_of(spec)
    )


def _is_unknown(component: ChildComponent) -> bool:
    spec = _parse(component)
    return spec is not None and None in versions_of(spec)


def _is_foreign(component: ChildComponent) -> bool:
    """Whether the Go operator rendered its pods, by the label that these hooks write when they take it over."""
    return component.rendering is not None and component.rendering.revision == FOREIGN_REVISION


def is_of_mark(component: ChildComponent, parent: ReadManifest, service: str) -> bool:
    """Whether its mark is of the present spec; without one, nothing says that it was changed."""
    mark = component.rendering
    return mark is None or is_of_service(mark, parent, service, _spec_of(component))


def _parse(component: ChildComponent) -> ComponentSpec | None:
    manifest = {"metadata": {"name": "", "namespace": ""}, "spec": component.spec}
    try:
        return parse_parent(ComponentDeployment, manifest).spec
    except InvalidSpec:
        return None


def versions_of(spec: ComponentSpec) -> tuple[RuntimeVersion | None, ...]:
    """The releases of all frontends of a service, None for one that is unknown."""
    return tuple(versions_of_frontends(spec, find_frontend_container(spec.annotations, spec.extra_pod_spec)))


def has_left_pods(component: ChildComponent, graph: GraphDeployment, service: str) -> bool:
    """Whether the component still reports a generation that neither its label nor the user's spec has any more."""
    said, spec = component.service.get("runtimeNamespace"), graph.spec.services[service]
    return bool(said) and said != with_suffix(namespace_of(graph, spec), read_hand_set(graph, spec))
