"""Sets of pods while a rollout is played: how many old ones stay, how many new ones may come, and where they are.

Workers that roll in complete sets go at the pace that the graph hook would set at each step. All others go as
Kubernetes replaces the pods of one workload. A group of pods over several nodes counts as one replica. It is not known
which place it has: in which order groups change places in the end needs no more room, and stops nothing that serves.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from hooks.component.change.paced_workload import share_pace
from hooks.component.plan.strategy import pace_strategy
from hooks.graph.change.complete_sets import Budget, WorkerPods, find_pace
from hooks.ground.k8s import kinds
from hooks.ground.k8s.workloads import rolling_update
from hooks.tools.offline.diff.nodes import Milli, need_of
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.roles import Place, RoleInSets
from hooks.tools.offline.diff.rollouts import PodChange
from hooks.wire.policy.rollout_pace import RolloutPace


class Ground(Protocol):
    """Where pods may run."""

    def place(self, pod_set: PodSet, need: Milli) -> str:
        """Put a pod somewhere; the name of the place, empty if there is none."""

    def leave(self, node: str, need: Milli) -> None:
        """Give back the room of a pod."""

    def explain(self, pod_set: PodSet, need: Milli) -> str:
        """Why there is no place for a pod, as the second half of a sentence."""


@dataclass(slots=True, kw_only=True)
class Moving:
    """One set while it is played: the places of its old pods and of its new ones.

    `kept` old pods become new ones without a restart. `ready` new pods have been there for a step. `missed` new pods
    found no place in the first step, and `why` says why the last one did not. `pace` counts replicas.
    """

    change: PodChange
    olds: list[str]
    kept: int = 0
    placed: list[str] = field(default_factory=list)
    ready: int = 0
    why: str = ""
    missed: int = 0
    is_crowded: bool = False
    pace: RolloutPace | None = None

    @property
    def place(self) -> Place:
        """The service whose pods they are."""
        return self.change.place

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
        most = self.change.after + new.surge if self.pace is None else self.pace.most * self.each
        return min(self.wanted, max(0, most - len(self.olds)))

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
        if self.pace is not None:
            return self.pace.kept * self.each
        return max(0, self.change.after - new.unavailable - self.ready)

    @property
    def each(self) -> int:
        """How many of the pods are of one replica."""
        return self.change.set.each

    @property
    def is_done(self) -> bool:
        """Whether all new pods have a place."""
        return len(self.placed) >= self.wanted

    @property
    def state(self) -> tuple[int, ...]:
        """What changes as long as something moves."""
        return len(self.olds), len(self.placed), self.ready, self.is_crowded

    def add_new(self, ground: Ground, *, first: bool = False) -> None:
        """Give places to as many new pods as there may be."""
        new, self.is_crowded = self.change.rollout.new, False
        if new is None:
            return
        need = need_of(new.pod_spec)
        while len(self.placed) < self.allowed:
            place = ground.place(new, need)
            if not place:
                self.why, self.is_crowded = ground.explain(new, need), True
                self.missed = self.allowed - len(self.placed) if first else self.missed
                break
            self.placed.append(place)

    def end_old(self, ground: Ground, stays: int) -> None:
        """Take away old pods until so many are left."""
        old = self.change.rollout.old
        if old is not None:
            need = need_of(old.pod_spec)
            while len(self.olds) > stays:
                ground.leave(self.olds.pop(), need)


def set_pace(moving: Iterable[Moving]) -> None:
    """Let the workers of each graph that roll in sets go as far as the graph hook lets them now."""
    groups: dict[tuple[str, str], list[Moving]] = {}
    for one in moving:
        if one.change.in_sets is not None:
            groups.setdefault(one.place[:2], []).append(one)
    for group in groups.values():
        _set_pace(group)


def count_replicas(sets: Iterable[Moving], counts: Iterable[int]) -> int:
    """How many replicas so many pods of each of these sets make, all of one service: of each role as many."""
    roles: dict[str, int] = {}
    for one, count in zip(sets, counts, strict=True):
        role = one.change.set.role
        roles[role] = roles.get(role, 0) + count // one.each
    return min(roles.values(), default=0)


def _set_pace(group: Sequence[Moving]) -> None:
    services: dict[str, list[Moving]] = {}
    for one in group:
        services.setdefault(one.place[2], []).append(one)
    roles = {service: _observe(sets) for service, sets in services.items()}
    found = _role_of(group[0])
    complete = min(Fraction(one.old or 0, one.wanted) for one in roles.values())
    budget = Budget(is_crowded=any(one.is_crowded for one in group), wishes=found.wishes, complete=complete)
    paces = find_pace(roles, budget)
    for service, sets in services.items():
        pace, wanted = paces.get(service), roles[service].wanted
        if found.wishes.is_paused:
            pace = RolloutPace(kept=wanted, most=wanted)
        elif pace is not None and sets[0].change.set.workload.is_a(kinds.DEPLOYMENT):
            pace = _pace_deployment(sets[0].change.set, wanted, pace)
        sizes = {str(one.change.set.workload): one.change.after // one.each for one in sets}
        shares = share_pace(sizes, pace)
        for one in sets:
            one.pace = shares.get(str(one.change.set.workload))


def _pace_deployment(pods: PodSet, wanted: int, pace: RolloutPace) -> RolloutPace:
    """What is left of the pace by the strategy of the Deployment."""
    own = rolling_update(max_surge=pods.surge, max_unavailable=0)
    paced = pace_strategy(own, wanted, kept=pace.kept, most=pace.most)["rollingUpdate"]
    return RolloutPace(kept=wanted - int(paced["maxUnavailable"]), most=wanted + int(paced["maxSurge"]))


def _observe(sets: Sequence[Moving]) -> WorkerPods:
    """The replicas of one service as they are now."""
    old = count_replicas(sets, (len(one.olds) for one in sets))
    ready = count_replicas(sets, (one.ready for one in sets))
    return replace(_role_of(sets[0]).replicas, ready=ready, old=old, intact=old, is_numbered=False)


def _role_of(one: Moving) -> RoleInSets:
    assert one.change.in_sets is not None  # noqa: S101 - only those that have a role are in a group
    return one.change.in_sets
