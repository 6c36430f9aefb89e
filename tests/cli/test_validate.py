"""`dynamo-hooks validate`: what the rules say of manifests, at which line, and the exit status."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
BAD = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  pvcs:
    - name: a
    - create: false
      name: ""
  services:
    Frontend:
      componentType: frontend
      replicas: -1
    "0":
      sharedMemory: {}
      annotations:
        nvidia.com/vllm-distributed-executor-backend: gloo
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata:
  name: m
spec:
  baseModelName: base
  modelType: lora
  source:
    uri: http://x
"""
FAULTS = [
    "<stdin>:9: spec.pvcs[1].name is required",
    "<stdin>:13: spec.services.Frontend.replicas: is -1, should be at least 0",
    "<stdin>:13: spec.services[Frontend].replicas must be non-negative",
    "<stdin>:15: spec.services[0].sharedMemory.size is required when disabled is false",
    (
        "<stdin>:17: spec.services[0].annotations[nvidia.com/vllm-distributed-executor-backend] has invalid value "
        '"gloo": must be "mp" or "ray"'
    ),
    "<stdin>:23: spec.modelName: is missing",
    "<stdin>:27: source URI must start with 's3://' or 'hf://', got: http://x",
]
WARNED = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  services:
    main:
      dynamoNamespace: mine
"""
WARNING = (
    "spec.services[main].dynamoNamespace is deprecated and ignored. Value 'mine' will be replaced with 'default-g'. "
    "Remove this field from your configuration"
)
PICKER = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  services:
    Picker:
      componentType: epp
      eppConfig:
        configMapRef: {name: a, key: b}
      extraPodSpec:
        mainContainer: {image: img}
"""
LEADERS = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  services:
    Worker:
      componentType: worker
      multinode: {nodeCount: 2}
      resources: {limits: {gpu: "1"}}
      extraPodSpec:
        mainContainer:
          image: img
          command: [python3, -m, dynamo.vllm]
          args: [--model, m]
"""


def validate(manifests: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["validate", *options, "-"], input=manifests)


def test_every_fault_of_every_object_is_told_at_its_line() -> None:
    result = validate(BAD)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [*FAULTS, "7 faults; nothing was done"]


def test_json_names_field_and_severity() -> None:
    result = validate(BAD, "-o", "json")
    rows = json.loads(result.stdout)
    assert (result.exit_code, len(rows)) == (1, 7)
    assert rows[3] == {
        "file": "<stdin>",
        "line": 15,
        "severity": "error",
        "field": "spec.services[0].sharedMemory.size",
        "message": "spec.services[0].sharedMemory.size is required when disabled is false",
    }


def test_warning_is_told_and_no_fault() -> None:
    result = validate(WARNED)
    assert (result.exit_code, result.stdout) == (0, "1 manifest valid, 1 warning\n")
    assert result.stderr == f"warning: <stdin>:8: {WARNING}\n"
    rows = json.loads(validate(WARNED, "-o", "json").stdout)
    assert [(row["severity"], row["line"], row["message"]) for row in rows] == [("warning", 8, WARNING)]


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 0), (("--with", ""), 1), (("--with", "inference-pool"), 0)],
    ids=["unknown", "none", "installed"],
)
def test_rule_about_an_optional_kind_needs_to_know_it(options: tuple[str, ...], status: int) -> None:
    result = validate(PICKER, *options)
    assert result.exit_code == status
    assert ("<stdin>:7: spec.services[Picker]: cannot deploy EPP component" in result.stderr) is bool(status)


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 0), (("--with", ""), 1), (("--with", "lws,volcano"), 0), (("--with", "grove"), 0)],
    ids=["unknown", "none", "lws", "grove"],
)
def test_what_cannot_be_rendered_on_that_cluster_is_a_fault(options: tuple[str, ...], status: int) -> None:
    result = validate(LEADERS, *options)
    assert result.exit_code == status, result.output


def test_settings_decide_where_rules_ask_them() -> None:
    request = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeploymentRequest
metadata: {name: r}
spec:
  model: m
  backend: vllm
  enableGpuDiscovery: true
  profilingConfig: {profilerImage: i, config: {}}
"""
    assert validate(request).exit_code == 0
    result = validate(request, "--set", "installation=team-a")
    assert result.exit_code == 1
    assert result.stderr.startswith("<stdin>:7: spec.enableGpuDiscovery can only be set to true for cluster-wide")
    assert validate(request, "--set", "instalation=team-a").exit_code == 2


@pytest.mark.parametrize(
    "options", [(), ("--with", "grove,inference-pool", "--set", "grove_topology=pack")], ids=["unknown", "grove"]
)
def test_examples_are_valid(options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["validate", *options, str(EXAMPLES)])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
