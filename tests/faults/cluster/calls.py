"""Faults between Metacontroller and the hooks, with real processes."""

import os
import signal
from pathlib import Path

from tests.cluster.api_client import wait_for
from tests.faults.cluster.fault import ClusterFault
from tests.faults.cluster.stage import Stage, port_of

OUTAGE, SHORT = 20.0, 2.0
TOO_LATE = 11.0
"""Seconds; the controllers give the hooks 10."""


def _kill_hooks(stage: Stage) -> None:
    stage.hooks.kill()
    stage.scale_up()


def _start_hooks(stage: Stage) -> None:
    stage.hooks.start()


def _kill_workers(stage: Stage) -> None:
    """They are held until they have calls, so that each dies with what it was asked."""
    workers = [int(pid) for pid in Path(f"/proc/{stage.hooks.pid}/task/{stage.hooks.pid}/children").read_text().split()]
    assert workers
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    stage.scale_up()
    wait_for(lambda: stage.gate.calls_in_flight, "a call is on its way")
    for pid in workers:
        os.kill(pid, signal.SIGKILL)


def _break_half(stage: Stage) -> None:
    stage.gate.ports = (port_of(stage.broken), port_of(stage.hooks))
    stage.gate.cut()
    stage.scale_up()
    stage.create_graphs(2)


def _take_broken_away(stage: Stage) -> None:
    stage.gate.ports = (port_of(stage.hooks),)
    stage.gate.cut()


def _delay(stage: Stage) -> None:
    stage.gate.delay = TOO_LATE
    stage.scale_up()


def _hurry(stage: Stage) -> None:
    stage.gate.delay = 0.0


FAULTS = (
    ClusterFault(
        name="PodKill: all replicas of the hooks",
        what="The hooks' processes are killed and started again; a user scales up meanwhile.",
        begin=_kill_hooks,
        end=_start_hooks,
        seconds=OUTAGE,
        short=SHORT,
        holds="nothing is changed before hooks answer again",
    ),
    ClusterFault(
        name="PodKill: workers in the middle of requests",
        what="The hooks' worker processes are killed while calls wait in them.",
        begin=_kill_workers,
        holds="others take their place, and the calls are repeated",
    ),
    ClusterFault(
        name="HooksHalfBroken",
        what="Every second connection leads to a replica that answers 500; a user scales up and creates two graphs.",
        begin=_break_half,
        end=_take_broken_away,
        seconds=OUTAGE,
        short=SHORT,
        holds="the other replica does the work",
    ),
    ClusterFault(
        name="HooksSlow",
        what="Each answer comes a second after Metacontroller's timeout; a user scales up meanwhile.",
        begin=_delay,
        end=_hurry,
        seconds=3 * OUTAGE,
        short=TOO_LATE,
        is_long=True,
        holds="an answer that comes too late changes nothing",
    ),
)
