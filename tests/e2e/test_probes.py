"""When probes are asked, and what follows from their answers."""

from typing import Any

import pytest

from tests.e2e.kubelet.container import find_backoff
from tests.e2e.kubelet.probes import (
    LIVENESS,
    READINESS,
    STARTUP,
    Probe,
    find_due,
    find_exhausted,
    has_started,
    is_ready,
    port_of,
    probes_of,
)

FAULT = "status 503"


def probe(name: str, **spec: Any) -> Probe:
    return Probe(name, spec)


def record(found: Probe, *faults: str) -> Probe:
    for fault in faults:
        found.record(fault)
    return found


def test_only_liveness_passes_before_anything_is_asked() -> None:
    assert [probe(name).passes for name in (STARTUP, LIVENESS, READINESS)] == [False, True, False]


def test_probe_is_asked_after_its_delay_and_then_once_a_period() -> None:
    found = probe(READINESS, initialDelaySeconds=5, periodSeconds=10)
    assert not found.is_due(4.9)
    assert found.is_due(5)
    found.ask_at(5)
    assert not found.is_due(14.9)
    assert found.is_due(15)


def test_startup_probe_that_passed_is_not_asked_again() -> None:
    found = record(probe(STARTUP, periodSeconds=1), "")
    found.ask_at(0)
    assert found.is_done
    assert not found.is_due(100)


@pytest.mark.parametrize(
    ("faults", "passes"),
    [
        ([""], False),
        (["", ""], True),
        (["", FAULT, ""], False),
        (["", "", FAULT], True),
        (["", "", FAULT, FAULT], False),
        (["", "", FAULT, "", FAULT], True),
    ],
)
def test_verdict_changes_after_so_many_answers_in_a_row(faults: list[str], passes: bool) -> None:
    found = record(probe(READINESS, successThreshold=2, failureThreshold=2), *faults)
    assert found.passes is passes


def test_startup_probe_holds_up_the_others() -> None:
    startup, liveness, readiness = probes = [probe(name) for name in (STARTUP, LIVENESS, READINESS)]
    assert find_due(probes, 0) == [startup]
    assert not has_started(probes)
    record(readiness, "")
    assert not is_ready(probes), "readiness counts only once the startup probe has passed"
    record(startup, "")
    startup.ask_at(0)
    assert find_due(probes, 0) == [liveness, readiness]
    assert is_ready(probes)


@pytest.mark.parametrize(("name", "restarts"), [(STARTUP, True), (LIVENESS, True), (READINESS, False)])
def test_container_is_restarted_for_what_failed_often_enough(name: str, restarts: bool) -> None:
    found = probe(name, failureThreshold=2)
    assert find_exhausted([record(found, FAULT)]) is None
    assert (find_exhausted([record(found, FAULT)]) is found) is restarts
    assert found.said == FAULT


def test_container_without_probes_is_ready_at_once() -> None:
    assert probes_of({"name": "main"}) == []
    assert is_ready([])


def test_defaults_are_those_of_kubernetes() -> None:
    found = probe(LIVENESS)
    assert found.timeout == 1
    found.ask_at(0)
    assert (found.is_due(9.9), found.is_due(10)) == (False, True)
    assert not record(found, FAULT, FAULT).is_exhausted
    assert record(found, FAULT).is_exhausted


def test_port_is_a_number_or_a_name_of_the_container() -> None:
    container = {"ports": [{"name": "http", "containerPort": 8000}]}
    assert [port_of({"port": port}, container) for port in (80, "81", "http")] == [80, 81, 8000]
    with pytest.raises(ValueError, match="the container has no port system"):
        port_of({"port": "system"}, container)


def test_backoff_grows_to_five_minutes() -> None:
    assert [find_backoff(crashes) for crashes in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]
