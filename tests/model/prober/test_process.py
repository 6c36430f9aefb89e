"""`dynamo-hooks prober` as a process, with engines on loopback."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from hooks.ground.errors import ProberUnavailable
from hooks.model.prober.messages import Adapter, AdapterPhase, LoadReport, LoadRequest
from hooks.server.clients.prober_client import ProberClient
from hooks.server.commands.prober import prober
from hooks.server.commands.settings_options import is_loopback
from tests import waiting
from tests.model.prober.engines import EngineState, run_engines
from tests.ports import free_port
from tests.waiting import PATIENCE

TOKEN = "between-us"


@contextmanager
def run_prober() -> Iterator[tuple[ProberClient, "subprocess.Popen[bytes]"]]:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "hooks",
        "prober",
        "--bind",
        f"127.0.0.1:{port}",
        "--set",
        "lora_verify_interval=0.2",
        "--set",
        "engine_addresses=any",
    ]
    environment = {**os.environ, "DYNAMO_PROBER_TOKEN": f"{TOKEN}\n"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        yield ProberClient(f"http://127.0.0.1:{port}", TOKEN), process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(client: ProberClient, wanted: LoadRequest, is_done: Callable[[LoadReport], bool]) -> LoadReport:
    def ask() -> LoadReport | None:
        with suppress(ProberUnavailable):
            report = client.ask(wanted)
            return report if is_done(report) else None
        return None

    return waiting.wait_for(ask, "the prober reports what was waited for")


def child_of(process: "subprocess.Popen[bytes]") -> int:
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc to find the serving process")
def test_killed_prober_loses_nothing_and_loads_nothing_twice() -> None:
    with run_engines([EngineState() for _ in range(3)]) as engines, run_prober() as (client, process):
        wanted = LoadRequest(
            namespace="default",
            name="m",
            adapter=Adapter(name="org/a", uri="s3://b/a"),
            targets=tuple(engine.target for engine in engines),
        )
        wait_for(client, wanted, lambda report: all(e.phase is AdapterPhase.LOADED for e in report.endpoints))
        os.kill(child_of(process), signal.SIGKILL)
        known = [msgspec.structs.replace(engine.target, recorded="s3://b/a") for engine in engines]
        again = msgspec.structs.replace(wanted, targets=tuple(known))
        report = wait_for(client, again, lambda report: not report.starting)
        assert all(entry.phase is AdapterPhase.LOADED for entry in report.endpoints)
        assert [engine.state.asked["POST"] for engine in engines] == [1, 1, 1]
        gone = msgspec.structs.replace(wanted, adapter=None, former=("org/a",))
        wait_for(client, gone, lambda report: all(e.phase is AdapterPhase.UNLOADED for e in report.endpoints))
        assert [engine.state.held for engine in engines] == [{}, {}, {}]
        process.terminate()
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("then", ["deleted", "source changed"])
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux's /proc to find the serving process")
def test_load_of_a_killed_prober_that_arrives_later_is_undone(then: str) -> None:
    """The engine goes on with the load; that it was under way is all that the status can tell the next prober."""
    with run_engines([EngineState(load_seconds=60)]) as (engine,), run_prober() as (client, process):
        wanted = LoadRequest(
            namespace="default", name="m", adapter=Adapter(name="a", uri="s3://b/a"), targets=(engine.target,)
        )
        wait_for(client, wanted, lambda _: engine.state.asked["POST"] == 1)
        os.kill(child_of(process), signal.SIGKILL)
        targets = (msgspec.structs.replace(engine.target, loading=("s3://b/a",)),)
        if then == "deleted":
            next_one = msgspec.structs.replace(wanted, adapter=None, former=("a",), targets=targets)
        else:
            adapter = Adapter(name="a", uri="s3://b/new")
            next_one = msgspec.structs.replace(wanted, adapter=adapter, generation=2, targets=targets)
        report = wait_for(client, next_one, lambda report: not report.starting)
        assert not report.endpoints[0].phase.is_final
        engine.state.load_seconds = 0.0
        engine.state.released.set()
        wait_for(client, next_one, lambda report: report.endpoints[0].phase.is_final and not report.endpoints[0].left)
        assert engine.state.held == ({} if then == "deleted" else {"a": "s3://b/new"})


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("127.0.0.1:9191", True),
        ("127.8.0.1:1", True),
        ("[::1]:9191", True),
        ("localhost:9191", True),
        ("0.0.0.0:9191", False),
        ("[::]:9191", False),
        ("10.0.0.1:9191", False),
        ("prober:9191", False),
    ],
)
def test_only_loopback_addresses_count_as_such(bind: str, *, expected: bool) -> None:
    assert is_loopback(bind) is expected


def test_other_addresses_than_loopback_need_a_flag() -> None:
    result = CliRunner().invoke(prober, ["--bind", "0.0.0.0:9191"])
    assert result.exit_code == 2
    assert "0.0.0.0:9191 is not a loopback address" in result.output


def test_help_has_examples() -> None:
    result = CliRunner().invoke(prober, ["--help"])
    assert result.exit_code == 0
    assert "dynamo-hooks prober --bind 127.0.0.1:9292 --set lora_concurrency=20" in result.output
