"""How the workers of a graph get from one generation to the next: step by step, and what serves meanwhile.

The steps are those of the hooks' own arithmetic, played to its end: with room for all, and on a cluster without a free
device. What is complete at a moment is a generation of which each worker has ready pods.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import reduce

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import ON_DELETE
from hooks.ground.k8s.types import Json, ReadManifest, annotations_of
from hooks.tools.offline.diff.moving import Moving, count_replicas
from hooks.tools.offline.diff.nodes import Milli, add, need_of
from hooks.tools.offline.diff.playing import Count, Endless, Full, Played, play_alone
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.roles import Place, RoleInSets
from hooks.tools.offline.diff.rollouts import PodChange, PodFate
from hooks.tools.world.settling import Settled
from hooks.wire.policy.rollout_wishes import NO_WISHES, RolloutWishes
from hooks.wire.world.objects import ObjectId


class Way(StrEnum):
    """Who sets the pace: the hooks, in complete sets; Kubernetes, of each worker for itself; or Grove.

    `APART`: each goes for itself, although they change to another generation and serve only together. `BY_HAND`: Grove
    leaves old pods until somebody deletes them.
    """

    SETS = "sets"
    ALONE = "alone"
    APART = "apart"
    GROVE = "grove"
    BY_HAND = "by-hand"


class Ending(StrEnum):
    """What comes of a rollout: it gets through; it waits for room, or for a person; or nothing serves for some time."""

    PASSES = "passes"
    WAITS = "waits"
    HELD = "held"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseOutcome:
    """What comes of a rollout. `serving` is the least part of the wanted capacity that is complete at any moment.

    `missing` are devices, in thousandths, that the next new pods need beyond what is free; only of one that waits.
    """

    ending: Ending
    serving: Fraction
    missing: Milli = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The rollout of a graph's workers. `moments` are the replicas of each service, old and new, with room for all.

    `sets` complete sets are wanted. `unchanged` are workers whose own spec stays, so they restart for the others.
    `wishes` are annotations of the graph that hold the rollout. `peak` and `now` are pods and devices, in thousandths.
    `full` is the outcome on a cluster without a free device, `roomy` that with room for all.
    """

    graph: ObjectId
    way: Way
    services: tuple[str, ...]
    unchanged: tuple[str, ...]
    sets: int
    moments: tuple[Mapping[str, tuple[int, int]], ...]
    now: Milli
    peak: Milli
    roomy: CourseOutcome
    full: CourseOutcome
    wishes: RolloutWishes = NO_WISHES

    @property
    def places(self) -> frozenset[Place]:
        """Its services."""
        return frozenset((self.graph.namespace, self.graph.name, service) for service in self.services)


def with_roles(changes: Sequence[PodChange], roles: Mapping[Place, RoleInSets]) -> tuple[PodChange, ...]:
    """The changes; those of workers that roll in sets know it, and how many of their pods there are at each moment."""
    found = [replace(one, in_sets=roles.get(one.place)) if _takes_part(one) else one for one in changes]
    groups: dict[Place, list[int]] = {}
    for index, one in enumerate(found):
        if one.in_sets is not None:
            groups.setdefault((*one.place[:2], ""), []).append(index)
    for indexes in groups.values():
        played = play_alone([found[index] for index in indexes], Endless())
        for place, index in enumerate(indexes):
            found[index] = replace(found[index], rollout=replace(found[index].rollout, mixes=_mixes(place, played)))
    return tuple(found)


def find_courses(changes: Iterable[PodChange], before: Settled, after: Settled) -> tuple[Course, ...]:
    """The rollouts of all graphs of which a worker gets other pods."""
    rolling: dict[ObjectId, list[PodChange]] = {}
    for change in changes:
        graph = _graph_of(change, after)
        if graph is not None and _is_worker(change, after.world.objects[graph].manifest):
            rolling.setdefault(graph, []).append(change)
    return tuple(
        _describe(graph, workers, (before, after))
        for graph, workers in rolling.items()
        if any(one.restarts for one in workers)
    )


def find_outcome(places: frozenset[Place], played: Played, way: Way, free: Milli) -> CourseOutcome:
    """What comes of the rollout of these services; `free` is what is free in the end.

    Workers that go for themselves become ready at different times, so for some time no generation is complete.
    """
    indexes = [index for index, one in enumerate(played.moving) if one.place in places and _takes_part(one.change)]
    sets = [played.moving[index] for index in indexes]
    parts = [_find_complete(sets, [moment[index] for index in indexes]) for moment in played.moments]
    serving = min((old + new for old, new in parts), default=Fraction(1))
    missing: dict[str, int] = {}
    for one in sets:
        missing = add(missing, _need_of_next(one))
    if way is Way.APART:
        return CourseOutcome(ending=Ending.INTERRUPTED, serving=Fraction(0))
    if any(not old and not new for old, new in parts):
        ending = Ending.INTERRUPTED
    else:
        is_held = any(one.change.in_sets and one.change.in_sets.wishes != NO_WISHES for one in sets)
        waits = Ending.HELD if is_held and not missing else Ending.WAITS
        ending = Ending.PASSES if all(one.is_done for one in sets) else waits
    lacking = {name: amount - max(0, free.get(name, 0)) for name, amount in missing.items() if "/" in name}
    return CourseOutcome(
        ending=ending,
        serving=min(Fraction(1), serving),
        missing={name: amount for name, amount in lacking.items() if amount > 0},
    )


def _takes_part(change: PodChange) -> bool:
    return bool(change.after) and change.fate in {PodFate.RESTART, PodFate.START}


def _graph_of(change: PodChange, after: Settled) -> ObjectId | None:
    namespace, graph, service = change.place
    key = ObjectId(namespace=namespace, kind=contract.GRAPH.kind, name=graph, group=contract.GRAPH.group)
    return key if service and _takes_part(change) and key in after.world.objects else None


def _is_worker(change: PodChange, graph: ReadManifest) -> bool:
    spec = _service_of(graph, change.place[2])
    return ComponentType.of(str(spec.get("componentType") or "")).is_worker


def _service_of(graph: ReadManifest | None, service: str) -> Mapping[str, Json]:
    services = ((graph or {}).get("spec") or {}).get("services") or {}
    found: Mapping[str, Json] = services.get(service) or {}
    return found


def _mixes(index: int, played: Played) -> tuple[tuple[int, int], ...]:
    return tuple(dict.fromkeys((moment[index].old, moment[index].new) for moment in played.moments))


def _describe(graph: ObjectId, workers: Sequence[PodChange], sides: tuple[Settled, Settled]) -> Course:
    services = tuple(sorted({one.place[2] for one in workers}))
    places, way = frozenset(one.place for one in workers), _way_of(workers, sides[1].world.objects[graph].manifest)
    roomy, full = play_alone(workers, Endless()), play_alone(workers, Full())
    needs = [_need_at(roomy.moving, one) for one in roomy.moments]
    return Course(
        graph=graph,
        way=way,
        services=services,
        unchanged=_find_unchanged(graph, workers, sides),
        sets=min(_count_wanted(roomy.moving).values()),
        moments=tuple(_find_moments(roomy)),
        now=needs[0],
        peak=reduce(_most, needs),
        roomy=find_outcome(places, roomy, way, {}),
        full=find_outcome(places, full, way, {}),
        wishes=next((one.in_sets.wishes for one in workers if one.in_sets), NO_WISHES),
    )


def _way_of(workers: Sequence[PodChange], graph: ReadManifest) -> Way:
    if any(one.set.workload.is_a(kinds.POD_CLIQUE_SET) for one in workers):
        strategy = annotations_of(graph).get(contract.ANNOTATION_GROVE_UPDATE_STRATEGY)
        return Way.BY_HAND if strategy == ON_DELETE else Way.GROVE
    if all(one.in_sets for one in workers):
        return Way.SETS
    is_alone = len({one.place[2] for one in workers}) == 1 or not any(map(_changes_generation, workers))
    return Way.ALONE if is_alone else Way.APART


def _changes_generation(change: PodChange) -> bool:
    sides = (change.rollout.old, change.rollout.new)
    old, new = (_labels_of(one).get(contract.LABEL_WORKER_HASH) if one else None for one in sides)
    return old != new


def _labels_of(pods: PodSet) -> Mapping[str, Json]:
    found: Mapping[str, Json] = (pods.template.get("metadata") or {}).get("labels") or {}
    return found


def _find_unchanged(graph: ObjectId, changes: Iterable[PodChange], sides: tuple[Settled, Settled]) -> tuple[str, ...]:
    """The workers of which nothing changes but that others get a new generation; () if the graph changes for all."""
    old, new = (side.world.find(graph) for side in sides)
    services = {one.place[2] for one in changes if one.fate is PodFate.RESTART}
    same = {one for one in services if _service_of(old, one) == _service_of(new, one)}
    return tuple(sorted(same)) if same != services else ()


def _find_moments(played: Played) -> Iterator[Mapping[str, tuple[int, int]]]:
    """The replicas of each service whenever they change."""
    last: dict[str, tuple[int, int]] = {}
    for moment in played.moments:
        counts = _count_services(played.moving, moment)
        if counts != last:
            yield counts
        last = counts


def _count_services(sets: Sequence[Moving], moment: Sequence[Count]) -> dict[str, tuple[int, int]]:
    """By service its old replicas, and its new ones that have a place."""
    found: dict[str, list[tuple[Moving, Count]]] = {}
    for one, count in zip(sets, moment, strict=True):
        found.setdefault(one.place[2], []).append((one, count))
    return {
        service: (
            count_replicas((one for one, _ in pairs), (count.old for _, count in pairs)),
            count_replicas((one for one, _ in pairs), (count.new for _, count in pairs)),
        )
        for service, pairs in found.items()
    }


def _need_at(sets: Sequence[Moving], moment: Sequence[Count]) -> Milli:
    """What all pods request at a moment, with their number."""
    found: dict[str, int] = {}
    for one, count in zip(sets, moment, strict=True):
        for pods, number in ((one.change.rollout.old, count.old), (one.change.rollout.new, count.new)):
            found = add(found, need_of(pods.pod_spec), number) if pods and number else found
    return found


def _most(one: Milli, other: Milli) -> Milli:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _count_wanted(sets: Sequence[Moving]) -> dict[str, int]:
    """By service how many replicas there are in the end."""
    done = [Count(old=0, new=one.change.after, ready=0) for one in sets]
    return {service: new for service, (_, new) in _count_services(sets, done).items()}


def _find_complete(sets: Sequence[Moving], counts: Sequence[Count]) -> tuple[Fraction, Fraction]:
    """The part of the wanted capacity that the old generation still has complete, and that the new one has."""
    began = _count_services(sets, [Count(old=one.change.before, new=0, ready=0) for one in sets])
    now = _count_services(sets, [Count(old=one.old, new=one.ready, ready=0) for one in counts])
    wanted = _count_wanted(sets)
    old = min((Fraction(now[name][0], had) for name, (had, _) in began.items() if had), default=Fraction(0))
    return old, min((Fraction(now[name][1], count) for name, count in wanted.items() if count), default=Fraction(0))


def _need_of_next(one: Moving) -> dict[str, int]:
    """What the new pods request that may come now, and have no place."""
    new = one.change.rollout.new
    waiting = max(0, one.allowed - len(one.placed)) if new else 0
    return add({}, need_of(new.pod_spec), waiting) if new and waiting else {}
