"""The command `dynamo-hooks explain`: what it says, what it does not show, and questions that it cannot answer."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from hooks.server.commands.main import main
from tests.tools.offline.explain.asked import EXAMPLES, explain

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: chat
spec:
  envs:
    - {name: LEVEL, value: of-the-graph}
    - {name: TOKEN, value: s3cr3t}
  services:
    Frontend:
      componentType: frontend
      extraPodSpec:
        mainContainer:
          image: registry.example.com/vllm-runtime:1.6.1
    Worker:
      componentType: worker
      replicas: 2
      envs:
        - {name: LEVEL, value: of-the-service}
        - {name: DYN_SYSTEM_PORT, value: "9191"}
      extraPodSpec:
        mainContainer:
          image: registry.example.com/vllm-runtime:1.6.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-0.6B]
"""
BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: chat
spec:
  components:
    - name: Worker
      type: worker
      multinode: {nodeCount: 2}
      podTemplate:
        spec:
          terminationGracePeriodSeconds: 300
          containers:
            - name: main
              image: registry.example.com/vllm-runtime:1.6.1
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-0.6B]
              resources: {limits: {nvidia.com/gpu: "4"}}
"""
PULL_SECRET = """\
---
apiVersion: v1
kind: Secret
metadata:
  name: registry
  namespace: default
  labels: {nvidia.com/image-pull: "true"}
type: kubernetes.io/dockerconfigjson
data:
  .dockerconfigjson: eyJhdXRocyI6eyJyZWdpc3RyeS5leGFtcGxlLmNvbSI6eyJhdXRoIjoiYzJWamNtVjAifX19
"""
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write_file(text: str) -> str:
        Path("graph.yaml").write_text(text)
        return "graph.yaml"

    return write_file


def said(*arguments: str) -> str:
    result = explain(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


MADE = """\
Deployment/chat-worker: spec.template.spec.containers[main].env[DYN_NAMESPACE].value
  "default-chat"

made from
  graph.yaml:4 metadata.name: "chat"
  option --namespace: "default"

to change it, write
  spec.services[Worker].extraPodSpec.mainContainer.env[DYN_NAMESPACE].value
  spec.envs[DYN_NAMESPACE].value
  spec.services[Worker].envs[DYN_NAMESPACE].value

changed too by
  spec.services[Worker].globalDynamoNamespace: with true it is "dynamo"
"""
OVERRIDING = """\
Deployment/chat-worker: spec.template.spec.containers[main].env[LEVEL].value
  "of-the-service"

copied from
  graph.yaml:19 spec.services[Worker].envs[0].value

without that
  "of-the-graph", if graph.yaml:19 spec.services[Worker].envs[0] were not written
    from graph.yaml:7 spec.envs[0].value
"""
DEFAULT = """\
  "9090", if graph.yaml:20 spec.services[Worker].envs[1] were not written
    built in
"""
PULLED = """\
copied from
  Secret/registry: metadata.name: "registry"
"""


def test_variable_that_is_made_of_two_inputs(write: Write) -> None:
    assert said(write(GRAPH), "-s", "Worker", "env[DYN_NAMESPACE]") == MADE


def test_variable_of_the_service_overrides_that_of_the_graph(write: Write) -> None:
    assert said(write(GRAPH), "-s", "worker", "spec.template.spec.containers[main].env[LEVEL]").startswith(OVERRIDING)


def test_variable_of_the_service_overrides_the_default_of_its_type(write: Write) -> None:
    assert DEFAULT in said(write(GRAPH), "-s", "Worker", "env[DYN_SYSTEM_PORT]")


def test_field_has_the_path_and_line_of_the_version_that_was_written(write: Write) -> None:
    text = said(write(BETA), "--with", "lws,volcano", "spec.template.spec.terminationGracePeriodSeconds")
    assert text.startswith("LeaderWorkerSet/chat-worker-0: spec.leaderWorkerTemplate.leaderTemplate.spec.termination")
    assert "\n  graph.yaml:12 spec.components[0].podTemplate.spec.terminationGracePeriodSeconds: 300\n" in text
    assert "\n  100, if graph.yaml:12 spec.components[0]" in text


def test_field_of_a_clique(write: Write) -> None:
    text = said(write(BETA), "--with", "grove", "resources.limits[nvidia.com/gpu]")
    assert text.startswith(
        "PodCliqueSet/chat: spec.template.cliques[worker-ldr].spec.podSpec.containers[main].resources"
    )
    assert "copied from\n  graph.yaml:18 spec.components[0]" in text


def test_field_of_another_object_begins_with_it(write: Write) -> None:
    text = said(write(GRAPH), "Service/chat-frontend: spec.ports[http].port")
    assert "\n  8000\n\ndefault\n  built in\n" in text
    assert 'decided by\n  graph.yaml:11 spec.services[Frontend].componentType: "frontend"' in text


def test_setting_is_named_with_the_annotation_that_overrides_it(write: Write) -> None:
    text = said(write(GRAPH), "-s", "Worker", "env[DYN_DISCOVERY_BACKEND]")
    assert 'copied from\n  setting discovery_backend: "kubernetes"\n' in text
    assert "\n  metadata.annotations[nvidia.com/dynamo-discovery-backend] (kubernetes | etcd)\n" in text


def test_discovered_secret_is_named_without_its_data(write: Write) -> None:
    text = said(write(GRAPH + PULL_SECRET), "-s", "Worker", "imagePullSecrets")
    assert PULLED in text
    assert 'setting image_pull_secrets: "labelled"; with "off" the field is gone' in text
    assert "auths" not in text
    assert "eyJ" not in text


def test_copied_key_of_a_secret_is_not_shown(write: Write) -> None:
    key = "data: {private.key: czNjcjN0, private.key.pub: cHVibGlj}\n"
    secret = f"---\napiVersion: v1\nkind: Secret\nmetadata: {{name: mpi-run-ssh-secret, namespace: dynamo}}\n{key}"
    graph = (EXAMPLES / "trtllm-disagg-multinode.yaml").read_text()
    options = ("--with", "lws,volcano", "--set", "mpi_secret=dynamo/mpi-run-ssh-secret")
    question = "Secret/trtllm-multi-mpi-ssh: data"
    listed = said(write(f"{graph}{secret}"), *options, question)
    assert "data[private.key] = (not shown)  # Secret/mpi-run-ssh-secret: data[private.key]\n" in listed
    assert "czNj" not in listed
    assert "czNj" not in said("graph.yaml", *options, f"{question}[private.key]")
    assert "czNj" not in said("graph.yaml", *options, f"{question}[private.key]", "-o", "json")


def test_field_with_another_name_is_found_by_experiment(write: Write) -> None:
    text = said(write(GRAPH), "-s", "Worker", "volumes[shared-memory].emptyDir.sizeLimit")
    assert "to change it, write\n  spec.services[Worker].sharedMemory.size\n" in text
    assert "spec.services[Worker].sharedMemory.disabled: with true the field is gone" in text


def test_variables_of_the_user_are_only_shown_if_they_are_asked_for(write: Write) -> None:
    listed = said(write(GRAPH), "-s", "Worker", "env")
    assert "env[TOKEN].value = (not shown)  # graph.yaml:8 spec.envs[1].value\n" in listed
    assert 'env[DYN_PARENT_DGD_K8S_NAME].value = "chat"  # graph.yaml:4 metadata.name\n' in listed
    assert "s3cr3t" not in listed
    assert "s3cr3t" not in said("graph.yaml", "-s", "Worker", "-o", "json")
    assert "s3cr3t" in said("graph.yaml", "-s", "Worker", "env[TOKEN]")


def test_all_values_of_a_service_are_listed_below_their_objects(write: Write) -> None:
    lines = said(write(GRAPH), "-s", "Worker").splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["Deployment/chat-worker", "Service/chat-worker"]
    assert "  spec.replicas = 2  # graph.yaml:17 spec.services[Worker].replicas" in lines
    assert all("  # " in line for line in lines if line.startswith(" "))


def test_origin_as_json(write: Write) -> None:
    [found] = orjson.loads(said(write(GRAPH), "-s", "Worker", "spec.replicas", "-o", "json"))
    assert found["object"] == {"kind": "Deployment", "name": "chat-worker"}
    assert (found["path"], found["value"]) == ("spec.replicas", 2)
    assert found["inputs"] == [
        {
            "mode": "copied",
            "kind": "field",
            "name": "spec.services[Worker].replicas",
            "file": "graph.yaml",
            "line": 17,
            "value": 2,
            "tried": 3,
            "then": 3,
        }
    ]
    assert [(one["without"]["name"], one["value"]) for one in found["overrides"]] == [
        ("spec.services[Worker].replicas", 1)
    ]


def test_what_is_said_to_change_a_value_changes_the_rendering(write: Write) -> None:
    [found] = orjson.loads(said(write(GRAPH), "-s", "Worker", "livenessProbe.periodSeconds", "-o", "json"))
    assert "spec.services[Worker].extraPodSpec.mainContainer.livenessProbe.periodSeconds" in [
        one["name"] for one in found["levers"] if one["follows"]
    ]
    edited = f"{GRAPH}          livenessProbe: {{periodSeconds: 77}}\n"
    rendered = CliRunner().invoke(main, ["render", "-o", "json", write(edited)])
    [worker] = [
        one
        for one in orjson.loads(rendered.stdout)
        if (one["kind"], one["metadata"]["name"]) == ("Deployment", "chat-worker")
    ]
    assert worker["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["periodSeconds"] == 77


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["-s", "Worker", "terminationGracePeriod"],
            "Deployment chat-worker has no field terminationGracePeriod; near is terminationGracePeriodSeconds\n",
        ),
        (["-s", "Wroker", "image"], "there is no service Wroker; services are Frontend, Worker\n"),
        (["Service/chat: spec"], "no manifest here makes Service/chat\n"),
        (
            ["Service/chat-frontend: spec.prots"],
            "Service chat-frontend has no field spec.prots; near are spec.ports[http].port, ",
        ),
        (["-s", "Worker", "]["], "Deployment chat-worker has no field ][\n"),
    ],
)
def test_question_without_an_answer_is_one_sentence(arguments: list[str], sentence: str, write: Write) -> None:
    result = explain(write(GRAPH), *arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(sentence)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_refused_manifest_is_told_as_by_the_other_commands(write: Write) -> None:
    result = explain(write(GRAPH.replace("replicas: 2", "replicas: two")), "-s", "Worker", "image")
    assert result.exit_code == 1
    assert result.stderr.startswith("graph.yaml:17: spec.services[Worker].replicas: ")


def test_manifest_without_a_graph_has_nothing_to_explain(write: Write) -> None:
    result = explain(write(PULL_SECRET), "image")
    assert (result.exit_code, result.stderr) == (1, "there is no graph, component or request to explain\n")


def test_two_documents_with_the_same_service_are_told_apart_by_the_object(write: Write) -> None:
    both = f"{GRAPH}---\n{GRAPH.replace('name: chat', 'name: talk')}"
    assert explain(write(both), "image").stderr == (
        "there are several manifests to explain; begin FIELD with the object, "
        "or choose a service with -s: Frontend, Worker\n"
    )
    result = explain(write(both), "-s", "Worker", "image")
    assert result.exit_code == 1
    assert result.stderr == (
        "several manifests have a service Worker: DynamoGraphDeployment chat, DynamoGraphDeployment talk; "
        "begin FIELD with the object, such as Deployment/NAME: image\n"
    )
    assert "graph.yaml:49 " in said("graph.yaml", "Deployment/talk-worker: image")


def test_problem_of_a_manifest_that_is_not_meant_is_no_obstacle(write: Write) -> None:
    wrong = GRAPH.replace("name: chat", "name: talk").replace("replicas: 2", "replicas: two")
    assert "copied from" in said(write(f"{GRAPH}---\n{wrong}"), "Deployment/chat-worker: image")
    assert explain("graph.yaml", "Deployment/talk-worker: image").exit_code == 1


@pytest.mark.parametrize("broken", ["spec: 1", "spec: {services: 1}", "spec: {components: [1]}"])
def test_manifest_that_is_no_graph_is_refused(broken: str, write: Write) -> None:
    head = GRAPH.partition("spec:")[0]
    result = explain(write(f"{head}{broken}\n"), "-s", "Worker", "image")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("graph.yaml:5: spec")


def test_example_of_a_request_is_explained_by_its_job() -> None:
    text = said(str(EXAMPLES / "request-aic.yaml"), "containers[profiler].image")
    assert text.startswith("Job/profile-qwen-aic: spec.template.spec.containers[profiler].image\n")


@pytest.mark.parametrize("service", ["Worker", "Frontend"])
def test_warnings_of_the_service_are_told(service: str, tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_text(GRAPH.replace("[--model, ", "[--is-decode-worker, --model, "))
    result = CliRunner().invoke(main, ["explain", str(tmp_path / "graph.yaml"), "-s", service, "args"])
    told = "takes --is-decode-worker only before 1.4.0" in result.stderr
    assert told == (service == "Worker"), result.stderr


def test_warnings_of_the_service_are_told_in_v1beta1(tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_text(BETA.replace("[--model, ", "[--is-decode-worker, --model, "))
    asked = ["explain", str(tmp_path / "graph.yaml"), "-s", "Worker", "--with", "lws,volcano", "replicas"]
    place = "spec.components[0].podTemplate.spec.containers[0].args"
    assert f"{place}: dynamo.vllm takes --is-decode-worker" in CliRunner().invoke(main, asked).stderr
