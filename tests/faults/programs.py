"""Faults of programs around the hooks: Metacontroller, API server, watches, optional kinds, nodes."""

from hooks.tools.offline.simulator.resources import OPTIONAL
from tests.faults.fault import Act, Fault
from tests.faults.stage import Stage

OUTAGE = 60.0
STEPS_OF_A_CHANGE = 6
GROVE = frozenset({"grove"})


def _stop_metacontroller(stage: Stage) -> None:
    for name in stage.controller_names:
        stage.cluster.stop_controller(name)


def _start_metacontroller(stage: Stage) -> None:
    _start_with(stage, stage.road.installed)


def _start_with(stage: Stage, installed: frozenset[str]) -> None:
    for controller in stage.controllers(installed):
        stage.cluster.start_controller(controller)


def _restart(stage: Stage) -> None:
    stage.scale_up()
    for _ in range(STEPS_OF_A_CHANGE):
        stage.work()
    stage.cluster.restart_metacontroller()


def _pause_api_server(stage: Stage) -> None:
    """In the middle of a change; nobody can read or write, and watches end."""
    stage.scale_up()
    for _ in range(STEPS_OF_A_CHANGE):
        stage.work()
    stage.pass_time(stage.clock.seconds + OUTAGE)
    stage.cluster.break_watches()


def _lose_news(stage: Stage) -> None:
    stage.scale_up()
    for _ in range(STEPS_OF_A_CHANGE):
        stage.work()
        stage.cluster.break_watches()


def _declare(installed: frozenset[str] | None) -> Act:
    """Controllers that start over because a kind came or went; None for the kinds of the road."""

    def act(stage: Stage) -> None:
        for name in installed or ():
            for resource in OPTIONAL[name]:
                stage.cluster.catalogue.add(resource)
        _stop_metacontroller(stage)
        _start_with(stage, stage.road.installed if installed is None else installed)

    return act


FAULTS = (
    Fault(
        name="PodKill: Metacontroller",
        what="Metacontroller is gone for a minute.",
        begin=_stop_metacontroller,
        end=_start_metacontroller,
        seconds=OUTAGE,
        user_acts=True,
        holds="nothing is changed before it is back; graphs at rest are not written",
    ),
    Fault(
        name="LeaderElectionDisrupt: Metacontroller",
        what="Another Metacontroller takes over in the middle of a change.",
        begin=_restart,
        holds="the new one continues from what is stored",
    ),
    Fault(
        name="APIServerPause",
        what="The API server answers nobody for a minute, in the middle of a change.",
        begin=_pause_api_server,
        holds="work continues where it stopped",
    ),
    Fault(
        name="WatchDisconnect",
        what="Watches of Metacontroller end again and again during a change; only last states arrive.",
        begin=_lose_news,
        holds="the last state is enough",
    ),
    Fault(
        name="PodKill: pods of the graph",
        what="All pods of the graph are taken away at once.",
        begin=Stage.take_pods,
        holds="the graph is not Ready until all are back",
    ),
    Fault(
        name="OptionalKind: comes and goes",
        what="Grove's CRDs are installed and removed again while a graph runs without Grove.",
        begin=_declare(GROVE),
        end=_declare(None),
        seconds=OUTAGE,
        user_acts=True,
        holds="a graph stays where it runs",
        roads=("components",),
    ),
    Fault(
        name="OptionalKind: goes and comes back",
        what="The controllers are started without the optional kinds that the graph uses, for a minute.",
        begin=_declare(frozenset()),
        end=_declare(None),
        seconds=OUTAGE,
        user_acts=True,
        holds="nothing is deleted; the status says what is missing",
        roads=("lws", "grove"),
    ),
)
