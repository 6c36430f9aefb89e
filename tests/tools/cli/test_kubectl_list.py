"""`kubectl dynamo status` of many graphs, `why`, logs of a whole graph, options before the command, and completion."""

import json
import tomllib
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.graph.report.sharing import REASON, SHARED
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.server.commands.main import LazyGroup
from hooks.tools.cli import cluster_options
from hooks.tools.cli.kubectl.completing import complete
from hooks.tools.cli.kubectl.listing import write_table
from hooks.tools.cli.kubectl.main import PluginGroup
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.operating.graph_rows import NOT_PROCESSED, build_row
from hooks.tools.operating.serving import describe_serving
from tests import make
from tests.tools.cli import test_kubectl as base
from tests.tools.cli.test_kubectl import run, said, services
from tests.tools.offline.picture.drawn import engine
from tests.tools.operating.migration.played_cluster import PlayedCluster, play

world, played = base.world, base.played
UNKNOWN = "whether requests are answered is not known: there is no prober here"
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


@pytest.mark.usefixtures("played")
def test_status_without_a_name_lists_the_graphs_of_the_namespace(world: SimulatedCluster) -> None:
    world.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}})
    world.apply({**make.graph({"W": engine("m")}), "metadata": {"name": "far", "namespace": "elsewhere"}})
    world.break_pods("llm-frontend*", PodFault.CRASH_LOOP)
    world.patch(contract.GRAPH, "llm", {"spec": {"restart": {"id": "r1"}}}, "default")
    world.run_for(300)
    lines = run("status").stdout.splitlines()
    assert cells(lines[0]) == ["NAME", "READY", "SERVING", "REASON", "GPUS", "WAITING RESTARTS", "AGE"]
    rows = {row[0]: row for row in map(cells, lines[1:])}
    assert set(rows) == {"llm", "other"}
    gpus = str(world.get(contract.GRAPH, "llm", "default")["status"]["gpus"])  # type: ignore[index]
    assert rows["llm"][1:6] == ["False", "False", "CrashLoop", gpus, "restart r1 Restarting Frontend"]
    assert rows["other"][1:6] == ["True", "Unknown", "-", "0", "-"]
    everywhere = run("status", "-A").stdout.splitlines()
    assert cells(everywhere[0])[:2] == ["NAMESPACE", "NAME"]
    assert [cells(line)[:2] for line in everywhere[1:]] == [
        ["default", "llm"],
        ["default", "other"],
        ["elsewhere", "far"],
    ]
    wide = cells(run("status", "-o", "wide").stdout.splitlines()[1])
    assert wide[7:9] == ["Deployments", "2/3"]
    assert "CrashLoop: pod llm-frontend" in wide[9]


@pytest.mark.usefixtures("played")
def test_list_is_the_same_as_json_and_yaml(world: SimulatedCluster) -> None:
    world.run_for(120)
    rows = json.loads(run("status", "-o", "json").stdout)
    assert yaml.safe_load(run("status", "-o", "yaml").stdout) == rows
    other = next(row for row in rows if row["name"] == "other")
    assert {key: other[key] for key in ("namespace", "ready", "reason", "gpus", "waitingRestarts", "services")} == {
        "namespace": "default",
        "ready": True,
        "reason": "",
        "gpus": 0,
        "waitingRestarts": [],
        "services": {"ready": 1, "total": 1},
    }
    one = json.loads(run("status", "other", "-o", "json").stdout)
    assert one == {**other, "reasons": [], "unread": []}
    assert world.everything()


@pytest.mark.usefixtures("played")
def test_no_graph_is_a_sentence_and_no_failure() -> None:
    nothing = said("status", "-n", "empty")
    assert nothing == (0, "there is no graph in namespace empty; -A lists those of all namespaces")
    assert json.loads(run("status", "-n", "empty", "-o", "json").stdout) == []


def test_what_may_not_be_read_is_told_beside_the_list(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    base.use(monkeypatch, replace(play(world), forbidden=frozenset({"dynamocomponentdeployments"})))
    result = run("status")
    assert result.exit_code == 0
    assert "not shown: you may not read DynamoComponentDeployment objects" in result.stderr
    assert len(result.stdout.splitlines()) == 3


def test_new_defaults_and_unseen_specs_and_restarts_are_said() -> None:
    held = {"type": "Held", "status": "True", "reason": "NewDefaults", "message": "m"}
    ready = {"type": "Ready", "status": "True", "reason": "AllReady"}
    metadata = {"name": "g", "namespace": "n", "generation": 2}
    graph = {**make.graph(services()), "metadata": metadata}
    component: Manifest = {
        "metadata": {"namespace": "n", "labels": {contract.LABEL_GRAPH: "g"}},
        "status": {"conditions": [held]},
    }
    fresh = {**graph, "status": {"observedGeneration": 2, "conditions": [ready]}}
    assert build_row(fresh, [component], NOW).waiting == ("new defaults",)
    far = {**component, "metadata": {**component["metadata"], "namespace": "other"}}
    assert build_row(fresh, [far], NOW).waiting == ()
    asked = {**fresh, "spec": {**graph["spec"], "restart": {"id": "r2"}}}
    assert build_row(asked, [], NOW).waiting == ("restart r2",)
    ended = {**asked, "status": {**fresh["status"], "restart": {"observedID": "r2", "phase": "Completed"}}}
    assert build_row(ended, [], NOW).waiting == ()
    stale = build_row({**fresh, "status": {**fresh["status"], "observedGeneration": 1}}, [], NOW)
    assert (stale.is_ready, stale.reason) == (False, NOT_PROCESSED)
    table = write_table([stale], NOW, is_wide=False, is_everywhere=False)
    assert cells(table.splitlines()[1]) == ["g", "False", "-", NOT_PROCESSED, "?", "-", "?"]


@pytest.mark.usefixtures("played")
def test_why_is_one_sentence(world: SimulatedCluster) -> None:
    assert run("why", "llm").stdout == f"graph llm is ready, all 3 services; {UNKNOWN}\n"
    world.break_pods("llm-frontend*", PodFault.CRASH_LOOP)
    world.patch(contract.GRAPH, "llm", {"spec": {"restart": {"id": "r1"}}}, "default")
    world.run_for(300)
    sentence = run("why", "llm").stdout
    assert sentence.startswith("graph llm is not ready: ")
    assert "CrashLoop: pod llm-frontend" in sentence
    assert sentence.count("\n") == 1
    assert "DynamoGraphDeployment" not in sentence


def test_both_of_two_graphs_that_share_workers_say_so(world: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that sees came first, so its frontend has the prefix already."""
    for name in ("vd", "vd2", "ve"):
        frontend = make.service("frontend", image="r/vllm-runtime:1.5.1")
        worker = make.service("worker", image="r/vllm-runtime:1.5.1", command=["python3", "-m", "dynamo.vllm"])
        world.apply(make.graph({"f": frontend, "w": worker}, name=name))
        world.run_for(120)
    told = {"vd": "f may send requests to the workers of DynamoGraphDeployment vd2 too", "vd2": ""}
    told["vd2"] = "DynamoGraphDeployment vd may send requests to the workers of this graph"
    base.use(monkeypatch, play(world))
    rows = {row["name"]: row for row in json.loads(run("status", "-o", "json").stdout)}
    for name, sentence in told.items():
        assert (rows[name]["ready"], rows[name]["reason"]) == (True, REASON)
        assert rows[name]["message"].startswith(sentence)
        assert f"graph {name} is ready, all 2 services; " in run("why", name).stdout
        assert sentence in run("why", name).stdout
        assert f"{SHARED}: {sentence}" in run("status", name).stdout
    assert (rows["ve"]["ready"], rows["ve"]["reason"], rows["ve"]["message"]) == (True, "", "")
    world.delete(contract.GRAPH, "vd2", "default")
    world.run_for(60)
    assert next(row for row in json.loads(run("status", "-o", "json").stdout) if row["name"] == "vd")["reason"] == ""


@pytest.mark.usefixtures("played")
def test_logs_of_a_graph_are_those_of_all_its_services() -> None:
    lines = run("logs", "llm").stdout.splitlines()
    assert len(lines) == 6
    assert {line.partition("-")[2].partition("-")[0] for line in lines} == {"frontend", "worker"}
    both = run("logs", "llm", "frontend", "Worker")
    assert sorted(both.stdout.splitlines()) == sorted(lines)
    assert len(run("logs", "llm", "worker").stdout.splitlines()) == 4
    code, sentence = said("logs", "llm", "-c", "nobody")
    assert (code, "has no container nobody; it has main" in sentence) == (1, True)


@pytest.mark.usefixtures("played")
def test_options_may_come_before_the_command(tmp_path: Path) -> None:
    assert said("-n", "empty", "status")[1].startswith("there is no graph in namespace empty")
    assert said("-n", "empty", "logs", "llm")[1].startswith("there is no graph llm in namespace empty")
    assert run("-n", "empty", "status", "-n", "default").stdout.splitlines()[1].startswith("llm")
    assert said("-n", "A_B", "status")[0] == 2


def test_sections_of_the_help_have_every_command_once() -> None:
    for group in (LazyGroup, PluginGroup):
        later = [name for names in group.sections.values() for name in names]
        assert len(set(later)) == len(later)
        assert set(later) < set(group.modules)
    shown = run("--help").stdout
    assert [title for title in (PluginGroup.first_section, *PluginGroup.sections) if f"\n{title}:\n" in shown] == [
        PluginGroup.first_section,
        *PluginGroup.sections,
    ]


# completion


@pytest.mark.usefixtures("played")
def test_completion_offers_commands_graphs_services_and_options(
    played: PlayedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_options, "connect", lambda _connection: nullcontext(played))
    assert {line.partition("\t")[0] for line in complete([""])} == {*PluginGroup.modules, ":4"}
    assert list(complete(["st"])) == [f"status\t{PluginGroup.modules['status']}", ":4"]
    assert list(complete(["status", ""])) == ["llm", "other", ":4"]
    assert list(complete(["-n", "elsewhere", "status", ""])) == [":4"]
    assert list(complete(["-n", "default", "status", "o"])) == ["other", ":4"]
    assert list(complete(["restart", "llm", "W"])) == ["Worker", ":4"]
    assert list(complete(["restart", "llm", "Worker", ""])) == ["Frontend", "idle", ":4"]
    assert list(complete(["status", "-o", ""])) == ["wide", "json", "yaml", ":4"]
    assert next(complete(["status", "--wat"])).startswith("--watch\t")
    assert list(complete(["diff", ""])) == [":0"]
    assert list(complete([])) != []


def test_completion_is_silent_without_a_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    assert list(complete(["status", ""])) == [":4"]
    assert capfd.readouterr() == ("", "")


def test_program_that_completes_is_installed_beside_the_plugin() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["kubectl_complete-dynamo"] == "hooks.tools.cli.kubectl.completing:main"


@pytest.mark.parametrize(
    ("truth", "field", "said"),
    [
        ("True", {"models": [{"name": "m", "frontends": "1/1"}]}, "its frontend answers for m"),
        (
            "True",
            {"models": [{"name": name, "frontends": "2/2"} for name in "abcdefg"]},
            "2 of 2 frontends answer for a, b, c, d, e and 2 more",
        ),
        ("False", {"models": [{"name": "m", "frontends": "1/2"}]}, "frontend x does not route m"),
        ("Unknown", "forged", "frontend x does not route m"),
        ("", None, ""),
    ],
)
def test_serving_is_said_in_a_line(truth: str, field: Any, said: str) -> None:
    conditions = [{"type": "Serving", "status": truth, "message": "frontend x does not route m"}] if truth else []
    graph = {**make.graph({}), "status": {"conditions": conditions, "serving": field}}
    assert describe_serving(graph) == said
    row = build_row(graph, (), make.NOW)
    assert row.serving == truth
    assert row.as_json()["models"] == [one["name"] for one in (field["models"] if isinstance(field, dict) else ())]
