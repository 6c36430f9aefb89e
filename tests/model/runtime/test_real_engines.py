"""The prober against the LoRA routes of the real Dynamo runtime, where `ai-dynamo-runtime` is: in CI always."""

import functools
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from hooks.ground import contract
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, EngineTarget, LoadRequest
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.lora_api import open_transport, perform
from tests.model.parts import ANY_ENGINE
from tests.model.prober.test_dispatcher import LIMITS, wait_for

WORKER = Path(__file__).with_name("lora_worker.py")
REAL: Limits = replace(LIMITS, verify_interval=0.5, list_timeout=2.0, unload_timeout=5.0)
NAME = "org/my-lora"


def own_hosts(count: int) -> list[str]:
    """Loopback addresses that no other test process uses, as the real port is fixed."""
    high, low = divmod(os.getpid() % 65_000, 256)
    return [f"127.{high + 1}.{low}.{number + 1}" for number in range(count)]


@contextmanager
def run_real_engine(mode: str, host: str) -> Iterator[EngineTarget]:
    """A worker of the real runtime, with its system server at port 9090; killed at the end, as a crash would."""
    environment = {
        **os.environ,
        "DYN_LORA_ENABLED": "true",
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_HOST": host,
        "DYN_SYSTEM_PORT": str(contract.SYSTEM_PORT),
        "DYN_TCP_RPC_HOST": "127.0.0.1",
        "DYN_EVENT_PLANE": "zmq",
    }
    process = subprocess.Popen(
        [sys.executable, str(WORKER), mode], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield EngineTarget(address=f"http://{host}:{contract.SYSTEM_PORT}", pod=mode)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.fixture(autouse=True)
def _real_engine() -> None:
    """Skip where the real engine is not installed, which CI may not."""
    if importlib.util.find_spec("dynamo") is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("needs the real engine's server: pip install ai-dynamo-runtime")


@pytest.fixture
def dispatcher() -> Iterator[Dispatcher]:
    dispatcher = Dispatcher(REAL, functools.partial(perform, open_transport(), rules=ANY_ENGINE))
    dispatcher.start()
    yield dispatcher
    dispatcher.stop()


def test_real_engines_are_loaded_distinguished_reloaded_and_unloaded(dispatcher: Dispatcher) -> None:
    first, second, third = own_hosts(3)
    with run_real_engine("raising", second) as raising, run_real_engine("plain", third) as plain:
        with run_real_engine("good", first) as good:
            wanted = LoadRequest(
                namespace="default",
                name="m",
                adapter=Adapter(name=NAME, uri="s3://bucket/a"),
                targets=(good, raising, plain),
            )
            report = wait_for(
                dispatcher,
                wanted,
                lambda report: (
                    report.endpoints[0].phase is AdapterPhase.LOADED
                    and report.endpoints[1].attempts >= 2
                    and report.endpoints[1].phase is AdapterPhase.RETRYING
                    and report.endpoints[2].phase is AdapterPhase.UNSUPPORTED
                ),
            )
            assert "not loaded" in report.endpoints[1].last_error
            assert "LoRA management is not available" in report.endpoints[2].last_error
        wait_for(dispatcher, wanted, lambda report: not report.endpoints[0].phase.is_ready)
        with run_real_engine("good", first):
            wait_for(dispatcher, wanted, lambda report: report.endpoints[0].phase is AdapterPhase.LOADED)
            gone = msgspec.structs.replace(wanted, adapter=None, former=(NAME,))
            wait_for(dispatcher, gone, lambda report: all(e.phase is AdapterPhase.UNLOADED for e in report.endpoints))
