"""`dynamo-hooks validate`: what the rules say of manifests, at which line, and the exit status."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"
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
      extraPodSpec: {mainContainer: {image: img:0.9.1}}
    "0":
      extraPodSpec: {mainContainer: {image: img:0.9.1}}
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
    "<stdin>:13: spec.services[Frontend].replicas: is -1, should be at least 0",
    "<stdin>:17: spec.services[0].sharedMemory.size is required when disabled is false",
    (
        "<stdin>:19: spec.services[0].annotations[nvidia.com/vllm-distributed-executor-backend] has invalid value "
        '"gloo": must be "mp" or "ray"'
    ),
    "<stdin>:25: spec.modelName: is missing",
    "<stdin>:29: spec.source.uri: source URI must start with 's3://' or 'hf://', got: http://x",
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
      extraPodSpec: {mainContainer: {image: img:0.9.1}}
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
        mainContainer: {image: img:0.9.1}
"""
IMAGE = "extraPodSpec: {mainContainer: {image: i:0.9.1}}"
HEADER = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n"
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
          image: img:0.9.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, m]
"""


def validate(manifests: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["validate", *options, "-"], input=manifests)


def test_every_fault_of_every_object_is_told_at_its_line() -> None:
    result = validate(BAD)
    assert (result.exit_code, result.stdout) == (1, "")
    beside = (
        "warning: <stdin>:15: spec.services[0]: the name must not be a number: Grove names a Service of its own g-0 "
        "(under Grove this is refused)"
    )
    assert result.stderr.splitlines() == [*FAULTS[:2], beside, *FAULTS[2:], "6 problems, 1 warning"]


def test_what_is_wrong_with_one_object_hides_nothing_of_the_others(tmp_path: Path) -> None:
    binary, broken, others = tmp_path / "a.yaml", tmp_path / "b.yaml", tmp_path / "c.yaml"
    binary.write_bytes(b"\xff")
    broken.write_text(f"{HEADER}metadata: {{name: g}}\nspec: {{pvc: 1, services: {{F: {{{IMAGE}}}}}}}\n---\na: [\n")
    others.write_text(
        f"{HEADER}metadata: {{name: g}}\nspec: {{services: {{F: {{replica: 1, {IMAGE}}}}}}}\n---\nkind: X\n---\n"
        f"{HEADER}metadata: {{name: 12, namespace: 3}}\nspec: {{services: {{F: {{replicas: -1, {IMAGE}}}}}}}\n"
    )
    result = CliRunner().invoke(main, ["validate", str(binary), str(broken), str(others)])
    assert result.exit_code == 1
    assert result.stderr.replace(f"{tmp_path}/", "").splitlines() == [
        "a.yaml: is not text: byte 0 is not UTF-8; write YAML or JSON in UTF-8",
        "b.yaml:4: spec.pvc: unknown field; did you mean pvcs?",
        "b.yaml:7: is not valid YAML: did not find expected node content",
        (
            "warning: c.yaml:3: metadata.name: DynamoGraphDeployment g is also in b.yaml:1; "
            "a cluster can hold only one of them"
        ),
        "c.yaml:4: spec.services[F].replica: unknown field; did you mean replicas?",
        "c.yaml:6: apiVersion: is missing; every Kubernetes object has it",
        "c.yaml:6: metadata: is missing; write metadata.name",
        'c.yaml:10: metadata.name: is the integer 12, should be a string: write "12"',
        'c.yaml:10: metadata.namespace: is the integer 3, should be a string: write "3"',
        "c.yaml:11: spec.services[F].replicas: is -1, should be at least 0",
        "9 problems, 1 warning",
    ]


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ("replicas: -1", ["spec.dgdRef: is missing", "spec.replicas: is -1, should be at least 0"]),
        (
            'replicas: 1, dgdRef: {name: "", serviceName: s}',
            ["spec.dgdRef.name: is empty"],
        ),
    ],
    ids=["above", "same field"],
)
def test_what_the_schema_says_of_a_field_is_not_said_again_by_a_rule(spec: str, faults: list[str]) -> None:
    result = validate(
        f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeploymentScalingAdapter\nmetadata: {{name: a}}\n"
        f"spec: {{{spec}}}\n"
    )
    assert result.stderr.splitlines()[:-1] == [f"<stdin>:4: {fault}" for fault in faults]


@pytest.mark.parametrize(
    ("manifests", "faults"),
    [
        (
            f"{HEADER}spec: {{services: {{F: {{{IMAGE}}}}}}}\n",
            ["<stdin>:1: metadata: is missing; write metadata.name"],
        ),
        (
            f"{HEADER}metadata: {{name: null}}\nspec: {{services: {{F: {{{IMAGE}}}}}}}\n",
            [
                "<stdin>:3: metadata.name: is missing; write metadata.name; the names of the children depend on it",
            ],
        ),
        (
            f"{HEADER}metadata: {{generateName: a-}}\nspec: {{services: {{F: {{sharedMemory: {{}}, {IMAGE}}}}}}}\n",
            [
                "<stdin>:3: metadata.name: is missing; write metadata.name; the names of the children depend on it",
                "<stdin>:4: spec.services[F].sharedMemory.size is required when disabled is false",
            ],
        ),
    ],
    ids=["no metadata", "null", "generated name"],
)
def test_object_without_a_name_is_told_so_once(manifests: str, faults: list[str]) -> None:
    assert validate(manifests).stderr.splitlines()[:-1] == faults


def test_second_object_of_one_name_hides_nothing_of_what_rules_say_of_the_name() -> None:
    manifest = f"{HEADER}metadata: {{name: {'g' * 64}}}\nspec: {{services: {{F: {{{IMAGE}}}}}}}\n"
    lines = validate(f"{manifest}---\n{manifest}").stderr.splitlines()
    assert [line for line in lines if ":8: " in line] == [
        f"<stdin>:8: metadata.name: a second DynamoGraphDeployment named {'g' * 64}, the first is at <stdin>:1",
        "<stdin>:8: metadata.name: has 64 characters, must have at most 63: it becomes a label",
    ]


def test_rendering_of_one_object_is_judged_beside_the_schema_faults_of_another() -> None:
    model = "---\napiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata: {name: m}\n"
    result = validate(f"{LEADERS}{model}", "--with", "")
    assert "nothing can run them; add --with grove, or --with lws,volcano" in result.stderr
    assert "spec: is missing" in result.stderr


def test_json_names_place_field_rule_and_severity() -> None:
    result = validate(BAD, "-o", "json")
    rows = json.loads(result.stdout)
    assert (result.exit_code, len(rows)) == (1, 7)
    assert rows[2] == {
        "file": "<stdin>",
        "line": 17,
        "column": 7,
        "path": "spec.services[0].sharedMemory.size",
        "rule": "shared-memory-size",
        "severity": "error",
        "message": "spec.services[0].sharedMemory.size is required when disabled is false",
    }


HIDING = f"""\
{HEADER}metadata: {{name: g}}
spec:
  services:
    A:
      resources: {{limits: {{gpu: 1}}}}
      {IMAGE}
    B:
      resources: {{limits: {{memory: 10GB}}}}
      {IMAGE}
"""


def test_number_for_text_in_one_service_hides_nothing_of_the_next() -> None:
    lines = validate(HIDING).stderr.splitlines()
    assert len(lines) == 3
    assert (
        lines[0] == '<stdin>:7: spec.services[A].resources.limits.gpu: is the integer 1, should be a string: write "1"'
    )
    assert lines[1].startswith("<stdin>:10: spec.services[B].resources.limits.memory: ")
    rows = json.loads(validate(HIDING, "-o", "json").stdout)
    assert [(row["line"], row["column"], row["path"], row["rule"]) for row in rows] == [
        (7, 28, "spec.services[A].resources.limits.gpu", "type"),
        (10, 28, "spec.services[B].resources.limits.memory", "resource-quantity"),
    ]


def test_two_volumes_of_one_name_are_one_fault() -> None:
    volumes = "volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]"
    pod = f"extraPodSpec: {{mainContainer: {{image: i:0.9.1}}, {volumes}}}"
    result = validate(f"{HEADER}metadata: {{name: g}}\nspec: {{services: {{F: {{{pod}}}}}}}\n")
    assert result.stderr.splitlines() == [
        "<stdin>:4: spec.services[F].extraPodSpec.volumes[1]: repeats name v of entry 0; every entry needs its own",
        "1 problem",
    ]


def test_what_follows_from_a_field_of_the_wrong_type_is_left_out() -> None:
    restart = "restart: {id: '1', strategy: {order: [F]}}"
    topology = "topologyConstraint: {topologyProfile: p, packDomain: {}}"
    manifest = f"{HEADER}metadata: {{name: g}}\nspec: {{services: [], {restart}, {topology}}}\n"
    assert validate(manifest).stderr.splitlines() == [
        "<stdin>:4: spec.services: is an array, should be an object",
        "<stdin>:4: spec.topologyConstraint.packDomain: is an object, should be a string",
        "2 problems",
    ]


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
    words = (
        "<stdin>:7: spec.services[Picker]: an endpoint picker needs the kind InferencePool; add --with inference-pool"
    )
    assert (words in result.stderr) is bool(status)


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 0), (("--with", ""), 1), (("--with", "lws,volcano"), 0), (("--with", "grove"), 0)],
    ids=["unknown", "none", "lws", "grove"],
)
def test_what_cannot_be_rendered_on_that_cluster_is_a_fault(options: tuple[str, ...], status: int) -> None:
    result = validate(LEADERS, *options)
    assert result.exit_code == status, result.output


BROKEN = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  services:
    main:
      envs:
        - name: DYN_DEPLOYMENT_CONFIG
          value: "{"
      extraPodSpec: {mainContainer: {image: img:0.9.1}}
"""


@pytest.mark.parametrize("options", [(), ("--with", "")], ids=["unknown", "none"])
def test_deployment_config_that_cannot_be_read_is_told_once(options: tuple[str, ...]) -> None:
    result = validate(BROKEN, *options)
    assert result.exit_code == 1
    fault, summary = result.stderr.splitlines()
    assert "spec.services[main].envs[0].value: failed to parse DYN_DEPLOYMENT_CONFIG: it is not JSON" in fault
    assert summary == "1 problem"


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
    lines = result.stderr.splitlines()
    assert [line for line in lines if "of Secret default/mpi-run-ssh-secret" not in line] == []
    assert {Path(line.removeprefix("warning: ").partition(":")[0]).stem for line in lines} == {
        "trtllm-disagg-multinode"
    }


PATHS = {
    "a name too long for Grove": ("nine-long", "Worker" * 6 + "38", "", "under Grove this is refused"),
    "a name that Grove cannot have": ("a.b", "w", "", "under Grove this is refused"),
    "a deadline": ("g", "w", "activeDeadlineSeconds: 60, ", "without Grove this is refused"),
}


@pytest.mark.parametrize(("name", "service", "field", "said"), PATHS.values(), ids=PATHS)
def test_what_one_path_refuses_is_a_warning_while_the_path_is_unknown(
    name: str, service: str, field: str, said: str
) -> None:
    text = GRAPH_OF_ONE.format(name=name, service=service, field=field)
    by_grove, in_deployment = said.startswith("under"), said.startswith("without")
    plain = CliRunner().invoke(main, ["validate", "-"], input=text)
    assert (plain.exit_code, said in plain.stderr) == (0, True), plain.stderr
    for command in ("validate", "render"):
        under = CliRunner().invoke(main, [command, "--with", "grove", "-"], input=text)
        assert (under.exit_code != 0) is by_grove, under.stderr
    assert (CliRunner().invoke(main, ["validate", "--with", "", "-"], input=text).exit_code != 0) is in_deployment
    assert (CliRunner().invoke(main, ["render", "-"], input=text).exit_code != 0) is in_deployment


GRAPH_OF_ONE = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: {name}}}
spec:
  services:
    {service}:
      componentType: worker
      extraPodSpec: {{{field}mainContainer: {{image: "i:1.5.0"}}}}
"""
