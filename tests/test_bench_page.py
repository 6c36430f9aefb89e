"""The tables of docs/benchmarks.md are made of what the benches wrote."""

from typing import Any

import pytest

from bench.page import (
    PAGE,
    judge_growth,
    replace_part,
    write_calls,
    write_clusters,
    write_events,
    write_rule_costs,
    write_targets,
    write_writes,
)

GROWTH = "a graph's processor seconds of {}, times those of one among 100"


def times(p50: float, p99: float) -> dict[str, float]:
    return {"p50_ms": p50, "p99_ms": p99}


def phase(seconds: float, calls: int, **spent: float) -> dict[str, Any]:
    written = {"update dynamographdeployments/status": calls // 8}
    return {
        "seconds": seconds,
        "wall": 9.0,
        "processor_seconds": spent,
        "calls": {"graph": calls},
        "api_calls": written,
        "child_changes": calls // 2,
    }


def test_calls_stand_beside_the_echo() -> None:
    result = {
        "time": "2026-01-02T03:04:05+00:00",
        "machine": {"processors": 2, "python": "3.11.7"},
        "options": {"workers": 2, "connections": 4, "rate": 100.0},
        "cases": [
            {
                "name": "component",
                "body_bytes": 41_700,
                "ratio": 0.4,
                "hook": {"requests_per_second": 400, **times(30, 60)},
                "echo": {"requests_per_second": 1000, **times(20, 40)},
                "json_echo": {"requests_per_second": 500, **times(20, 40)},
                "ratio_to_json_echo": 0.8,
                "at_rate": {"hook": times(2.5, 9), "echo": times(1, 4)},
            }
        ],
        "worker_memory_mib": [{"rss": 70.4}, {"rss": 71.6}],
        "cold_start_ms": {"first_sync": 999.6},
    }
    text = write_calls(result)
    assert text.startswith(
        "2 processors shared with the load generator, Python 3.11.7, 2 workers, 4 connections; "
        "times at 100 requests/s; 2026-01-02."
    )
    assert "| component | 42 | 400 | 1000 | 0.40 | 500 | 0.80 | 2.5 | 1.0 | 9.0 | 4.0 |\n" in text
    assert text.endswith("\nLargest worker: 72 MiB. From start to the first sync: 1000 ms.\n")


def test_graphs_stand_beside_the_floor_in_the_order_of_their_number() -> None:
    results = [
        {
            "graphs": number,
            "namespaces": 2,
            "foreign_pods": 1000,
            "services": 4,
            "hooks": {
                "first_writes": {"dynamographdeployments": 3 * number, "dynamocomponentdeployments": 4 * number},
                "children": phase(4, 24 * number, hooks=2, metacontroller=3),
                "ready": phase(8, 40 * number, hooks=4, metacontroller=6),
                "rest": phase(0, 0, metacontroller=0.1),
                "foreign": phase(0, 0, metacontroller=0.3),
                "beside": phase(0, 0, metacontroller=0.1),
                "memory": {"hooks": 100 + 0.5 * number},
            },
            "before": {
                "children": phase(4, number, metacontroller=6),
                "ready": phase(4, number, metacontroller=10),
                "foreign": phase(0, 0, metacontroller=9),
                "beside": phase(0, 0, metacontroller=0.1),
            },
            "floor": {
                "children": phase(2, number, hooks=1, metacontroller=3),
                "ready": phase(4, number, hooks=2, metacontroller=3),
                "foreign": phase(0, 0, metacontroller=0.3),
                "beside": phase(0, 0, metacontroller=0.1),
            },
        }
        for number in (100, 10)
    ]
    lines = write_clusters(results).splitlines()[2:]
    assert lines[2] == "| 10 | 2 | until all children exist | 4.0 | 2.0 | 3.00 | 5.0 | 24.0 | 3.00 | 6.00 | 4.0 |"
    assert lines[3] == "| 10 | 2 | until all graphs are ready | 8.0 | 4.0 | 6.00 | 10.0 | 40.0 | 3.00 | 10.00 | 5.0 |"
    assert lines[4].startswith(
        "| 10 | 2 | 1000 pods of somebody else come and go | 9.0 | 0.0 | 0.30 | 0.3 | 0.0 | 0.30 |"
    )
    assert [line.split(" | ")[0] for line in lines[6:10]] == ["| 100"] * 4
    assert lines[13:22] == [
        "| 10 | missed | status writes of a graph until its children exist: 3, target at most 2 |",
        "| 10 | reached | status writes of a component until then: 1, target at most 1 |",
        "| 10 | reached | status writes of a graph until it is ready: 5, target at most 6 |",
        "| 10 | missed | processor seconds until all children exist, times the floor: 1.25, target at most 1.2 |",
        "| 10 | missed | processor seconds until all graphs are ready, times the floor: 2, target at most 1.2 |",
        "| 10 | missed | processor seconds of Metacontroller, times those before: 0.6, target at most 0.55 |",
        "| 10 | missed | ms of Metacontroller for each pod of somebody else: 0.2, target at most 0.1 |",
        "| 10 | reached | hook calls for each change of a child: 2, target at most 3 |",
        "| 10 | reached | MiB of the largest worker of the hooks: 105, target at most 120 |",
    ]


def test_graph_among_many_is_judged_beside_one_among_a_hundred() -> None:
    results = [
        {
            "graphs": number,
            "namespaces": many,
            "hooks": {"ready": phase(8, number, hooks=spent, metacontroller=10)},
        }
        for number, many, spent in ((100, 100, 10), (100, 1, 1), (500, 500, 50), (1000, 1000, 210), (1000, 1, 7))
    ]
    assert [*judge_growth(results)] == [
        (500, "reached", f"{GROWTH.format('Metacontroller')}: 0.2, target at most 1.3"),
        (500, "reached", f"{GROWTH.format('all programs')}: 0.6, target at most 1.3"),
        (1000, "reached", f"{GROWTH.format('Metacontroller')}: 0.1, target at most 1.3"),
        (1000, "reached", f"{GROWTH.format('all programs')}: 1.1, target at most 1.3"),
    ]
    assert [*judge_growth(results[1:])] == []


def test_events_are_shown_by_who_has_a_rule() -> None:
    text = write_events({"costs": {"none, graph": [0.256, 0.0]}})
    assert text.splitlines()[2:] == ["| none, graph | 0.26 | 0.00 |"]


def test_rules_stand_below_their_sum_the_dearest_first() -> None:
    def row(place: str, rule: str, cost: float) -> dict[str, Any]:
        one = {"microseconds": cost, "allocations": 10}
        return {"place": place, "rule": rule, "create": one, "update": one, "status": one}

    costs = {
        "Graph": [row("", "all", 30), row(".spec", "a", 10), row(".spec", "b", 19.6)],
        "Part": [row("", "all", 5), row("", "c", 5)],
    }
    assert write_rule_costs(costs).splitlines()[2:] == [
        "| Graph | all 2 | 30 | 30 | 30 | 10 |",
        "| Graph | .spec: b | 20 | 20 | 20 | 10 |",
        "| Graph | .spec: a | 10 | 10 | 10 | 10 |",
        "| Part | all 1 | 5 | 5 | 5 | 10 |",
    ]


def test_writes_are_shown_by_part() -> None:
    def cost(whole: float) -> dict[str, Any]:
        return {
            "writes": 9,
            "milliseconds": whole,
            "allocations": 1e4 * whole,
            "parts": {"CEL rules": 1.25, "encode": 2},
        }

    writes = {"all": {"create": cost(4), "status": cost(5)}, "none": {"create": cost(2), "status": cost(3)}}
    assert write_writes(writes).splitlines() == [
        "| milliseconds of processor | create | status |",
        "| --- | --- | --- |",
        "| CEL rules | 1.25 | 1.25 |",
        "| encode | 2.00 | 2.00 |",
        "| **sum of the profile** | 3.2 | 3.2 |",
        "| whole process | 4.0 | 5.0 |",
        "| whole process, without rules | 2.0 | 3.0 |",
        "| allocations | 40,000 | 50,000 |",
        "| allocations, without rules | 20,000 | 30,000 |",
        "| writes measured | 9 | 9 |",
    ]


def test_targets_are_the_verdicts_among_the_lines() -> None:
    text = write_targets(["make: nothing", "reached  memory: 70 MiB", "missed   p99: +9 ms", "all reached"])
    assert text.splitlines()[2:] == ["| reached | memory: 70 MiB |", "| missed | p99: +9 ms |"]


def test_a_part_is_replaced_and_the_others_stay() -> None:
    page = "a\n<!-- one -->\nold\n<!-- /one -->\n<!-- two -->\n<!-- /two -->\n"
    assert replace_part(page, "one", "new\n") == page.replace("old", "new")
    with pytest.raises(ValueError, match="no part three"):
        replace_part(page, "three", "")


@pytest.mark.parametrize("part", ["calls", "targets", "cluster", "replayed", "resync", "events"])
def test_page_has_a_place_for_each_table(part: str) -> None:
    page = PAGE.read_text()
    assert replace_part(page, part, "") != page, "there is a table"
