"""`validate` and `render` as a user runs them: what is printed where, and the exit status."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.cli.main import main

Write = Callable[..., str]

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  services:
    Frontend:
      componentType: frontend
      extraPodSpec:
        mainContainer:
          image: img:1
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def _write(content: str, name: str = "m.yaml") -> str:
        Path(name).write_text(content)
        return name

    return _write


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("componentType", "componentTyp", "m.yaml:8: spec.services.Frontend", ["componentTyp", "componentType"]),
        ("image: img:1", "imgae: img:1", "m.yaml:11: spec.services.Frontend.extraPodSpec", ["imgae", "image"]),
        ("frontend\n", "frontend\n      replicas: two\n", "m.yaml:9: spec.services.Frontend.replicas", ["integer"]),
        (
            "frontend\n",
            "frontend\n      resources: {limits: {gpu: 1}}\n",
            "m.yaml:9: spec.services.Frontend.resources.limits.gpu",
            ['"1"', "string"],
        ),
        (
            "spec:\n",
            "spec:\n  backendFramework: tgi\n",
            "m.yaml:6: spec.backendFramework",
            ["vllm", "sglang", "trtllm"],
        ),
        ("frontend\n", "frontend\n      replicas: -1\n", "m.yaml:9: spec.services.Frontend.replicas", ["0"]),
    ],
    ids=[
        "unknown field",
        "unknown field in a container",
        "no number",
        "number for text",
        "no such choice",
        "too small",
    ],
)
@pytest.mark.parametrize("command", ["validate", "render"])
def test_fault_is_told_with_place_and_remedy(
    write: Write, command: str, old: str, new: str, place: str, words: list[str]
) -> None:
    result = run(command, write(GRAPH.replace(old, new)))
    assert (result.exit_code, result.stdout) == (1, "")
    first = result.stderr.splitlines()[0]
    assert first.startswith(place)
    assert all(word in first for word in words)


def test_every_fault_of_every_document_is_told_at_once(write: Write) -> None:
    bad = GRAPH.replace("componentType", "componentTyp").replace("image", "imgae")
    result = run("validate", write(bad, "a.yaml"), write(bad.replace("name: g", "name: h"), "b.yaml"))
    assert [line.split(":")[0] for line in result.stderr.splitlines()[:-1]] == ["a.yaml", "a.yaml", "b.yaml", "b.yaml"]
    assert result.stderr.splitlines()[-1] == "4 faults; nothing was done"


def test_faults_as_json_are_for_programs(write: Write) -> None:
    result = run("validate", "-o", "json", write(GRAPH.replace("componentType", "componentTyp")))
    (fault,) = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (fault["file"], fault["line"]) == ("m.yaml", 8)


def test_valid_manifests_are_counted_and_foreign_ones_not_judged(write: Write) -> None:
    result = run("validate", write(f"{GRAPH}---\n{CONFIG_MAP}"))
    assert (result.exit_code, result.stdout) == (0, "1 manifest valid, 1 of other kinds not judged\n")


def test_foreign_objects_pass_through_a_rendering(write: Write) -> None:
    documents = list(yaml.safe_load_all(run("render", write(f"{CONFIG_MAP}---\n{GRAPH}")).stdout))
    assert documents[0] == yaml.safe_load(CONFIG_MAP)
    assert [d["kind"] for d in documents[1:]] == [
        "DynamoComponentDeployment",
        "Deployment",
        "Service",
        "Role",
        "RoleBinding",
        "ServiceAccount",
    ]


def test_standard_input_renders_like_a_file(write: Write) -> None:
    assert run("render", "-", stdin=GRAPH).stdout == run("render", write(GRAPH)).stdout


def test_namespace_and_settings_reach_the_children(write: Write) -> None:
    result = run("render", "-n", "inference", "--set", "nats_address=nats://n:4222", "-o", "json", write(GRAPH))
    deployment = next(d for d in json.loads(result.stdout) if d["kind"] == "Deployment")
    env = {e["name"]: e.get("value") for e in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert deployment["metadata"]["namespace"] == "inference"
    assert (env["NATS_SERVER"], env["DYN_NAMESPACE"]) == ("nats://n:4222", "inference-g")


def test_spec_that_cannot_be_rendered_gives_no_output(write: Write) -> None:
    text = GRAPH.replace("frontend\n", "frontend\n      resources: {limits: {cpu: lots}}\n")
    result = run("render", write(text))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "lots" in result.stderr


def test_several_nodes_are_refused_with_what_to_install(write: Write) -> None:
    result = run("render", write(GRAPH.replace("frontend\n", "frontend\n      multinode: {nodeCount: 2}\n")))
    assert result.exit_code == 1
    assert "no multinode orchestrator available" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("render", "--with", "knative", "x.yaml"), ["knative", "grove", "istio"]),
        (("render", "--set", "nats", "x.yaml"), ["--set key=value"]),
        (("render", "--set", "nats_adress=x", "x.yaml"), ["nats_adress", "nats_address"]),
        (("render", "-n", "Not_Valid", "x.yaml"), ["Not_Valid"]),
        (("render", "--outptu", "json", "x.yaml"), ["--output"]),
        (("rendre", "x.yaml"), ["rendre"]),
        (("render",), ["FILE"]),
    ],
    ids=["kind", "pair", "setting", "namespace", "flag", "command", "no file"],
)
def test_wrong_usage_says_what_would_be_right(write: Write, arguments: tuple[str, ...], words: list[str]) -> None:
    write(GRAPH, "x.yaml")
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(word in result.stderr for word in words)
