"""A request whose status somebody damaged, files half written, fields that do not exist: said, and nothing is lost."""

from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.request.seen.profiler_output import NoOutput, NotEnded, OutputReady, plan_copy
from hooks.request.seen.profiler_report import PHASES
from hooks.server.commands.main import main
from tests.request import world
from tests.request.test_graph_overrides import FOUND
from tests.request.test_profiled import FOLDER
from tests.request.test_profiler_output import ended, file, pod, task
from tests.request.test_profiler_spec import beta
from tests.request.test_sync_of_1_x import FILE, ask, kinds_of, profiled, status

DAMAGED: dict[str, dict[str, Any]] = {
    "all of it": {},
    "state": {"state": "Dreaming"},
    "conditions": {"conditions": []},
    "graph": {"generatedDeployment": {}},
    "graph without a name": {"generatedDeployment": {"metadata": {}, "spec": {}}},
    "name of the graph": {"deployment": {"name": "other", "namespace": "elsewhere", "state": "successful"}},
    "hardware": {"hardware": {"gpuSku": "odd", "totalGpus": 0}},
    "fingerprint": {"specHash": "0000"},
}
"""What an API server would store."""


def damage(parent: Manifest, case: str) -> Manifest:
    """The request with that part of its status as the case has it; everything is gone where it has none."""
    before = parent.get("status") or {}
    return {**parent, "status": {**before, **DAMAGED[case]} if DAMAGED[case] else {}}


@pytest.mark.parametrize("case", DAMAGED)
def test_running_profiler_goes_on_whatever_the_status_says(case: str) -> None:
    parent, children, related = profiled({"phase": "SweepingPrefill"}, ended="")
    answer = ask(damage(parent, case), children, related)
    assert "Job" in kinds_of(answer)
    assert status(answer)["state"] == "Profiling", status(answer)


@pytest.mark.parametrize("case", DAMAGED)
def test_graph_that_runs_stays_whatever_the_status_says(case: str) -> None:
    parent, children, related = profiled({FILE: FOUND})
    graph = world.graph("successful", name="qwen-dgd")
    for _ in range(2):
        parent = world.after(parent, ask(parent, [*children, graph], [*related, graph]))
    damaged = damage(parent, case)
    answer = ask(damaged, [*children, graph], [*related, graph])
    assert contract.GRAPH.kind in kinds_of(answer)
    found = status(ask(world.after(damaged, answer), [*children, graph], [*related, graph]))
    assert (found["state"], found["deployment"]["name"]) == ("Ready", "qwen-dgd")


@pytest.mark.parametrize("case", sorted(path.name for path in FOLDER.iterdir()))
def test_status_file_that_is_half_written_is_no_progress_and_no_success(case: str) -> None:
    text = (FOLDER / case / contract.PROFILER_STATUS).read_text()
    began = {"startedAt": "2026-03-01T12:00:00Z"}
    for at in range(len(text)):
        half = {contract.PROFILER_STATUS: file(text[:at])}
        running = plan_copy(task(), pod({"running": began}), half)
        assert isinstance(running, NotEnded)
        phase = running.progress["data"]["phase"] if running.progress else ""
        assert not phase or any(known.startswith(phase) for known in PHASES), text[:at]
        over = plan_copy(task(), ended(), {**half, "config_with_planner.yaml": file()})
        assert isinstance(over, NoOutput) or (isinstance(over, OutputReady) and "status: success" in text[:at])
        killed = plan_copy(task(), ended(137, reason="OOMKilled"), {**half, "config_with_planner.yaml": file()})
        assert isinstance(killed, NoOutput)
        assert killed.reason.startswith("the profiler failed with exit code 137 (OOMKilled)")


@pytest.mark.parametrize(
    "path",
    [
        *("goal", "hardware.gpus", "workload.tokens", "sla.tftt", "modelCache.claim", "features.router"),
        *("features.mocker.on", "overrides.job", "overrides.profilingJob.template.spec.tolerate"),
    ],
)
def test_field_that_the_profiler_would_drop_is_refused(path: str) -> None:
    written: Any = 1
    for key in reversed(path.split(".")):
        written = {key: written}
    spec = beta(**written)["spec"]
    document = {**beta(), "spec": {**spec, **written}}
    result = CliRunner().invoke(main, ["validate", "-"], input=yaml.safe_dump(document))
    assert result.exit_code == 1
    assert f"spec.{path}: unknown field" in result.stderr
