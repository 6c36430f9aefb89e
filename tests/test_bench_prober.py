"""The prober's bench waits for adapters that really are on the engines, and reads a process that really works."""

import os
from contextlib import closing

import pytest
import requests

from bench.prober import Finding, build_requests, measure_loading, read_processor_seconds, run_slow_engines
from hooks.model.prober.messages import EngineTarget
from hooks.server.prober.lora_api import load_adapter, open_transport
from tests.waiting import PATIENCE


def test_loading_is_measured_until_every_engine_lists_the_adapter() -> None:
    finding = measure_loading(3, 0.05)
    assert finding.value > 0
    assert finding.target == pytest.approx(0.055)


def test_engines_answer_each_at_its_own_address() -> None:
    with run_slow_engines(2, 0.0) as targets, closing(open_transport()) as transport:
        assert len({target.address for target in targets}) == 2
        assert load_adapter(transport, targets[0].address, "a", "s3://b/a", timeout=5).message == ""
        counts = [requests.get(f"{target.address}/v1/loras", timeout=PATIENCE).json()["count"] for target in targets]
    assert counts == [1, 0]


def test_every_adapter_is_wanted_on_every_engine() -> None:
    targets = [EngineTarget(address=f"http://127.64.0.{number}:9090", pod=f"w{number}") for number in (1, 2)]
    wanted = build_requests(targets, 3)
    assert len({request.key for request in wanted}) == 3
    assert [len(request.targets) for request in wanted] == [2, 2, 2]


def test_processor_time_of_a_busy_process_grows() -> None:
    before = read_processor_seconds(os.getpid())
    while read_processor_seconds(os.getpid()) == before:
        sum(range(10_000))
    assert read_processor_seconds(os.getpid()) > before


@pytest.mark.parametrize(("value", "word"), [(1.0, "reached"), (2.5, "missed")])
def test_finding_says_whether_the_target_is_reached(value: float, word: str) -> None:
    line = Finding(name="loading", value=value, target=2.0, unit="s").line
    assert line.split() == [word, "loading:", f"{value:.2f}", "s,", "target", "at", "most", "2", "s"]
