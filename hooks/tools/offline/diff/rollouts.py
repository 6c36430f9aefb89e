"""Which pods restart, and why, field by field; which are only scaled, moved, started or stopped.

A pod restarts if the template that it comes from changes, and so do the pods that are replaced together with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import place_in_workload
from hooks.ground.k8s.types import Json, ReadManifest, gvk_of
from hooks.ground.problems import HERE
from hooks.tools.offline.diff.defaults import with_defaults
from hooks.tools.offline.diff.fields import FieldChange, compare_values
from hooks.tools.offline.diff.pods import PodSet, find_pod_sets
from hooks.tools.offline.diff.resources import Rollout
from hooks.tools.offline.diff.roles import Place, RoleInSets
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import ObjectId


class PodFate(StrEnum):
    """What happens to the pods of a set. Moved ones run in another workload afterwards, and restart for that."""

    RESTART = "restart"
    MOVE = "move"
    START = "start"
    STOP = "stop"
    SCALE = "scale"
    STAY = "stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChange:
    """One set of pods: what happens to it, and because of which fields of its workload.

    `together` says that only pods that are replaced with these have another template. `moved_to` is the workload in
    which the pods of this service run afterwards. `in_sets` is the worker's role, if it rolls in complete sets with the
    others of its graph.
    """

    fate: PodFate
    rollout: Rollout
    why: tuple[FieldChange, ...] = ()
    together: bool = False
    recreated: bool = False
    moved_to: ObjectId | None = None
    in_sets: RoleInSets | None = None

    @property
    def place(self) -> Place:
        """The service whose pods they are."""
        return self.set.workload.namespace, self.set.graph, self.set.service

    @property
    def set(self) -> PodSet:
        """The set after the change, or the one before it if it is gone."""
        found = self.rollout.new or self.rollout.old
        assert found is not None  # noqa: S101 - a change has at least one of the two
        return found

    @property
    def before(self) -> int:
        """The number of pods before."""
        return self.rollout.old.count if self.rollout.old else 0

    @property
    def after(self) -> int:
        """The number of pods afterwards."""
        return self.rollout.new.count if self.rollout.new else 0

    @property
    def restarts(self) -> int:
        """How many of the pods that run now are replaced by others."""
        is_replaced = self.fate is PodFate.RESTART or (self.fate is PodFate.MOVE and self.moved_to is not None)
        return self.before if is_replaced else 0


def plan_pods(before: Settled, after: Settled) -> list[PodChange]:
    """The changes of all sets of pods, those that stay included."""
    olds = {key: find_pod_sets(key, one.manifest) for key, one in before.world.objects.items()}
    unchanged = {key for key, one in after.world.objects.items() if one.manifest == before.world.find(key)}
    present = {
        key: olds[key] if key in unchanged else find_pod_sets(key, one.manifest)
        for key, one in after.world.objects.items()
    }
    old_sets, new_sets = (_index(found) for found in (olds, present))
    changed = {key: _compare(old_sets[key], new_sets[key]) for key in old_sets.keys() & new_sets.keys()}
    rolling = {(key[0], new_sets[key].rolls_with) for key, why in changed.items() if why}
    found = [
        _judge(
            old_sets.get(key),
            new_sets.get(key),
            why=changed.get(key, ()),
            rolls=key in new_sets and (key[0], new_sets[key].rolls_with) in rolling,
            recreated=key[0] in after.recreated,
        )
        for key in dict.fromkeys([*new_sets, *old_sets])
    ]
    return list(_in_turn(_mark_moves(found), before, after))


def _index(found: Mapping[ObjectId, Iterable[PodSet]]) -> dict[tuple[ObjectId, str], PodSet]:
    return {one.key: one for sets in found.values() for one in sets}


def _compare(old: PodSet, new: PodSet) -> tuple[FieldChange, ...]:
    found = () if old is new else compare_values(old.template, new.template, HERE)
    found = with_defaults(found, old.template, new.template)
    return tuple(replace(change, path=place_in_workload(change.path, new.path)) for change in found)


def _judge(
    old: PodSet | None, new: PodSet | None, *, why: tuple[FieldChange, ...], rolls: bool, recreated: bool
) -> PodChange:
    had, gets = (one.count if one else 0 for one in (old, new))
    rollout = Rollout(old=old, new=new, restarts=bool(had and gets and (rolls or recreated)))
    if rollout.restarts:
        return PodChange(fate=PodFate.RESTART, rollout=rollout, why=why, together=not why, recreated=recreated)
    if old is None or new is None:
        fate = (PodFate.START if old is None else PodFate.STOP) if had or gets else PodFate.STAY
    else:
        fate = PodFate.STAY if had == gets else PodFate.SCALE
    return PodChange(fate=fate, rollout=rollout)


def _mark_moves(changes: Sequence[PodChange]) -> Iterator[PodChange]:
    """The changes; pods that stop in one workload and start in another for the same service move."""
    stopping, starting = (
        {one.place: one for one in changes if one.fate is fate and one.set.service}
        for fate in (PodFate.STOP, PodFate.START)
    )
    moving = stopping.keys() & starting.keys()
    for change in changes:
        service = change.place
        if change.fate not in {PodFate.STOP, PodFate.START} or service not in moving:
            yield change
            continue
        waits = _changes_path(stopping[service], starting[service])
        moved_to = starting[service].set.workload if change.fate is PodFate.STOP else None
        rollout = replace(change.rollout, moves=f"{service[0]}/{service[1]}" if waits else "")
        yield replace(change, fate=PodFate.MOVE, moved_to=moved_to, rollout=rollout)


def _changes_path(old: PodChange, new: PodChange) -> bool:
    """Whether the graph moves between Grove and components; then the new pods wait for the old ones."""
    return old.set.workload.is_a(kinds.POD_CLIQUE_SET) is not new.set.workload.is_a(kinds.POD_CLIQUE_SET)


def _in_turn(changes: Iterable[PodChange], before: Settled, after: Settled) -> Iterator[PodChange]:
    """The changes; those of a graph that restarts its services one after the other know it."""
    graphs = {
        (key.namespace, key.name): key
        for key in after.world.objects
        if _restarts_in_turn(before.world.find(key), after.world.find(key))
    }
    for change in changes:
        found = change.set
        graph = graphs.get((found.workload.namespace, found.graph))
        if graph is not None and change.fate is PodFate.RESTART and all(_is_of_restart(one) for one in change.why):
            yield replace(change, rollout=replace(change.rollout, in_turn=str(graph)))
        else:
            yield change


def _is_of_restart(change: FieldChange) -> bool:
    return change.path.parts[-1] == contract.ANNOTATION_RESTART_AT


def _restarts_in_turn(old: ReadManifest | None, new: ReadManifest | None) -> bool:
    if old is None or new is None or gvk_of(new) != contract.GRAPH:
        return False
    restart = _restart_of(new)
    strategy = restart.get("strategy") or {}
    return bool(restart.get("id") != _restart_of(old).get("id") and strategy.get("type") != "Parallel")


def _restart_of(graph: ReadManifest) -> Mapping[str, Json]:
    found: Mapping[str, Json] = (graph.get("spec") or {}).get("restart") or {}
    return found
