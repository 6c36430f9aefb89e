"""Plays one fault on one road: a graph at rest, the fault, and the time until the graph is whole again."""

from functools import cache

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.store import Ref, ref_of
from tests.faults.catalogue import PLAYED
from tests.faults.fault import Act, Fault, Outcome, nothing
from tests.faults.stage import Stage
from tests.sequences.disturbances import write_graph
from tests.sequences.rest import come_to_rest
from tests.sequences.wishes import ROADS

PATIENCE = 1500.0
"""Seconds of the cluster after which a graph that is not whole counts as lost."""


MAX_STEPS = 5000
OLD = "old"
"""Stands for a status whose generation is not that of the spec: whoever waits for Ready goes on waiting."""


@cache
def play(name: str, road: str) -> Outcome:
    """What comes of a fault on a road.

    Raises:
        Violation: something untrue was said, or something was done that nobody asked for.
    """
    return play_fault(PLAYED[name], road)


def play_fault(fault: Fault, road: str, prepare: Act = nothing) -> Outcome:
    """The same of a fault that need not be in the table; `prepare` is done before the graph comes to rest."""
    stage = Stage(ROADS[road])
    stage.disturb("creation", write_graph)
    prepare(stage)
    come_to_rest(stage)
    why = stage.why_not_whole()
    assert not why, why
    pods, objects = stage.pods(), _wanted_objects(stage)
    heard = len(stage.cluster.events)
    seen = [_said(stage)]
    fault.begin(stage)
    stage.record(f"{fault.name} begins")
    if fault.user_acts:
        stage.scale_up()
    _watch(stage, fault.seconds, seen)
    fault.end(stage)
    stage.record(f"{fault.name} ends")
    recovery = _recover(stage, seen)
    gone = pods - stage.pods()
    events = {event.reason for event in stage.cluster.events[heard:] if event.type == "Warning"}
    return Outcome(
        seen=tuple(dict.fromkeys(reason for said in seen[1:] for reason in said)),
        events=tuple(sorted(events)),
        taken=len(gone & stage.pods_lost),
        unasked=len(gone - stage.pods_lost),
        lost=tuple(sorted(map(str, objects - _wanted_objects(stage)))),
        recovery=recovery,
        by_person=fault.by_person,
    )


def _watch(stage: Stage, seconds: float, seen: list[tuple[str, ...]]) -> None:
    end = stage.clock.seconds + seconds
    while stage.clock.seconds < end:
        _advance(stage, end)
        _note(stage, seen)


def _recover(stage: Stage, seen: list[tuple[str, ...]]) -> float | None:
    begun = stage.clock.seconds
    while stage.why_not_whole():
        if stage.clock.seconds > begun + PATIENCE:
            return None
        _advance(stage, begun + PATIENCE + 1)
        _note(stage, seen)
    recovered = stage.clock.seconds - begun
    come_to_rest(stage)
    why = stage.why_not_whole()
    if why:
        stage.fail("graph_stays_whole", why)
    return recovered


def _advance(stage: Stage, end: float) -> None:
    """One piece of work, or time until there is some; no longer than until `end`."""
    if stage.number > MAX_STEPS:
        stage.fail("work_ends", f"there is still work after {MAX_STEPS} steps")
    if not stage.work():
        due = stage.cluster.next_time()
        stage.pass_time(end if due is None else min(due, end))


def _note(stage: Stage, seen: list[tuple[str, ...]]) -> None:
    stage.listen()
    now = _said(stage)
    if now != seen[-1]:
        seen.append(now)


def _said(stage: Stage) -> tuple[str, ...]:
    graph = stage.graph
    assert graph is not None
    return reasons_of(graph)


def reasons_of(graph: Manifest) -> tuple[str, ...]:
    """The reasons of the conditions Ready, and Applied while it is False; `OLD` where they are of another spec."""
    status = graph.get("status", {})
    if status.get("observedGeneration") != graph["metadata"]["generation"]:
        return (OLD,)
    conditions = {one["type"]: one for one in status["conditions"]}
    applied = conditions["Applied"]
    deviation = (str(applied["reason"]),) if applied["status"] == "False" else ()
    return (str(conditions["Ready"]["reason"]), *deviation)


def _wanted_objects(stage: Stage) -> set[Ref]:
    """The graph and all children; what workloads make of them comes and goes under other names."""
    return {ref_of(child) for child in stage.children()}
