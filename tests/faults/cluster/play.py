"""Plays one fault: graphs at rest, the fault, and the time until all graphs are whole again."""

import time
from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.store import Ref
from tests.cluster.api_client import wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.faults.cluster.fault import ClusterFault, ClusterOutcome
from tests.faults.cluster.judgement import Past, find_deviation, find_wrongs, judge, read_warnings, wanted_of
from tests.faults.cluster.stage import Stage
from tests.sequences.truth import find_lie, is_condition_true
from tests.waiting import stretch

PATIENCE = 180.0
"""Seconds after which graphs that are not whole count as lost."""
POLL_SECONDS = 0.1


def play(stage: Stage, fault: ClusterFault, *, is_short: bool) -> ClusterOutcome:
    """What comes of a fault; the stage is as before afterwards, but for a user's change."""
    stage.forget()
    past = Past(
        revision=stage.history.catch_up(),
        mark=stage.audit.mark(),
        objects=stage.history.now().objects,
        wanted=wanted_of(stage),
        events=read_warnings(stage),
    )
    fault.begin(stage)
    fault.lasting(stage, fault.short if is_short else fault.seconds)
    wrongs = _look_meanwhile(stage, past.wanted) if fault.is_heard else []
    fault.end(stage)
    recovery = _recover(stage, past.wanted)
    stage.rest()
    stage.history.catch_up()
    if recovery is not None and (why := why_not_whole(stage, past.wanted)):
        wrongs.append(f"graphs were whole, and are so no more: {why}")
    outcome = judge(stage, past, wrongs, recovery)
    fault.tidy(stage)
    if stage.newcomers:
        _remove_newcomers(stage)
        stage.rest()
    return outcome


def why_not_whole(stage: Stage, wanted: Mapping[Ref, Manifest]) -> str:
    """Why graphs and their children are not as they were, but for what users asked for; empty if they are."""
    now = stage.history.now()
    for graph in now.list_kind(contract.GRAPH):
        name = graph["metadata"]["name"]
        if not all(is_condition_true(graph, type_) for type_ in ("Ready", "Applied")):
            return f"the status of {name} is not Ready and Applied at its generation"
        if lie := find_lie(now, graph):
            return f"{name}: {lie}"
    missing = [name for name in stage.newcomers if stage.ref(DYNAMO, GRAPH, name) not in now.objects]
    if missing:
        return f"{', '.join(missing)} are not there"
    leaving = [str(ref) for ref, obj in now.objects.items() if "deletionTimestamp" in obj["metadata"]]
    if leaving:
        return f"{', '.join(leaving)} leave"
    return find_deviation(stage, wanted)


def _look_meanwhile(stage: Stage, wanted: Mapping[Ref, Manifest]) -> list[str]:
    """What is untrue while the fault lasts and everybody works."""
    stage.rest()
    stage.history.catch_up()
    return find_wrongs(stage, wanted)


def _recover(stage: Stage, wanted: Mapping[Ref, Manifest]) -> float | None:
    begun = time.monotonic()
    while why_not_whole(stage, wanted):
        if time.monotonic() > begun + stretch(PATIENCE):
            return None
        time.sleep(POLL_SECONDS)
    return time.monotonic() - begun


def _remove_newcomers(stage: Stage) -> None:
    for name in stage.newcomers:
        stage.api.delete(DYNAMO, GRAPH, name)

    def are_gone() -> bool:
        return not any(_is_of(ref, stage.newcomers) for ref in stage.history.now().objects)

    wait_for(are_gone, "graphs that users created meanwhile are gone")


def _is_of(ref: Ref, graphs: list[str]) -> bool:
    return any(ref.name == name or ref.name.startswith(f"{name}-") for name in graphs)
