"""Faults between Metacontroller and the hooks: calls that are lost, late, broken, or answered by two versions."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count

from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer, SyncFailed
from tests.faults.fault import Act, Fault
from tests.faults.stage import Stage
from tests.sequences.calls import Loss, forget

OUTAGE = 60.0
TIMEOUT = 10.0
"""Metacontroller's own default."""


def _between(decide: Callable[[Stage, str], HookAnswer | Loss | None]) -> Act:
    def begin(stage: Stage) -> None:
        stage.server.between = lambda path: decide(stage, path)

    return begin


def _refuse(_stage: Stage, _path: str) -> Loss:
    return Loss.REFUSED


def _cut(_stage: Stage, path: str) -> HookAnswer:
    raise SyncFailed(f"http error: {path}: connection timed out")


def _break(_stage: Stage, _path: str) -> HookAnswer:
    return 500, {}, b"internal error"


def _keep_waiting(stage: Stage, _path: str) -> Loss:
    stage.clock.advance_to(stage.clock.seconds + TIMEOUT)
    return Loss.TIMED_OUT


def _mend(stage: Stage) -> None:
    stage.server.between = lambda _path: None
    forget()


def _break_every_second(stage: Stage) -> None:
    numbers = count()
    stage.server.between = lambda _path: (500, {}, b"internal error") if next(numbers) % 2 else None


def _lose_answers(stage: Stage) -> None:
    forget()
    stage.server.losses += [Loss.TIMED_OUT] * 3


def _lose_one(stage: Stage) -> None:
    forget()
    stage.server.losses += [Loss.REFUSED]


def _answer_by_two_versions(stage: Stage) -> None:
    numbers = count()

    def choose(_path: str) -> None:
        stage.server.version = next(numbers) % 2
        forget()

    stage.server.between = choose


def _settle_on_one_version(stage: Stage) -> None:
    _mend(stage)
    stage.server.version = 0


def _skew(hours: int) -> Act:
    def begin(stage: Stage) -> None:
        stage.server.skew = timedelta(hours=hours)

    return begin


FAULTS = (
    Fault(
        name="PodKill: one replica of the hooks",
        what="One replica of the hooks is killed; a call to it is refused, the next one reaches another replica.",
        begin=_lose_one,
        user_acts=True,
        holds="the call is repeated",
    ),
    Fault(
        name="PodKill: in the middle of requests",
        what="Hooks are killed after they computed three answers and before they sent them.",
        begin=_lose_answers,
        user_acts=True,
        holds="the same request gets the same answer again",
    ),
    Fault(
        name="PodKill: all replicas of the hooks",
        what="No hooks answer for a minute.",
        begin=_between(_refuse),
        end=_mend,
        seconds=OUTAGE,
        user_acts=True,
        holds="nothing is changed before hooks answer again",
    ),
    Fault(
        name="NetworkPartition: Metacontroller and hooks",
        what="Metacontroller cannot connect to the hooks for a minute.",
        begin=_between(_cut),
        end=_mend,
        seconds=OUTAGE,
        user_acts=True,
        holds="nothing is changed before calls arrive again",
    ),
    Fault(
        name="HooksSlow",
        what="Each call takes longer than Metacontroller's timeout, for five minutes.",
        begin=_between(_keep_waiting),
        end=_mend,
        seconds=5 * OUTAGE,
        user_acts=True,
        holds="an answer that comes too late changes nothing",
    ),
    Fault(
        name="HooksBroken",
        what="All hooks answer 500 for a minute.",
        begin=_between(_break),
        end=_mend,
        seconds=OUTAGE,
        user_acts=True,
        holds="an error changes nothing",
    ),
    Fault(
        name="HooksHalfBroken",
        what="Every second call is answered by a broken replica (500), for a minute.",
        begin=_break_every_second,
        end=_mend,
        seconds=OUTAGE,
        user_acts=True,
        holds="the other replica does the work",
    ),
    Fault(
        name="TwoVersions",
        what="Two versions of the hooks with different pod templates answer in turn for a minute.",
        begin=_answer_by_two_versions,
        end=_settle_on_one_version,
        seconds=OUTAGE,
        user_acts=True,
        holds="new defaults wait, so neither version undoes what the other did to pods that run",
        roads=("components", "grove"),
    ),
    Fault(
        name="ClockJump: ahead",
        what="The hooks' clock is six hours ahead for a minute.",
        begin=_skew(6),
        end=_skew(0),
        seconds=OUTAGE,
        user_acts=True,
        holds="no decision about pods depends on the time",
    ),
    Fault(
        name="ClockJump: back",
        what="The hooks' clock is six hours behind for a minute.",
        begin=_skew(-6),
        end=_skew(0),
        seconds=OUTAGE,
        user_acts=True,
        holds="no decision about pods depends on the time",
    ),
)
