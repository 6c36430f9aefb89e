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
from hooks.tools.offline.diff.nodes import Node, need_of, place_of, read_nodes
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.rollouts import PodChange, PodFate
from hooks.tools.offline.diff.room import Room


class FitVerdict(StrEnum):
    """What the estimate says: all pods find nodes; they do only if packed tightly; some stay Pending."""

    FITS = "fits"
    PACKED = "packed"
    PENDING = "pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """So many new pods of a set find no node; `is_lasting`: they stay Pending, else until old pods are gone."""

    set: PodSet
    pods: int
    why: str
    is_lasting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The estimate. `shortages` are those of tightly packed pods, or of spread ones if only packed ones find nodes."""

    verdict: FitVerdict
    nodes: int
    shortages: tuple[Shortage, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Nodes, and the pods on them; `pods` is None if it is not known which pods run."""

    nodes: Sequence[ReadManifest]
    pods: Sequence[ReadManifest] | None = None
    notes: tuple[str, ...] = ()


def judge_fit(changes: Iterable[PodChange], machines: Machines) -> Fit:
    """Whether the new pods of all changes find nodes."""
    found, nodes = list(changes), read_nodes(machines.nodes, machines.pods or ())
    packed = _play(found, nodes, machines, packs=True)
    lasting = any(one.is_lasting for one in packed.shortages)
    spread = packed if lasting else _play(found, nodes, machines, packs=False)
    by_chance = not lasting and any(one.is_lasting for one in spread.shortages)
    verdict = FitVerdict.PENDING if lasting else FitVerdict.PACKED if by_chance else FitVerdict.FITS
    chosen = spread if by_chance else packed
    return Fit(
        verdict=verdict,
        nodes=len(nodes),
        shortages=chosen.shortages,
        notes=(*machines.notes, *packed.notes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    shortages: tuple[Shortage, ...]
    notes: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Moving:
    """One set while it is played: the nodes of its old pods and of its new ones."""

    change: PodChange
    olds: list[str]
    kept: int = 0
    placed: list[str] = field(default_factory=list)
    why: str = ""
    missed: int = 0

    @property
    def wanted(self) -> int:
        """How many new pods there are in the end."""
        return self.change.after - self.kept

    @property
    def allowed(self) -> int:
        """How many new pods there may be beside the old ones that still run."""
        new = self.change.rollout.new
        if not self.rolls or new is None:
            return self.wanted
        return min(self.wanted, max(0, self.change.after + new.surge - len(self.olds)))

    @property
    def rolls(self) -> bool:
        """Whether new pods replace old ones step by step."""
        new = self.change.rollout.new
        return self.change.rollout.restarts and new is not None and not new.is_recreated and not self.change.recreated

    @property
    def stays(self) -> int:
        """How many old pods have to run on, so that enough are available."""
        new = self.change.rollout.new
        if not self.rolls or new is None:
            return self.kept
        return max(0, self.change.after - new.unavailable - len(self.placed))

    @property
    def is_done(self) -> bool:
        return len(self.placed) >= self.wanted


def _play(changes: Sequence[PodChange], nodes: Sequence[Node], machines: Machines, *, packs: bool) -> _Played:
    room = Room(nodes=nodes, packs=packs, free={node.name: node.free for node in nodes})
    moving, notes = _begin(changes, room, machines)
    first = True
    while True:
        before = [(len(one.placed), len(one.olds)) for one in moving]
        for one in moving:
            if not _waits_for_its_turn(one, moving):
                _advance(one, room, first=first)
        first = False
        if before == [(len(one.placed), len(one.olds)) for one in moving]:
            break
    return _Played(shortages=tuple(_find_shortages(moving)), notes=tuple(notes))


def _begin(changes: Sequence[PodChange], room: Room, machines: Machines) -> tuple[list[_Moving], list[str]]:
    """The sets that change, the neediest first, with their old pods where they are, or where they may be."""
    notes: list[str] = []
    moving: list[_Moving] = []
    running = _index(machines.pods or ())
    for change in sorted(changes, key=_neediness, reverse=True):
        if change.fate is PodFate.STAY and machines.pods is not None:
            continue  # its pods are among those that take room already
        old, new = change.rollout.old, change.rollout.new
        olds: list[str] = []
        if old is not None:
            olds = _assume_places(old, room) if machines.pods is None else _find_places(old, running)
            if machines.pods is None and len(olds) < old.count:
                lacking = old.count - len(olds)
                notes.append(f"{old.workload}: already before the change {lacking} of its pods find no node")
        kept = min(change.before, change.after) if old and new and not change.rollout.restarts else 0
        one = _Moving(change=change, olds=olds, kept=kept)
        if not one.rolls:  # old pods beyond those that stay go at once
            _remove_olds(one, room, kept)
        moving.append(one)
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


def _waits_for_its_turn(one: _Moving, moving: Iterable[_Moving]) -> bool:
    turn = one.change.rollout.in_turn
    unfinished = (other for other in moving if turn and other.change.rollout.in_turn == turn and not other.is_done)
    return next(unfinished, one) is not one


def _advance(one: _Moving, room: Room, *, first: bool) -> None:
    new = one.change.rollout.new
    if new is not None:
        need = need_of(new.pod_spec)
        while len(one.placed) < one.allowed:
            place = room.place(new, need)
            if not place:
                one.why = room.explain(new, need)
                one.missed = one.allowed - len(one.placed) if first else one.missed
                break
            one.placed.append(place)
    if one.rolls:
        _remove_olds(one, room, one.stays)


def _remove_olds(one: _Moving, room: Room, stays: int) -> None:
    old = one.change.rollout.old
    if old is not None:
        need = need_of(old.pod_spec)
        while len(one.olds) > stays:
            room.leave(one.olds.pop(), need)


def _find_shortages(moving: Iterable[_Moving]) -> Iterator[Shortage]:
    for one in moving:
        if one.why and not one.is_done:
            missing = one.wanted - len(one.placed)
            stuck = min(missing, max(1, one.allowed - len(one.placed)))
            yield Shortage(set=one.change.set, pods=stuck, why=one.why, is_lasting=True)
        elif one.missed:
            yield Shortage(set=one.change.set, pods=one.missed, why=one.why, is_lasting=False)
