"""The pace of a rollout: how many old pods of each worker its component keeps, by the pods that are observed.

It is for graphs of components in which several workers roll, or one whose rollout a person steers. Only while these
roll from one generation to the next, each component has the number in an annotation; the component hook makes the
strategy of its workload of it. While pods cannot be read, none of the new generation counts, so no old one ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hooks.component.spec.subject import ComponentType
from hooks.graph.change.complete_sets import Budget, WorkerPods, find_behind, find_pace, is_canary_ready
from hooks.graph.change.room import LackOfRoom, find_shortage
from hooks.graph.change.shares import REGISTERS_IN, variable_of
from hooks.graph.change.worker_pods import (
    SeenWorker,
    count_pods,
    find_complete,
    find_serving,
    see_worker,
    wanted_of,
)
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.ground import contract
from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.types import Json, Manifest, annotations_of, gvk_of, labels_of, name_of
from hooks.ground.settings import Switch
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.on_demand import NOT_YET_READ
from hooks.wire.policy.rollout_pace import RolloutPace
from hooks.wire.policy.rollout_wishes import NO_WISHES, RolloutWishes, read_wishes

ROLLING_UPDATE, GOES_BACK, PROGRESS = "rollingUpdate", "goesBackTo", "progressTime"
"""Field of the graph's status, and two in it: the revision whose spec is written back, and the last progress."""


class RolloutState(StrEnum):
    """What the rollout of a graph's workers does now; the first of these that holds, from top to bottom."""

    AT_REST = "AtRest"
    """Nothing rolls in sets, or all new pods are ready: no component has a pace."""
    PAUSED = "Paused"
    """The graph's annotation says so: no pod is made and none ends, of no generation."""
    UNKNOWN = "Unknown"
    """Pods of some worker are not known: no old one ends until they are."""
    CANARY = "Canary"
    """As many sets of the new generation as the graph's annotation asks for are ready: it waits until that goes."""
    NO_ROOM = "NoRoom"
    """New pods find no room, and no old set makes room: one alone is left, or the time before that is not over."""
    STALLED = "Stalled"
    """No new pod became ready for the time that a setting says. Old pods serve; it goes on as soon as one is ready."""
    ROLLING = "Rolling"
    """New pods come up, or old ones end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """The revision, by name and number, to which a stalled rollout goes back by itself; `lacks` is why it cannot."""

    revision: str = ""
    number: int = 0
    lacks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutInSets:
    """Where the rollout of a graph's workers stands; `roles` is empty while nothing rolls in sets.

    `names` are the components of the roles, by service, `paces` those of live ones; without any, all new pods are
    ready, or nothing rolls. `unread` says by service why its pods are not known. `shortage` is of services
    whose new pods find no room. `wishes` are those of a person. `stands_since` is when there was the last progress,
    empty while that is not long ago. `is_unrouted`: some frontend says that it routes nothing to the new generation.
    `progress` is when there was the last one; empty if nothing has begun. `serving` is the old generation with the most
    complete sets, and its part of those wanted, None without any. `way_back` is where a stalled rollout goes by
    itself, None if it is not to.
    """

    roles: Mapping[str, WorkerPods] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    paces: Mapping[str, RolloutPace] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    shortage: LackOfRoom = field(default_factory=LackOfRoom)
    wishes: RolloutWishes = NO_WISHES
    stands_since: str = ""
    is_unrouted: bool = False
    progress: str = ""
    serving: tuple[str, Fraction] | None = None
    way_back: WayBack | None = None

    @property
    def state(self) -> RolloutState:
        """What it does now."""
        states = (
            (RolloutState.AT_REST, not self.paces),
            (RolloutState.PAUSED, self.wishes.is_paused),
            (RolloutState.UNKNOWN, bool(self.unread)),
            (RolloutState.CANARY, is_canary_ready(self.roles, self.wishes)),
            (RolloutState.NO_ROOM, bool(self.shortage.crowded) and not self._makes_room),
            (RolloutState.STALLED, bool(self.stands_since)),
        )
        return next((state for state, holds in states if holds), RolloutState.ROLLING)

    @property
    def crowded(self) -> tuple[str, ...]:
        """The services whose new pods find no room."""
        return self.shortage.crowded

    @property
    def behind(self) -> tuple[str, ...]:
        """The services whose next ready pod the others wait for."""
        return find_behind(self.roles)

    @property
    def _makes_room(self) -> bool:
        """Whether old pods are about to end."""
        return any((self.roles[one].old or 0) > pace.kept for one, pace in self.paces.items())


NONE = RolloutInSets()
PACING = frozenset({contract.ANNOTATION_PACE, contract.ANNOTATION_ROLLOUT_PAUSED})
"""Annotations of a component while it rolls in sets."""
NOWHERE: Mapping[str, Json] = {}


def plan_rollout(
    children: Iterable[Manifest],
    seen: ObservedGraph,
    request: SyncRequest,
    facts: Facts,
    *,
    namespaces: Mapping[str, Json] = NOWHERE,
    unrouted: frozenset[str] = frozenset(),
) -> RolloutInSets:
    """The pace of the workers among a graph's children; with one alone, Kubernetes' own is right if nobody steers it.

    `namespaces` are by service the Dynamo namespaces of their newest pods; without them only a rollout that has begun
    goes on, and no old pod ends if it began for some workers alone. Where pods are never read, each workload rolls for
    itself. Frontends do not route to the workers in the Dynamo namespaces `unrouted`, so none of these is ready yet.
    """
    wishes = read_wishes(annotations_of(request.parent))
    workers = {_service_of(one): one for one in children if _is_paced(one)}
    live = {one: found for one, worker in workers.items() if (found := _find_live(worker, seen)) is not None}
    # Of a graph that cannot be rendered some components may have been told of a generation, and others not.
    is_split = not namespaces and len({variable_of(worker["spec"]) for worker in workers.values()}) > 1
    is_moving = is_split and not all(found.is_settled for found in live.values())
    rolls = is_moving or any(_is_rolling(workers[one], found, namespaces.get(one)) for one, found in live.items())
    goes_back = facts.settings.effect_go_back is Switch.ON
    is_ours = len(workers) > 1 or wishes != NO_WISHES or goes_back
    if facts.settings.explain_pods is Switch.OFF or not is_ours or not rolls:
        return NONE
    units = {
        one: see_worker(worker, seen.pods.get(one, ()), is_known=seen.knows_pods(one) and not is_split)
        for one, worker in workers.items()
    }
    progress = _find_progress(units.values(), request, facts)
    is_unrouted = any(namespaces.get(one) in unrouted for one in workers)
    return RolloutInSets(
        **_decide(units, live, wishes, facts, is_unrouted=is_unrouted),
        names={one: name_of(worker) for one, worker in workers.items()},
        is_unrouted=is_unrouted,
        unread={one: seen.pod_faults.get(one, NOT_YET_READ) for one in workers if not seen.knows_pods(one)},
        wishes=wishes,
        serving=find_serving(units.values(), facts.now, facts.settings.rollout_room_after) if goes_back else None,
        progress=progress,
        stands_since=progress if _is_long_ago(progress, facts) else "",
    )


def _decide(
    units: Mapping[str, SeenWorker],
    live: Mapping[str, ChildComponent],
    wishes: RolloutWishes,
    facts: Facts,
    *,
    is_unrouted: bool,
) -> dict[str, Any]:
    """The fields of a rollout that follow from its pods. While it is paused, each pace stays what it is."""
    now, patience = facts.now, facts.settings.rollout_room_after
    roles = {one: count_pods(worker, facts) for one, worker in units.items()}
    if is_unrouted:
        roles = {one: replace(role, ready=0, settled=0, surplus=0) for one, role in roles.items()}
    budget = Budget(wishes=wishes, complete=find_complete(units.values(), now, patience))
    shortage = find_shortage(units, live, roles, facts)
    paces = find_pace(roles, replace(budget, is_crowded=shortage.is_lasting))
    if wishes.is_paused:
        paces = {one: live[one].pace or _stand(roles[one]) for one in live}
    return {"roles": roles, "shortage": shortage, "paces": {one: pace for one, pace in paces.items() if one in live}}


def _stand(role: WorkerPods) -> RolloutPace:
    """The pace of a worker of which nothing has begun."""
    return RolloutPace(kept=role.wanted, most=role.wanted)


def _find_progress(units: Iterable[SeenWorker], request: SyncRequest, facts: Facts) -> str:
    """When there was the last progress; now after an edit, and when a rollout goes on that stood because it was to."""
    last = request.status.get(ROLLING_UPDATE)
    if not isinstance(last, Mapping) or not last.get("startTime"):
        return ""
    known, is_same = last.get(PROGRESS), request.status.get("observedGeneration") == request.generation
    if not known or not is_same:
        return format_time(facts.now)
    return max([str(known), *(time for one in units for time in one.progress)])


def _is_long_ago(progress: str, facts: Facts) -> bool:
    return bool(progress) and seconds_since(progress, facts.now) >= facts.settings.rollout_stalled_after


def pace_children(children: Children, rollout: RolloutInSets, seen: ObservedGraph) -> Children:
    """The children with the pace in the components' annotations; the same object if none changes."""
    paused = {contract.ANNOTATION_ROLLOUT_PAUSED: "true"} if rollout.wishes.is_paused else {}
    paces = {
        rollout.names[service]: {contract.ANNOTATION_PACE: str(pace), **paused}
        for service, pace in rollout.paces.items()
    }
    if not paces and not any(one.is_paced for one in seen.components.values()):
        return children
    return Children(
        with_pace(one, paces.get(name_of(one), {})) if gvk_of(one) == contract.COMPONENT else one for one in children
    )


def has_pace(child: Manifest) -> bool:
    """Whether a child is a component that rolls in sets."""
    return gvk_of(child) == contract.COMPONENT and bool(annotations_of(child).keys() & PACING)


def with_pace(component: Manifest, pace: Mapping[str, str]) -> Manifest:
    """The component with this pace, or without one; what is returned as last applied may have an earlier one."""
    others = {key: value for key, value in annotations_of(component).items() if key not in PACING}
    annotations = {**others, **pace}
    metadata = {key: value for key, value in component["metadata"].items() if key != "annotations"}
    said = {"annotations": dict(sorted(annotations.items()))} if annotations else {}
    return {**component, "metadata": {**metadata, **said}}


def _is_paced(child: Manifest) -> bool:
    """Whether a child is a worker of which pods are wanted."""
    if gvk_of(child) != contract.COMPONENT:
        return False
    is_worker = ComponentType.of(str(child["spec"].get("componentType") or "")).is_worker
    return is_worker and bool(_service_of(child)) and wanted_of(child) > 0


def _service_of(worker: Manifest) -> str:
    """Its service; a component that a Go operator left, and that stays as it is, says it in a label alone."""
    return str(worker["spec"].get("serviceName") or labels_of(worker).get(contract.LABEL_COMPONENT) or "")


def _find_live(worker: Manifest, seen: ObservedGraph) -> ChildComponent | None:
    found = seen.components.get(name_of(worker))
    return None if found is None or found.is_deleting or not found.has_status else found


def _is_rolling(worker: Manifest, live: ChildComponent, namespace: Json) -> bool:
    """Whether its newest pods are to be of another generation than some of its pods, or a rollout is not over.

    After a change that is taken back the status names the wanted Dynamo namespace all the time.
    """
    is_at = live.service.get(REGISTERS_IN)
    has_moved = bool(is_at and namespace and is_at != namespace)
    return live.is_paced or has_moved or variable_of(live.spec) != variable_of(worker["spec"])
