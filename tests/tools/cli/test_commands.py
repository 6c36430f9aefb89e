"""`validate` and `render` as a user runs them: what is printed where, and the exit status."""

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from hooks.server.serving.memory import GC_THRESHOLD_AT_START

ROOT = Path(__file__).parents[3]
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
          image: img:0.9.1
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
        ("componentType", "componentTyp", "m.yaml:8: spec.services[Frontend]", ["componentTyp", "componentType"]),
        (
            "img:0.9.1",
            "img:0.9.1\n          comand: []",
            "m.yaml:12: spec.services[Frontend].extraPodSpec",
            ["comand", "command"],
        ),
        ("frontend\n", "frontend\n      replicas: two\n", "m.yaml:9: spec.services[Frontend].replicas", ["integer"]),
        (
            "frontend\n",
            "frontend\n      resources: {limits: {gpu: 1}}\n",
            "m.yaml:9: spec.services[Frontend].resources.limits.gpu",
            ['"1"', "string"],
        ),
        (
            "spec:\n",
            "spec:\n  backendFramework: tgi\n",
            "m.yaml:6: spec.backendFramework",
            ["vllm", "sglang", "trtllm"],
        ),
        ("frontend\n", "frontend\n      replicas: -1\n", "m.yaml:9: spec.services[Frontend].replicas", ["0"]),
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
    bad = GRAPH.replace("componentType", "componentTyp").replace("img:0.9.1", "img:0.9.1\n          comand: []")
    result = run("validate", write(bad, "a.yaml"), write(bad.replace("name: g", "name: h"), "b.yaml"))
    assert [line.split(":")[0] for line in result.stderr.splitlines()[:-1]] == ["a.yaml", "a.yaml", "b.yaml", "b.yaml"]
    assert result.stderr.splitlines()[-1] == "4 problems"


def test_faults_as_json_are_for_programs(write: Write) -> None:
    result = run("validate", "-o", "json", write(GRAPH.replace("componentType", "componentTyp")))
    (fault,) = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (fault["file"], fault["line"]) == ("m.yaml", 8)


def test_valid_manifests_are_counted_and_foreign_ones_not_judged(write: Write) -> None:
    result = run("validate", write(f"{GRAPH}---\n{CONFIG_MAP}"))
    assert (result.exit_code, result.stdout) == (0, "1 manifest valid, 1 of other kinds not checked\n")


def test_components_that_a_graph_of_the_cluster_made_are_rendered_once(write: Write) -> None:
    alone = run("render", write(GRAPH)).stdout
    (component,) = (one for one in yaml.safe_load_all(alone) if one["kind"] == "DynamoComponentDeployment")
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u"}
    stored = {**component, "metadata": {**component["metadata"], "ownerReferences": [owner]}}
    dumped = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [stored, yaml.safe_load(GRAPH)]})
    assert run("validate", write(dumped, "dump.yaml")).exit_code == 0
    assert run("render", "dump.yaml").stdout == alone


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


@pytest.mark.parametrize("kind", ["ClusterPolicy", "DynamoWorkerMetadata"])
def test_kinds_of_our_group_that_others_own_pass_through_a_rendering(write: Write, kind: str) -> None:
    foreign = {"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    assert yaml.safe_load(run("render", write(yaml.safe_dump(foreign))).stdout) == foreign


def test_number_of_many_digits_passes_through_as_json(write: Write) -> None:
    result = run("render", "-o", "json", write(f"{CONFIG_MAP}number: 99999999999999999999999\n"))
    assert json.loads(result.stdout)[0]["number"] == 1e23


def test_secret_without_a_name_is_beside_a_graph_and_no_part_of_it(write: Write) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {generateName: a-, namespace: null}\n"
    documents = list(yaml.safe_load_all(run("render", write(f"{secret}---\n{GRAPH}")).stdout))
    assert documents[0]["metadata"] == {"generateName": "a-", "namespace": None}
    assert len(documents) == 7


@pytest.mark.parametrize("command", ["crds", "controllers", "render", "validate"])
def test_output_that_takes_no_more_is_told_in_a_sentence(command: str) -> None:
    files = [] if command in {"crds", "controllers"} else ["examples/vllm-agg.yaml"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "hooks", command, *files],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (1, "standard output cannot be written: No space left on device\n")


def test_standard_input_renders_like_a_file(write: Write) -> None:
    assert run("render", "-", stdin=GRAPH).stdout == run("render", write(GRAPH)).stdout


def test_namespace_and_settings_reach_the_children(write: Write) -> None:
    result = run("render", "-n", "inference", "--set", "nats_address=nats://n:4222", "-o", "json", write(GRAPH))
    deployment = next(d for d in json.loads(result.stdout) if d["kind"] == "Deployment")
    env = {e["name"]: e.get("value") for e in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert deployment["metadata"]["namespace"] == "inference"
    assert (env["NATS_SERVER"], env["DYN_NAMESPACE"]) == ("nats://n:4222", "inference-g")


@pytest.mark.parametrize(("installed", "count"), [("", 1), ("istio", 0)])
@pytest.mark.parametrize("command", ["validate", "render"])
def test_virtual_service_that_no_cluster_could_make_is_warned_of(
    write: Write, command: str, installed: str, count: int
) -> None:
    result = run(command, "--with", installed, "--set", "ingress_gateway=a/b", write(GRAPH))
    assert result.exit_code == 0
    assert result.stderr.count("warning: m.yaml:7: spec.services[Frontend].ingress: ") == count
    assert len(result.stderr.splitlines()) == count


def test_spec_that_cannot_be_rendered_gives_no_output(write: Write) -> None:
    text = GRAPH.replace("frontend\n", "frontend\n      resources: {limits: {cpu: lots}}\n")
    result = run("render", write(text))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "lots" in result.stderr


def test_problems_of_rules_and_schemas_are_told_at_once_by_a_rendering(write: Write) -> None:
    bad = GRAPH.replace("frontend\n", "frontend\n      replica: 1\n      sharedMemory: {}\n")
    result = run(
        "render", write(bad, "a.yaml"), write(GRAPH.replace("img:0.9.1", "img:0.9.1\n          tyt: 1"), "b.yaml")
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert [line.split(": ")[0] for line in result.stderr.splitlines()[:-1]] == [
        "a.yaml:9",
        "a.yaml:10",
        "b.yaml:4",
        "b.yaml:12",
    ]


@pytest.mark.parametrize(
    ("old", "new", "options", "fault"),
    [
        (
            "image: img:0.9.1",
            f"image: img:0.9.1\n          args: [{'x' * 210_000}]",
            (),
            "m.yaml:1: child DynamoComponentDeployment g-frontend has ",
        ),
        (
            "componentType: frontend",
            f"componentType: epp\n      eppConfig: {{config: {{a: {'x' * 210_000}}}}}",
            ("--with", "inference-pool"),
            "m.yaml:1: child ConfigMap g-epp-config has ",
        ),
    ],
    ids=["arguments", "endpoint picker"],
)
@pytest.mark.parametrize("command", ["validate", "render"])
def test_child_that_is_too_large_is_a_fault_of_its_document(
    write: Write, command: str, old: str, new: str, options: tuple[str, ...], fault: str
) -> None:
    result = run(command, *(options or ("--with", "")), write(GRAPH.replace(old, new)))
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = [line for line in result.stderr.splitlines()[:-1] if not line.startswith("warning: ")]
    assert line.startswith(fault)
    assert line.endswith(" bytes as JSON, must have at most 204800")


def test_problem_that_only_a_child_shows_names_the_service(write: Write) -> None:
    worker = GRAPH.replace("name: g\n", "name: 1g\n").replace("componentType: frontend\n", "componentType: worker\n")
    result = run("render", write(worker))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == (
        "m.yaml:7: spec.services[Frontend]: DynamoComponentDeployment 1g-frontend: metadata.name: '1g-frontend' must "
        "begin with a letter, because it is the name of a Service"
    )


def test_status_that_a_user_wrote_changes_no_rendering(write: Write) -> None:
    plain = run("render", write(GRAPH)).stdout
    result = run("render", write(f"{GRAPH}status: [1]\n"))
    assert (result.exit_code, result.stdout) == (0, plain)


def test_several_nodes_are_refused_with_what_to_install(write: Write) -> None:
    result = run("render", write(GRAPH.replace("frontend\n", "frontend\n      multinode: {nodeCount: 2}\n")))
    assert result.exit_code == 1
    assert "nothing can run them; add --with grove, or --with lws,volcano" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("render", "--with", "knative", "x.yaml"), ["knative", "grove", "istio"]),
        (("render", "--set", "nats", "x.yaml"), ["--set key=value"]),
        (("render", "--set", "nats_adress=x", "x.yaml"), ["nats_adress", "nats_address"]),
        (("render", "-n", "Not_Valid", "x.yaml"), ["Not_Valid"]),
        (("render", "--outptu", "json", "x.yaml"), ["--output"]),
        (("rendr", "x.yaml"), ["'rendr'", "did you mean render?"]),
        (("zzz", "x.yaml"), ["'zzz'"]),
        (
            ("simulate", "--timeout", "nan", "x.yaml"),
            ["'nan' is not a number above 0; write a number such as 0.5 or 120"],
        ),
        (("simulate", "--timeout", "1e9999", "x.yaml"), ["'1e9999' is not a number above 0"]),
        (("simulate", "--timeout", "x", "x.yaml"), ["'x' is not a number above 0"]),
        (("simulate", "--timeout", "0", "x.yaml"), ["'0' is not a number above 0"]),
        (("simulate", "--speed", "nan", "x.yaml"), ["'nan' is not a number above 0"]),
        (("render",), ["FILE"]),
    ],
    ids=[
        "kind",
        "pair",
        "setting",
        "namespace",
        "flag",
        "command",
        "no command",
        "nan",
        "endless",
        "no number",
        "nothing",
        "speed",
        "no file",
    ],
)
def test_wrong_usage_says_what_would_be_right(write: Write, arguments: tuple[str, ...], words: list[str]) -> None:
    write(GRAPH, "x.yaml")
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(word in result.stderr for word in words)


def test_command_looks_for_garbage_less_often_than_python_does_by_itself() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        assert run("crds").exit_code == 0
        assert gc.get_threshold() == GC_THRESHOLD_AT_START
    finally:
        gc.set_threshold(*before)
