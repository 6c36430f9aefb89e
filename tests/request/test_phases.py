"""The table: every situation has one position, and the upstream path leads through it."""

from itertools import product

import pytest

from hooks.request.spec.phases import (
    TABLE,
    GeneratedGraphState,
    JobState,
    OutputState,
    Position,
    RequestState,
    Situation,
    SpecState,
    find_position,
)

_STATES = (RequestState, SpecState, JobState, OutputState, GeneratedGraphState)
ALL = [
    Situation(before=before, spec=spec, job=job, output=output, graph=graph, was_degraded=degraded)
    for before, spec, job, output, graph, degraded in product(*_STATES, (False, True))
]


def situation(before: str = "", job: str = "absent", output: str = "absent", graph: str = "absent") -> Situation:
    return Situation(
        before=RequestState(before),
        spec=SpecState.ACCEPTED,
        job=JobState(job),
        output=OutputState(output),
        graph=GeneratedGraphState(graph),
    )


def test_every_situation_has_a_position() -> None:
    assert {find_position(found) for found in ALL} == set(Position)


def test_every_line_of_the_table_is_needed() -> None:
    first = {next(index for index, row in enumerate(TABLE) if row.matches(found)) for found in ALL}
    assert first == set(range(len(TABLE)))


@pytest.mark.parametrize("end", [RequestState.FAILED, RequestState.DEPLOYMENT_DELETED])
def test_ends_are_final(end: RequestState) -> None:
    assert {find_position(found).state for found in ALL if found.before is end} == {end}


def test_position_of_what_is_seen_does_not_depend_on_the_spec() -> None:
    for found in ALL:
        if found.job is not JobState.ABSENT:
            other = Situation(
                before=found.before,
                spec=SpecState.REFUSED,
                job=found.job,
                output=found.output,
                graph=found.graph,
                was_degraded=found.was_degraded,
            )
            assert find_position(other) is find_position(found)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (situation(), "Pending"),
        (situation("Pending", "running"), "Profiling"),
        (situation("Profiling", "running"), "Profiling"),
        (situation("Profiling", "complete", "absent"), "Profiling"),
        (situation("Profiling", "complete", "usable", "unwanted"), "Ready"),
        (situation("Profiling", "complete", "usable"), "Deploying"),
        (situation("Deploying", "complete", "usable", "pending"), "Deploying"),
        (situation("Deploying", "complete", "usable", "ready"), "Ready"),
        (situation("Ready", "complete", "usable", "pending"), "Deploying"),
        (situation("Ready", "complete", "usable", "gone"), "DeploymentDeleted"),
        (situation("Deploying", "complete", "usable", "gone"), "DeploymentDeleted"),
        (situation("Profiling", "failed"), "Failed"),
        (situation("Profiling", "complete", "broken"), "Failed"),
        (situation("Profiling"), "Failed"),
        (situation("", "complete", "usable", "ready"), "Ready"),
        (situation("", "failed"), "Failed"),
    ],
    ids=lambda value: "" if isinstance(value, Situation) else value,
)
def test_upstreams_path(found: Situation, state: str) -> None:
    assert find_position(found).state.value == state
