"""Alerts about what lasts minutes, with series that promtool plays."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.monitoring.prometheus import MISSING
from tests.monitoring.queries import ALERTS, alerts

ROLLOUT = 'dynamo_hooks_graph_rollout{namespace="team",graph="llm",reason="%s"}'
OUTAGE = 'dynamo_hooks_graph_outage{namespace="team",graph="llm",part="%s"}'
RESOURCES = (
    'dynamo_operator_resources_total{resource_type="DynamoGraphDeployment",namespace="team",status="successful"}'
)
CALLS = 'dynamo_hooks_calls_total{hook="graph",call="sync",outcome="done"}'
OTHERS = 'dynamo_hooks_calls_total{hook="model",call="sync",outcome="done"}'
ALIVE, REST = "0+10x60", "100+0x60"
"""A counter that grows each minute, and one that does not."""


def fires(folder: Path, alert: str, series: dict[str, str], at: str) -> dict[str, str] | None:
    """The labels with which the alert fires at that time, but its severity; None if it does not."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip(MISSING)
    (rule,) = [one for one in alerts() if one["alert"] == alert]
    groups = {"groups": [{"name": "g", "rules": [rule]}]}
    (folder / "rules.yaml").write_text(yaml.safe_dump(groups))
    played = [{"series": name, "values": values} for name, values in series.items()]
    case: dict[str, Any] = {
        "interval": "1m",
        "input_series": played,
        "alert_rule_test": [{"eval_time": at, "alertname": alert, "exp_alerts": []}],
    }
    (folder / "test.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [case]}))
    run = subprocess.run(
        [program, "test", "rules", "test.yaml"], cwd=folder, capture_output=True, text=True, check=False
    )
    said = f"{run.stdout}\n{run.stderr}"
    assert "FAILED" in said or run.returncode == 0, said
    if run.returncode == 0:
        return None
    found = said.partition("got:")[2].partition("Labels:{")[2].partition("}")[0]
    assert found, said
    pairs = (pair.strip().split("=", 1) for pair in found.split(","))
    labels = {name: value.strip('"') for name, value in pairs}
    return {name: value for name, value in labels.items() if name not in {"alertname", "severity"}}


def test_rules_are_those_of_the_chart() -> None:
    names = {rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]}
    assert {"DynamoGraphDown", "DynamoMetacontrollerDown"} <= names


@pytest.mark.parametrize(
    ("part", "values", "at", "is_told"),
    [
        ("frontend", "0x10 1x20", "13m", True),
        ("frontend", "0x10 1x20", "10m", False),
        ("engines", "0x10 1x20", "14m", False),
        ("engines", "0x10 1x20", "18m", True),
        ("engines", "0x10 1 0 1 0 1 0 1 0x10", "17m", False),
        ("frontend", "1x10 0x20", "14m", False),
        ("requests", "0x10 1x20", "14m", False),
        ("requests", "0x10 1x20", "18m", True),
    ],
    ids=[
        *("frontend", "a moment", "engines that restart", "engines", "again and again", "over"),
        *("requests that fail for a moment", "requests"),
    ],
)
def test_graph_that_serves_nobody_is_named(tmp_path: Path, part: str, values: str, at: str, *, is_told: bool) -> None:
    found = fires(tmp_path, "DynamoGraphDown", {OUTAGE % part: values}, at)
    assert found == ({"namespace": "team", "graph": "llm", "part": part} if is_told else None)


@pytest.mark.parametrize(
    ("reason", "values", "at", "is_told"),
    [
        ("RolloutStalled", "0x10 1x20", "13m", True),
        ("RolloutStalled", "0x10 1x5 0x20", "18m", False),
        ("RolloutWithoutRoom", "0x10 1x60", "30m", False),
        ("RolloutWithoutRoom", "0x10 1x60", "45m", True),
        ("RolloutWithoutRoom", "0x10 1x15 0x5 1x40", "45m", False),
        ("RolloutInProgress", "1x90", "80m", False),
        ("RolloutPaused", "1x90", "80m", False),
    ],
    ids=["stalled", "goes on", "no room for a while", "no room", "a set made room", "goes on for long", "paused"],
)
def test_rollout_that_stands_still_is_named(
    tmp_path: Path, reason: str, values: str, at: str, *, is_told: bool
) -> None:
    found = fires(tmp_path, "DynamoRolloutStalled", {ROLLOUT % reason: values}, at)
    assert found == ({"namespace": "team", "graph": "llm", "reason": reason} if is_told else None)


@pytest.mark.parametrize(
    ("series", "at", "is_told"),
    [
        ({RESOURCES: "3x60", CALLS: f"{ALIVE}"}, "40m", False),
        ({RESOURCES: "3x60", CALLS: "0+10x20 200x40"}, "25m", False),
        ({RESOURCES: "3x60", CALLS: "0+10x20 200x40"}, "35m", True),
        ({RESOURCES: "3x60", CALLS: REST}, "15m", True),
        ({RESOURCES: "3x60"}, "15m", True),
        ({RESOURCES: "3x60", CALLS: REST, OTHERS: ALIVE}, "15m", True),
        ({RESOURCES: "3x60"}, "9m", False),
        ({RESOURCES: "0x60", CALLS: REST}, "40m", False),
        ({CALLS: REST}, "40m", False),
    ],
    ids=[
        *("called", "called a moment ago", "not called any more", "at rest", "never called"),
        *("only models are", "just started", "nothing to call for", "resources are not counted"),
    ],
)
def test_hooks_that_nobody_calls_are_told(tmp_path: Path, series: dict[str, str], at: str, *, is_told: bool) -> None:
    found = fires(tmp_path, "DynamoMetacontrollerDown", series, at)
    assert (found is not None) is is_told
