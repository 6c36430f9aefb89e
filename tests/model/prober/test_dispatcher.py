"""A prober's threads and calls against engines on real sockets; intervals are short, waiting is by polling."""

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import pytest

from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, LoadReport, LoadRequest
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.lora_api import open_transport, perform
from tests import waiting
from tests.model.parts import ANY_ENGINE
from tests.model.prober.engines import EngineState, RunningEngine, run_engine, run_engines

LIMITS = Limits(
    verify_interval=0.1,
    load_timeout=30.0,
    list_timeout=0.3,
    unload_timeout=0.5,
    mandate=2.0,
    first_backoff=0.02,
    longest_backoff=0.2,
    list_grace=0.05,
    change_grace=0.3,
)
CALM = replace(LIMITS, verify_interval=1.0, list_timeout=1.0, mandate=60.0)


@contextmanager
def run_dispatcher(limits: Limits = LIMITS) -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(limits, functools.partial(perform, open_transport(), rules=ANY_ENGINE))
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        dispatcher.stop()


def request(
    engines: Iterable[RunningEngine], adapter: str | None = "a", *, model: str = "m", former: tuple[str, ...] = ()
) -> LoadRequest:
    return LoadRequest(
        namespace="default",
        name=model,
        adapter=Adapter(name=adapter, uri=f"s3://b/{adapter}") if adapter else None,
        former=former,
        targets=tuple(engine.target for engine in engines),
    )


def wait_for(dispatcher: Dispatcher, wanted: LoadRequest, is_done: Callable[[LoadReport], bool]) -> LoadReport:
    """Ask as a hook would, until the report is as wanted."""
    report = dispatcher.ask(wanted)

    def is_as_wanted() -> bool:
        nonlocal report
        report = dispatcher.ask(wanted)
        return is_done(report)

    waiting.wait_for(is_as_wanted, lambda: report)
    return report


def wait_until(is_true: Callable[[], bool]) -> None:
    waiting.wait_for(is_true, "the engine is as wanted")


def all_in(phase: AdapterPhase) -> Callable[[LoadReport], bool]:
    return lambda report: all(entry.phase is phase for entry in report.endpoints)


@pytest.mark.parametrize(
    ("shape", "phase"),
    [
        ("map", AdapterPhase.LOADED),
        ("names", AdapterPhase.LOADED),
        ("objects", AdapterPhase.LOADED),
        ("none", AdapterPhase.UNVERIFIED),
    ],
)
def test_adapter_is_loaded_on_every_engine_and_verified(shape: str, phase: AdapterPhase) -> None:
    with run_engines([EngineState(shape=shape) for _ in range(3)]) as engines, run_dispatcher() as dispatcher:
        report = wait_for(dispatcher, request(engines), all_in(phase))
        assert [engine.state.held for engine in engines] == [{"a": "s3://b/a"}] * 3
        assert [entry.attempts for entry in report.endpoints] == [1, 1, 1]


def test_lost_adapter_is_noticed_and_loaded_again() -> None:
    state = EngineState()
    with run_engine(state) as engine, run_dispatcher() as dispatcher:
        wait_for(dispatcher, request([engine]), all_in(AdapterPhase.LOADED))
        state.held.clear()
        wait_until(lambda: state.held == {"a": "s3://b/a"})
        wait_for(dispatcher, request([engine]), all_in(AdapterPhase.LOADED))
        assert dispatcher.metrics.registry.get_sample_value("dynamo_prober_loss_detection_seconds_count") == 1
        assert dispatcher.metrics.registry.get_sample_value("dynamo_prober_adapters_loaded") == 1


def test_restarted_engine_is_loaded_again() -> None:
    with run_dispatcher() as dispatcher:
        with run_engine(EngineState()) as engine:
            wait_for(dispatcher, request([engine]), all_in(AdapterPhase.LOADED))
            port = int(engine.target.address.rpartition(":")[2])
        wait_for(dispatcher, request([engine]), all_in(AdapterPhase.RETRYING))
        with run_engine(state := EngineState(), port=port):
            wait_for(dispatcher, request([engine]), all_in(AdapterPhase.LOADED))
            assert state.held == {"a": "s3://b/a"}


def test_lying_engine_is_not_ready() -> None:
    with run_engine(EngineState(is_lying=True)) as engine, run_dispatcher() as dispatcher:
        report = wait_for(dispatcher, request([engine]), lambda report: report.endpoints[0].attempts >= 3)
        assert not report.endpoints[0].phase.is_ready
        assert "without the adapter's name" in report.endpoints[0].last_error


def test_worker_without_lora_is_unsupported() -> None:
    with run_engine(EngineState(has_lora=False)) as engine, run_dispatcher() as dispatcher:
        wait_for(dispatcher, request([engine]), all_in(AdapterPhase.UNSUPPORTED))
        assert engine.state.asked["POST"] == 0


def test_misbehaving_engines_delay_nobody() -> None:
    bad = [
        EngineState(hangs=frozenset({"GET"})),
        EngineState(hangs=frozenset({"POST"})),
        EngineState(fails=frozenset({"GET"})),
        EngineState(fails=frozenset({"POST"})),
        EngineState(is_lying=True),
    ]
    with run_engines([*bad, *(EngineState() for _ in range(45))]) as engines, run_dispatcher(CALM) as dispatcher:
        asked = [request(engines, f"a{number}", model=f"m{number}") for number in range(20)]
        for wanted in asked:
            dispatcher.ask(wanted)
        for wanted in asked:
            report = wait_for(
                dispatcher, wanted, lambda report: all(e.phase is AdapterPhase.LOADED for e in report.endpoints[5:])
            )
            assert not any(entry.phase.is_ready for entry in report.endpoints[:5])
        healthy = engines[-1].state
        healthy.held.clear()
        wait_until(lambda: len(healthy.held) == 20)


def test_prober_that_is_no_longer_asked_never_reloads_what_the_other_unloaded() -> None:
    state = EngineState()
    with run_engine(state) as engine, run_dispatcher() as first, run_dispatcher() as second:
        wait_for(first, request([engine]), all_in(AdapterPhase.LOADED))
        gone = request([engine], None, former=("a",))
        report = wait_for(
            second,
            gone,
            lambda report: all_in(AdapterPhase.UNLOADED)(report) and report.endpoints[0].age >= LIMITS.mandate,
        )
        assert report.endpoints[0].left == ()
        assert first.keys() == []
        loads = state.asked["POST"]
        lists = state.asked["GET"]
        wait_until(lambda: state.asked["GET"] >= lists + 3)
        assert state.held == {}
        assert state.asked["POST"] == loads


def test_restarted_prober_learns_from_the_engines() -> None:
    with run_engines([EngineState() for _ in range(3)]) as engines:
        with run_dispatcher() as dispatcher:
            wait_for(dispatcher, request(engines), all_in(AdapterPhase.LOADED))
        known = [msgspec.structs.replace(engine.target, recorded="s3://b/a") for engine in engines]
        again = msgspec.structs.replace(request(engines), targets=tuple(known))
        with run_dispatcher() as dispatcher:
            assert dispatcher.ask(again).starting
            report = wait_for(dispatcher, again, lambda report: not report.starting)
            assert all_in(AdapterPhase.LOADED)(report)
        assert [engine.state.asked["POST"] for engine in engines] == [1, 1, 1]


def test_finalize_unloads_and_names_the_engine_that_hangs() -> None:
    good, bad = EngineState(), EngineState()
    with run_engines([good, bad]) as engines, run_dispatcher() as dispatcher:
        wait_for(dispatcher, request(engines), all_in(AdapterPhase.LOADED))
        bad.hangs = frozenset({"DELETE", "GET"})
        gone = request(engines, None, former=("a",))
        report = wait_for(dispatcher, gone, lambda report: report.endpoints[0].phase is AdapterPhase.UNLOADED)
        assert good.held == {}
        assert report.endpoints[1].left == ("a",)
        report = wait_for(dispatcher, gone, lambda report: report.endpoints[1].phase is AdapterPhase.RETRYING)
        assert "no answer within" in report.endpoints[1].last_error


def test_calls_are_counted_by_outcome() -> None:
    with run_engine(EngineState(fails=frozenset({"POST"}))) as engine, run_dispatcher() as dispatcher:
        wait_for(dispatcher, request([engine]), lambda report: report.endpoints[0].attempts >= 2)
        labels = {"action": "load", "outcome": "failed"}
        value = dispatcher.metrics.registry.get_sample_value("dynamo_prober_engine_requests_total", labels)
        assert value is not None
        assert value >= 1


def test_stopping_does_not_wait_for_an_engine_that_hangs() -> None:
    with run_engine(EngineState(hangs=frozenset({"POST"}))) as engine:
        with run_dispatcher() as dispatcher:
            wait_for(dispatcher, request([engine]), all_in(AdapterPhase.LOADING))
        assert not dispatcher.is_alive
