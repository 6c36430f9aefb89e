"""Whether the pods of a change find nodes, also while old ones still run: an estimate.

The rollouts are played: all at once, each with its surge and its pods that may be missing, until nothing moves any
more. A new pod that has found a node counts as ready. Pods that need the most are placed first. This is done twice:
with pods packed as tightly as possible, and spread as the default scheduler does.

Source: Kubernetes, pkg/controller/deployment/rolling.go; pkg/scheduler/framework/plugins/noderesources, LeastAllocated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hooks.ground.k8s.types import ReadManifest, labels_of
from hooks.tools.offline.diff.courses import Course, CourseOutcome, find_outcome
from hooks.tools.offline.diff.moving import Moving
from hooks.tools.offline.diff.nodes import Milli, Node, add, need_of, place_of, read_nodes
from hooks.tools.offline.diff.playing import Played, begin, play
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.rollouts import PodChange, PodFate
from hooks.tools.offline.diff.room import Room
from hooks.wire.world.objects import ObjectId


class FitVerdict(StrEnum):
    """What the estimate says: all pods find nodes; they do only if packed tightly; some stay Pending."""

    FITS = "fits"
    PACKED = "packed"
    PENDING = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodShortage:
    """So many new pods of a set find no node; `is_lasting`: they stay Pending, else until old pods are gone."""

    set: PodSet
    pods: int
    why: str
    is_lasting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The estimate. `shortages` are those of tightly packed pods, or of spread ones if only packed ones find nodes.

    `outcomes` say of graphs whose workers roll how that goes on these nodes.
    """

    verdict: FitVerdict
    nodes: int
    shortages: tuple[PodShortage, ...] = ()
    notes: tuple[str, ...] = ()
    outcomes: Mapping[ObjectId, CourseOutcome] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Nodes, and the pods on them; `pods` is None if it is not known which pods run."""

    nodes: Sequence[ReadManifest]
    pods: Sequence[ReadManifest] | None = None
    notes: tuple[str, ...] = ()


def judge_fit(changes: Iterable[PodChange], machines: Machines, courses: Iterable[Course] = ()) -> Fit:
    """Whether the new pods of all changes find nodes, and so how the workers of these courses roll."""
    found, nodes = list(changes), read_nodes(machines.nodes, machines.pods or ())
    packed = _play_on(found, nodes, machines, packs=True)
    lasting = any(one.is_lasting for one in packed.shortages)
    spread = packed if lasting else _play_on(found, nodes, machines, packs=False)
    by_chance = not lasting and any(one.is_lasting for one in spread.shortages)
    verdict = FitVerdict.PENDING if lasting else FitVerdict.PACKED if by_chance else FitVerdict.FITS
    chosen = spread if by_chance else packed
    return Fit(
        verdict=verdict,
        nodes=len(nodes),
        shortages=chosen.shortages,
        notes=(*machines.notes, *packed.notes),
        outcomes={one.graph: find_outcome(one.places, chosen.played, one.way, chosen.free) for one in courses},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnNodes:
    """How it went on the nodes, and what is free on all of them in the end."""

    played: Played
    free: Milli
    notes: tuple[str, ...]

    @property
    def shortages(self) -> tuple[PodShortage, ...]:
        return tuple(_find_shortages(self.played.moving))


def _play_on(changes: Sequence[PodChange], nodes: Sequence[Node], machines: Machines, *, packs: bool) -> _OnNodes:
    room = Room(nodes=nodes, packs=packs, free={node.name: node.free for node in nodes})
    sets, notes = _begin(changes, room, machines)
    played = play(sets, room)
    free: dict[str, int] = {}
    for node in nodes:
        free = add(free, room.free[node.name]) if node.is_ready else free
    return _OnNodes(played=played, free=free, notes=tuple(notes))


def _begin(changes: Sequence[PodChange], room: Room, machines: Machines) -> tuple[list[Moving], list[str]]:
    """The sets that change, the neediest first, with their old pods where they are, or where they may be."""
    notes: list[str] = []
    moving: list[Moving] = []
    running = _index(machines.pods or ())
    for change in sorted(changes, key=_neediness, reverse=True):
        if change.fate is PodFate.STAY and machines.pods is not None:
            continue  # its pods are among those that take room already
        old = change.rollout.old
        olds: list[str] = []
        if old is not None:
            olds = _assume_places(old, room) if machines.pods is None else _find_places(old, running)
            if machines.pods is None and len(olds) < old.count:
                lacking = old.count - len(olds)
                notes.append(f"{old.workload}: already before the change {lacking} of its pods find no node")
        moving.append(begin(change, olds))
    return moving, notes


def _assume_places(old: PodSet, room: Room) -> list[str]:
    need = need_of(old.pod_spec)
    return [place for place in (room.place(old, need) for _ in range(old.count)) if place]


_Running = Mapping[tuple[str, str, str], Sequence[ReadManifest]]
"""Pods that have a node, by namespace and each of their labels."""


def _index(pods: Iterable[ReadManifest]) -> _Running:
    found: dict[tuple[str, str, str], list[ReadManifest]] = {}
    for pod in pods:
        if place_of(pod):
            for key, value in labels_of(pod).items():
                found.setdefault((str(pod["metadata"].get("namespace", "")), key, value), []).append(pod)
    return found


def _find_places(old: PodSet, running: _Running) -> list[str]:
    """The nodes of the set's pods: those with all labels of its template."""
    labels: Mapping[str, str] = (old.template.get("metadata") or {}).get("labels") or {}
    alike = [running.get((old.workload.namespace, key, str(value)), ()) for key, value in labels.items()]
    fewest = min(alike, key=len, default=())
    return [place_of(pod) for pod in fewest if labels.items() <= labels_of(pod).items()]


def _neediness(change: PodChange) -> list[int]:
    need = need_of(change.set.pod_spec)
    return [sum(amount for name, amount in need.items() if "/" in name), need.get("memory", 0), need.get("cpu", 0)]


def _find_shortages(moving: Iterable[Moving]) -> Iterator[PodShortage]:
    for one in moving:
        if one.why and not one.is_done:
            missing = one.wanted - len(one.placed)
            stuck = min(missing, max(1, one.allowed - len(one.placed)))
            yield PodShortage(set=one.change.set, pods=stuck, why=one.why, is_lasting=True)
        elif one.missed:
            yield PodShortage(set=one.change.set, pods=one.missed, why=one.why, is_lasting=False)
