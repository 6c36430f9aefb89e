"""The benches of recorded calls measure real calls: all of them, in order, with what was read."""

import json
from typing import Any

import pytest

from bench.page import write_replayed, write_resync
from bench.recorded import Recorded, record_ready, record_resync
from bench.replayed import replay
from bench.resync import find_period
from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from tests import make


@pytest.fixture(scope="module")
def calls() -> list[Recorded]:
    return record_ready(1)


def test_calls_are_those_until_a_graph_is_ready_with_what_was_read(calls: list[Recorded]) -> None:
    assert {call.path for call in calls} == {
        f"/{hook}/{kind}" for hook in ("graph", "component") for kind in ("sync", "customize")
    }
    assert [call.now for call in calls] == sorted(call.now for call in calls)
    assert any(call.found for call in calls)
    last = [json.loads(call.body) for call in calls if call.path == "/graph/sync"][-1]
    assert all(one["metadata"]["managedFields"] for one in last["children"][contract.COMPONENT.key].values())


def test_replay_says_where_the_time_of_all_calls_went(calls: list[Recorded]) -> None:
    spent = replay(calls, calls)
    assert set(spent) == {"read the request", "decide", "write the answer", "HTTP and log"}
    assert all(value > 0 for value in spent.values())


def test_replay_refuses_calls_that_are_not_answered(calls: list[Recorded]) -> None:
    broken = Recorded(path="/graph/sync", body=b"{", now=make.NOW, found={})
    with pytest.raises(RuntimeError, match="400"):
        replay([broken], calls)


def test_calls_of_a_resync_are_those_of_objects_at_rest() -> None:
    found = record_resync()
    assert sorted(path for path, _ in found) == ["/component/sync"] * 4 + ["/graph/sync"]
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    for path, body in found:
        status = json.loads(body)["parent"]["status"]
        assert json.loads(client.post(path, data=body).data)["status"].items() <= status.items()


def test_period_is_the_shortest_that_takes_no_more_than_its_share() -> None:
    assert [find_period(seconds) for seconds in (0.0, 1.2, 1.21, 4.0)] == [10, 60, 70, 200]


def test_tables_have_the_figures() -> None:
    replayed: dict[str, Any] = {
        "graphs": 10,
        "calls": {"/graph/sync": 200},
        "kilobytes": 99.6,
        "reads": 30,
        "time": "2026-01-02T",
        "milliseconds": {"decide": 30.0},
        "whole": 40.0,
        "whole_without_json_cache": 50.0,
    }
    text = write_replayed(replayed)
    assert "10 graphs of four services, 20 calls and 100 KB for each, of which 3 read on demand; 2026-01-02" in text
    assert (
        "| decide | 30.0 | 75% |\n| **whole** | 40.0 |  |\n| whole, if each body were parsed anew | 50.0 | 125% |\n"
        in text
    )
    resync: dict[str, Any] = {
        "graphs": 1000,
        "calls": 5000,
        "kilobytes": 99.6,
        "workers": 2,
        "time": "2026-01-02T",
        "remembering": {"seconds": [13.0, 3.0], "mib": 100.4},
        "computing": {"seconds": [13.0, 14.0], "mib": 90.0},
    }
    assert (
        "| remember answers | 13.0 | 3.0 | 150 s | 100 |\n| compute each | 13.0 | 14.0 | 700 s | 90 |\n"
        in write_resync(resync)
    )
