"""Pods as processes: ready when all probes passed, ended by SIGTERM or killed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.compatibility.node import RunningPod, end_all, running_pods, wait_until_ready
from tests.compatibility.pods import Pod, Probe
from tests.ports import free_port

COMPONENT = Path(__file__).with_name("component.py")


@contextmanager
def running(folder: Path, end: str, *, seconds: float = 0.3, allowed: float = 20) -> Iterator[RunningPod]:
    port = free_port()
    probes = tuple(
        Probe(name=name, path=path, port=port, timeout_seconds=5, allowed_seconds=allowed)
        for name, path in (("startupProbe", "/live"), ("readinessProbe", "/health"))
    )
    pod = Pod(
        name="p-0",
        address="127.0.0.1",
        is_frontend=False,
        labels={},
        command=("python3", str(COMPONENT), "127.0.0.1", str(port), str(seconds), end),
        env={},
        probes=probes,
        ports={"system": port},
        grace_seconds=2,
    )
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    with running_pods([pod], programs, folder, {}) as (one,):
        yield one
    assert one.process.poll() is not None


def test_pod_is_ready_when_all_its_probes_passed_and_ends_by_sigterm(tmp_path: Path) -> None:
    with running(tmp_path, "ends") as one:
        assert list(wait_until_ready([one])) == [one]
        assert one.explain() == ""
        assert end_all([one])["p-0"].code == 0


def test_pod_that_stays_is_killed_after_its_grace(tmp_path: Path) -> None:
    with running(tmp_path, "stays") as one:
        assert list(wait_until_ready([one])) == [one]
        end = end_all([one])["p-0"]
        assert (end.code, end.seconds) == (None, 2)


def test_pod_that_ends_at_its_start_says_its_last_words(tmp_path: Path) -> None:
    with running(tmp_path, "fails") as one:
        assert list(wait_until_ready([one])) == []
        assert one.explain() == "ended with 1: cannot start"


def test_probe_that_fails_too_long_is_named_with_its_answer(tmp_path: Path) -> None:
    with running(tmp_path, "ends", seconds=60, allowed=2) as one:
        assert list(wait_until_ready([one])) == []
        assert one.explain() == "readinessProbe /health: 503"


@pytest.mark.parametrize("end", ["ends", "stays"])
def test_nothing_is_left_running_after_a_fault(tmp_path: Path, end: str) -> None:
    with pytest.raises(ValueError, match="in the block"), running(tmp_path, end):
        raise ValueError("in the block")
