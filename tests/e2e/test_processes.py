"""Processes of containers: started, ended with all that they started, and none is left however the run ends."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kubelet.container import Container, Launch
from tests.e2e.kubelet.guard import Guard, find_marked
from tests.e2e.kubelet.pod_status import Role
from tests.waiting import wait_for

NAME = "E2E_TEST"
SLEEPER = "exec sleep 600"
PARENT = "setsid sleep 600 & echo started; trap 'exit 0' TERM; wait"
"""A shell that starts a process in a session of its own, and ends at SIGTERM without it."""


@pytest.fixture
def guard() -> Iterator[Guard]:
    found = Guard(NAME, uuid.uuid4().hex)
    yield found
    found.close()


def mark(guard: Guard) -> str:
    return f"{NAME}={guard.marked[NAME]}"


def started(guard: Guard, folder: Path, script: str, **more: Any) -> Container:
    policy = more.pop("restarts_after", (True, True))
    spec = {"name": "main", "image": "i", **more}
    container = Container(spec, Role.MAIN, folder / "main.log", policy)
    environment = {"PATH": os.environ["PATH"], **guard.marked}
    container.start(Launch(words=("sh", "-c", script), environment=environment, folder=folder), time.monotonic())
    return container


def polled(container: Container, is_done: Callable[[], Any]) -> None:
    def look() -> Any:
        container.poll(time.monotonic())
        return is_done()

    wait_for(look, "the container is as expected")


def test_guard_ends_children_of_children_too(guard: Guard, tmp_path: Path) -> None:
    container = started(guard, tmp_path, PARENT)
    wait_for(lambda: len(find_marked(mark(guard))) == 2, "both processes run")
    wait_for(lambda: "started" in container.last_words(), "the shell waits")
    left = guard.close()
    assert len(left) == 2
    assert find_marked(mark(guard)) == []
    polled(container, lambda: not container.is_running)
    assert container.state["terminated"]["exitCode"] == 137


def test_nothing_is_left_when_the_one_who_started_it_is_killed(tmp_path: Path) -> None:
    value = uuid.uuid4().hex
    program = (
        "import subprocess, sys, time; from tests.e2e.kubelet.guard import Guard;"
        f"guard = Guard({NAME!r}, {value!r});"
        "subprocess.Popen(['sleep', '600'], env=guard.marked | {'PATH': '/usr/bin:/bin'}, start_new_session=True);"
        "print('started', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        assert len(find_marked(f"{NAME}={value}")) == 1
        process.kill()
    wait_for(lambda: not find_marked(f"{NAME}={value}"), "the guard has ended what was left")


def test_container_that_ends_by_sigterm_takes_its_group_along(guard: Guard, tmp_path: Path) -> None:
    container = started(guard, tmp_path, "sleep 600 & echo started; trap 'exit 3' TERM; wait")
    wait_for(lambda: "started" in container.last_words(), "it runs")
    container.stop(time.monotonic(), 30)
    polled(container, lambda: not container.is_running)
    assert container.state["terminated"]["exitCode"] == 3
    wait_for(lambda: not find_marked(mark(guard)), "its child has ended too")


def test_container_that_stays_is_killed_after_its_grace(guard: Guard, tmp_path: Path) -> None:
    container = started(guard, tmp_path, "trap '' TERM; echo started; while true; do sleep 0.05; done")
    wait_for(lambda: "started" in container.last_words(), "it runs")
    now = time.monotonic()
    container.stop(now, 60)
    container.poll(now + 59)
    assert container.is_running
    container.poll(now + 60)
    assert container.state["terminated"]["exitCode"] == 137


def test_crash_is_told_and_started_again_at_once_and_then_after_a_while(guard: Guard, tmp_path: Path) -> None:
    container = started(guard, tmp_path, "echo no model; exit 5")
    polled(container, lambda: not container.is_running)
    assert container.state["terminated"]["message"] == "no model"
    assert container.launch is not None
    now = container.retry_at
    assert container.wait_for_restart(now)
    container.start(container.launch, now)
    assert (container.restarts, container.last_state["terminated"]["exitCode"]) == (1, 5)
    polled(container, lambda: not container.is_running)
    assert not container.wait_for_restart(container.retry_at - 0.5)
    assert container.state["waiting"]["reason"] == "CrashLoopBackOff"
    assert container.wait_for_restart(container.retry_at)


@pytest.mark.parametrize(("code", "is_over"), [(0, True), (1, False)])
def test_container_is_over_when_its_policy_says_so(guard: Guard, tmp_path: Path, code: int, is_over: bool) -> None:
    container = started(guard, tmp_path, f"exit {code}", restarts_after=(False, True))
    polled(container, lambda: not container.is_running)
    assert container.is_over is is_over


def test_command_that_is_not_there_is_told(guard: Guard, tmp_path: Path) -> None:
    container = started(guard, tmp_path, SLEEPER)
    other = Container({"name": "other", "image": "i"}, Role.MAIN, tmp_path / "other.log", (True, True))
    other.start(Launch(words=("no-such-program",), environment={}, folder=tmp_path), time.monotonic())
    assert other.state["terminated"]["exitCode"] == 128
    assert "no-such-program" in other.state["terminated"]["message"]
    assert container.seen().ready, "a container without probes is ready as soon as it runs"
