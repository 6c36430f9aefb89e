"""The command `simulate` on requests: from a model and its goals to a running graph, or to the reason why not."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.language.versions import convert
from hooks.tools.cli.simulate import simulate

EXAMPLES = Path(__file__).parents[4] / "examples"
OWN_GRAPH = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: profile
data:
  prefill: "1"
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: mine
spec:
  services:
    Frontend:
      componentType: frontend
      extraPodSpec:
        mainContainer:
          image: img:1
    Worker:
      componentType: worker
      extraPodSpec:
        mainContainer:
          image: img:1
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(simulate, ["--speed", "200", *arguments])


def example(name: str) -> str:
    return str(EXAMPLES / f"request-{name}.yaml")


def the_request(*arguments: str) -> dict[str, Any]:
    result = run("-o", "json", *arguments)
    (found,) = orjson.loads(result.stdout)["objects"]
    return {**found, "exit_code": result.exit_code, "stderr": result.stderr}


def conditions(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in found["status"]["conditions"]}


def kinds(found: dict[str, Any]) -> set[str]:
    return {child["kind"] for child in found["children"]}


def test_every_example_comes_to_ready() -> None:
    result = run(*(str(path) for path in sorted(EXAMPLES.glob("request-*.yaml"))))
    assert result.exit_code == 0, result.stderr
    for name in ("qwen-aic", "qwen-online", "mocker"):
        assert f"DynamoGraphDeploymentRequest {name}  Ready" in result.stdout
        assert f"Job profile-{name}  Complete" in result.stdout
    assert (
        "DynamoGraphDeploymentRequest default/qwen-aic: Ready; components 4/4; pods 4 Ready, 1 Succeeded"
        in result.stderr
    )


def test_rule_that_matched_no_pod_of_a_request_is_refused_at_the_end() -> None:
    result = run("--hold", "VllmWroker", example("aic"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--hold 'VllmWroker' matches no pod; " in result.stderr


def test_request_that_applies_itself_ends_in_a_ready_graph() -> None:
    found = the_request(example("aic"))
    assert (found["exit_code"], found["status"]["state"]) == (0, "Ready")
    assert found["status"]["deployment"] == {
        "name": "qwen",
        "namespace": "default",
        "state": "successful",
        "created": True,
    }
    assert {"Job", "ConfigMap", "DynamoGraphDeployment", "Deployment"} <= kinds(found)
    assert conditions(found)["DeploymentReady"] == ("True", "DeploymentReady")


def test_request_that_does_not_apply_itself_shows_what_it_found() -> None:
    found = the_request(example("online"))
    assert (found["exit_code"], found["status"]["state"]) == (0, "Ready")
    assert found["status"]["generatedDeployment"]["metadata"]["name"] == "qwen-online"
    assert "DynamoGraphDeployment" not in kinds(found)


def test_mocker_runs_the_imitation_engine() -> None:
    found = the_request(example("mocker"))
    services = found["status"]["generatedDeployment"]["spec"]["services"]
    commands = [spec["extraPodSpec"]["mainContainer"].get("command", [""])[-1] for spec in services.values()]
    assert commands.count("dynamo.mocker") == 2


def test_what_the_profiler_leaves_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "output.yaml").write_text(OWN_GRAPH)
    found = the_request("--profiler-output", str(tmp_path / "output.yaml"), example("mocker"))
    assert found["status"]["deployment"]["name"] == "mine"
    assert {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "profile", "namespace": "default"}} in found[
        "children"
    ]


def test_profiler_may_leave_a_graph_of_v1beta1(tmp_path: Path) -> None:
    *others, graph = yaml.safe_load_all(OWN_GRAPH)
    (tmp_path / "output.yaml").write_text(yaml.safe_dump_all([*others, convert(graph, "v1beta1")]))
    found = the_request("--profiler-output", str(tmp_path / "output.yaml"), example("mocker"))
    assert (found["exit_code"], found["status"]["state"]) == (0, "Ready"), found["stderr"]
    assert found["status"]["deployment"]["name"] == "mine"
    assert found["status"]["generatedDeployment"]["apiVersion"] == "nvidia.com/v1alpha1"


def test_problem_of_a_graph_of_v1beta1_ends_the_request_with_its_path(tmp_path: Path) -> None:
    graph = next(one for one in yaml.safe_load_all(OWN_GRAPH) if one["kind"] == "DynamoGraphDeployment")
    beta = convert(graph, "v1beta1")
    broken = [{**one, "experimental": {"gpuMemoryService": {}}} for one in beta["spec"]["components"]]
    (tmp_path / "output.yaml").write_text(yaml.safe_dump({**beta, "spec": {"components": broken}}))
    found = the_request("--profiler-output", str(tmp_path / "output.yaml"), example("aic"))
    assert (found["exit_code"], found["status"]["state"]) == (1, "Failed")
    assert "spec.components[0].experimental.gpuMemoryService" in found["reasons"][0]


def test_failing_profiler_ends_the_request_with_its_reason_long_before_the_timeout() -> None:
    found = the_request("--break", "profile-*=CrashLoopBackOff", example("aic"))
    assert (found["exit_code"], found["status"]["state"]) == (1, "Failed")
    assert conditions(found)["Profiling"] == ("False", "ProfilingFailed")
    assert "Container: profiler, ExitCode: 1" in found["reasons"][0]
    assert "not Ready after 120.0 s" not in found["stderr"]
    assert kinds(found) == {"Job", "Pod"}


@pytest.mark.parametrize(
    ("output", "words"),
    [("kind: Nothing\napiVersion: v1\n", "no DynamoGraphDeployment found in YAML content"), ("a: [", "YAML")],
    ids=["no graph", "no YAML"],
)
def test_output_that_is_no_graph_ends_the_request(output: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "output.yaml").write_text(output)
    found = the_request("--profiler-output", str(tmp_path / "output.yaml"), example("aic"))
    assert (found["exit_code"], found["status"]["state"]) == (1, "Failed")
    assert conditions(found)["SpecGenerated"] == ("False", "GenerationFailed")
    assert words in found["reasons"][0]


def test_graph_may_go_to_another_namespace(tmp_path: Path) -> None:
    text = (EXAMPLES / "request-mocker.yaml").read_text()
    (tmp_path / "r.yaml").write_text(f"{text}  deploymentOverrides: {{namespace: serving}}\n")
    found = the_request("--set", "request_namespaces=serving", str(tmp_path / "r.yaml"))
    assert (found["exit_code"], found["status"]["state"]) == (0, "Ready"), found["stderr"]
    assert found["status"]["deployment"]["namespace"] == "serving"


SHORTEST = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata:
  name: my-model
spec:
  model: Qwen/Qwen3-0.6B
  backend: vllm
  sla:
    ttft: 200.0
    itl: 20.0
  autoApply: true
"""
"""What a first page shows: a model and its goals."""


def test_model_and_goals_alone_become_a_running_graph(tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(SHORTEST)
    found = the_request(str(path))
    assert (found["exit_code"], found["status"]["state"]) == (0, "Ready")
    assert found["status"]["deployment"]["name"] == "my-model-dgd"
    assert found["status"]["hardware"]["totalGpus"] == 8
    assert "the simulated cluster has a node with 8 GPUs" in found["stderr"]
