"""Sets of pods while a rollout is played: how many old ones stay, how many new ones may come, and where they are.

Workers that roll in complete sets go at the pace that the graph hook would set at each step. All others go as
Kubernetes replaces the pods of one workload.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from hooks.component.plan.strategy import pace_strategy
from hooks.graph.change.complete_sets import WorkerPods, find_pace
from hooks.ground.k8s.types import Json
from hooks.ground.k8s.workloads import rolling_update
from hooks.tools.offline.diff.nodes import Milli, need_of
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.roles import Place
from hooks.tools.offline.diff.rollouts import PodChange


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
    found no place in the first step, and `why` says why the last one did not.
    """

    change: PodChange
    olds: list[str]
    kept: int = 0
    placed: list[str] = field(default_factory=list)
    ready: int = 0
    why: str = ""
    missed: int = 0
    is_crowded: bool = False
    strategy: Mapping[str, Json] | None = None

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
        surge = new.surge if self.strategy is None else int(self.strategy["maxSurge"])
        return min(self.wanted, max(0, self.change.after + surge - len(self.olds)))

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
        if self.strategy is not None:
            return self.change.after - int(self.strategy["maxUnavailable"])
        return max(0, self.change.after - new.unavailable - self.ready)

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


def _set_pace(group: Sequence[Moving]) -> None:
    roles = {one.place[2]: _role_of(one) for one in group}
    paces = find_pace(roles, is_crowded=any(one.is_crowded for one in group))
    for one in group:
        new, pace = one.change.rollout.new, paces.get(one.place[2])
        if new is not None and pace is not None:
            own = rolling_update(max_surge=new.surge, max_unavailable=0)
            one.strategy = pace_strategy(own, one.change.after, kept=pace.kept, most=pace.most)["rollingUpdate"]
        else:
            one.strategy = None


def _role_of(one: Moving) -> WorkerPods:
    assert one.change.in_sets is not None  # noqa: S101 - only those that have a role are in a group
    return replace(one.change.in_sets, ready=one.ready, old=len(one.olds))
