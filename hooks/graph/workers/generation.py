"""Which generation the workers of a graph have in an answer, and which services wait for others meanwhile.

All workers of a graph have the same one, which follows from their specs, so that workers of two specs never share a
Dynamo namespace. It changes only with a worker's spec: workers that run without one, or with one that a Go operator
chose, keep that until then. Where a frontend would not see the workers, they have none.

Nothing is remembered: the present generation is in the labels of live workers, and the mark of a component says whether
its spec has changed. While some frontend does not see the next generation, the workers stay as they are, and a frontend
that will see none stays while workers of one are left.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hooks.component.image.runtime_version import STRICT_PREFIX_SINCE, RuntimeVersion, is_since
from hooks.component.spec.kept_fields import find_frontend_container
from hooks.component.spec.projection import with_suffix
from hooks.component.spec.subject import ComponentType
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.spec.components import namespace_of
from hooks.graph.spec.namespace_prefix import TAKEN
from hooks.graph.workers.sight import Sight, is_seeing, read_hand_set, versions_of_frontends
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy.held import FOREIGN_REVISION, digest_workers, is_of_service

LOOKING = frozenset({ComponentType.FRONTEND, ComponentType.EPP})
"""Types that look for workers themselves, in pods of their own."""
_PREFIX_REVISION = 3
"""The first revision of the hooks whose frontends have the prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The generation of a graph's workers.

    `suffix` is that of all workers in this answer, empty for none. `announced` are the services whose components say
    that their frontends have the prefix. `waiting` are by service why its component stays as it was last applied.
    `remark` is a sentence for the user.
    """

    suffix: str = ""
    announced: frozenset[str] = frozenset()
    waiting: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


NONE = Generation()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpecs:
    """A graph as it is written, and the suffix that follows from the specs of its workers."""

    graph: ReadManifest
    suffix: str


def read_worker_specs(graph: ReadManifest, workers: Collection[str]) -> WorkerSpecs:
    """The specs of a graph with these workers."""
    return WorkerSpecs(graph=graph, suffix=digest_workers(graph, workers))


def plan_generation(
    graph: GraphDeployment,
    specs: WorkerSpecs,
    seen: ObservedGraph,
    sight: Sight,
    *,
    is_asked: bool,
    changes: Callable[[Generation], Collection[str]],
) -> Generation:
    """Decide for a graph of components; `is_asked`: new defaults are let in now.

    `changes` are the services whose pods their spec changes with that generation, beside a restart, or which are new.
    """
    live, services = find_live(graph, seen), find_workers(graph)
    workers = {name: one for name, one in live.items() if name in services}
    told = {name for name, one in live.items() if _is_announced(one)}
    known = {name for name in told if None not in _versions(graph.spec.services[name])}
    present = min((one.suffix for one in workers.values()), default="")

    def is_edited(name: str) -> bool:
        return name not in live or not _is_of_mark(live[name], specs.graph, name)

    announced = frozenset(
        (known - workers.keys()) | {name for name in sight.trusted if name in told or is_edited(name)}
    )

    def are_unchanged(names: Collection[str]) -> bool:
        # Pods of a service that was not edited differ only by who rendered them.
        edited = set(filter(is_edited, names))
        return not edited or edited.isdisjoint(changes(Generation(suffix=present, announced=announced)))

    suffix = choose_suffix(
        specs.suffix,
        {name: one.suffix for name, one in workers.items() if name not in sight.hand_set},
        sight,
        is_asked=is_asked,
        is_unchanged=lambda: are_unchanged(services),
        sees_as_before=lambda: are_unchanged(live.keys() - workers),
    )
    if suffix:
        is_first = bool(workers) and not all(one.suffix for one in workers.values())
        if is_first and (blind := sorted(name for name in _looking(graph, live) if not _sees_now(live[name]))):
            unready = frozenset(name for name in blind if not _has_prefix(live[name]))
            return _await_frontends(Generation(suffix=suffix, announced=announced | unready), blind, workers)
        return Generation(suffix=suffix, announced=announced, remark=sight.explain())
    left = sorted(
        name
        for name, one in workers.items()
        if (one.suffix and name not in sight.hand_set) or _has_left_pods(one, graph, name)
    )
    staying = [name for name in sorted(sight.blind - workers.keys()) if name in live]
    why = f"it waits, because it will not see the workers of a generation, which {', '.join(left)} still has"
    waiting = dict.fromkeys(staying, why) if left else {}
    return Generation(announced=announced, waiting=waiting, remark=sight.explain())


def choose_suffix(
    wanted: str,
    live: Mapping[str, str],
    sight: Sight,
    *,
    is_asked: bool,
    is_unchanged: Callable[[], bool],
    sees_as_before: Callable[[], bool],
) -> str:
    """The suffix for all workers; `live` has by service what its live workers have, `wanted` is that of the specs.

    Workers that did not change keep theirs, if all have the same one and nothing that sees them has changed.
    """
    present, may_have = set(live.values()), not sight.obstacle
    if may_have and (not present or wanted in present):
        return wanted
    if not may_have and present <= {""}:
        return ""
    is_first = present == {""}
    if len(present) == 1 and not (is_first and is_asked) and is_unchanged() and (may_have or sees_as_before()):
        return next(iter(present))
    return wanted if may_have else ""


def find_workers(graph: GraphDeployment) -> tuple[str, ...]:
    """The services that are workers."""
    services = graph.spec.services.items()
    return tuple(sorted(name for name, spec in services if ComponentType.of(spec.component_type).is_worker))


def _await_frontends(wanted: Generation, blind: Collection[str], workers: Mapping[str, ChildComponent]) -> Generation:
    """Let all frontends get the prefix first; where no worker has a ready pod, waiting would save nothing."""
    if not any(one.has_ready_pods for one in workers.values()):
        return wanted
    why = f"it waits until all pods of {', '.join(blind)} see the workers of the next generation"
    present = min(one.suffix for one in workers.values())
    return replace(wanted, suffix=present, waiting=dict.fromkeys(workers, why))


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
        if (_is_announced(one) or (are_seen and _is_foreign(one))) and _is_unknown(one)
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


def find_live(graph: GraphDeployment, seen: ObservedGraph) -> dict[str, ChildComponent]:
    """The live components of a graph's services."""
    found = {name: seen.component_of(graph.metadata.name, name) for name in graph.spec.services}
    return {name: one for name, one in found.items() if one is not None and not one.is_deleting}


def _looking(graph: GraphDeployment, live: Mapping[str, ChildComponent]) -> Iterator[str]:
    """The live services that look for workers; a frontend beside a worker is replaced with it."""
    for name in live:
        if graph.spec.services[name].component_type in LOOKING:
            yield name


def _spec_of(component: ChildComponent) -> Mapping[str, Json]:
    """Its spec as it was last applied: it may have been changed since."""
    return component.spec if component.applied_spec is None else component.applied_spec


def _is_announced(component: ChildComponent) -> bool:
    return (_spec_of(component).get("annotations") or {}).get(contract.ANNOTATION_NAMESPACE_PREFIX) == TAKEN


def _sees_now(component: ChildComponent) -> bool:
    """Whether all its pods have the prefix."""
    return component.is_settled and _has_prefix(component)


def _has_prefix(component: ChildComponent) -> bool:
    """Whether its newest pods have the prefix: its live spec is of such a release, and these hooks rendered it."""
    spec, is_announced = _parse(component), _is_announced(component)
    if spec is None:
        return False
    if spec.component_type == ComponentType.EPP:
        return spec.epp_config is None
    mark = component.rendering
    is_rendered = mark is not None and mark.revision >= _PREFIX_REVISION and not component.is_held
    return all(
        is_seeing(spec, version, takes_bare=is_announced)
        and (is_announced or (is_rendered and is_since(version, STRICT_PREFIX_SINCE)))
        for version in _versions(spec)
    )


def _is_unknown(component: ChildComponent) -> bool:
    spec = _parse(component)
    return spec is not None and None in _versions(spec)


def _is_foreign(component: ChildComponent) -> bool:
    """Whether the Go operator rendered its pods, by the label that these hooks write when they take it over."""
    return component.rendering is not None and component.rendering.revision == FOREIGN_REVISION


def _is_of_mark(component: ChildComponent, parent: ReadManifest, service: str) -> bool:
    """Whether its mark is of the present spec; without one, nothing says that it was changed."""
    mark = component.rendering
    return mark is None or is_of_service(mark, parent, service, _spec_of(component))


def _parse(component: ChildComponent) -> ComponentSpec | None:
    manifest = {"metadata": {"name": "", "namespace": ""}, "spec": component.spec}
    try:
        return parse_parent(ComponentDeployment, manifest).spec
    except InvalidSpec:
        return None


def _versions(spec: ComponentSpec) -> tuple[RuntimeVersion | None, ...]:
    return tuple(versions_of_frontends(spec, find_frontend_container(spec.annotations, spec.extra_pod_spec)))


def _has_left_pods(component: ChildComponent, graph: GraphDeployment, service: str) -> bool:
    """Whether the component still reports a generation that neither its label nor the user's spec has any more."""
    said, spec = component.service.get("runtimeNamespace"), graph.spec.services[service]
    return bool(said) and said != with_suffix(namespace_of(graph, spec), read_hand_set(graph, spec))
