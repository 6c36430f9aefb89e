"""`validate`, `render` and `simulate` of v1beta1: the same result as v1alpha1, problems in the written version."""

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from tests.fuzzing.mutations import list_paths, put
from tests.tools.cli.versions import ALPHA, BETA, BETA_ADAPTER, BETA_COMPONENT, CONFIG_MAP

ADAPTER_IS_ON = (
    "warning: <stdin>:19: spec.components[1].scalingAdapter: {} is on in v1beta1 and off in v1alpha1; remove the field "
    "if no scaling adapter should set the replicas"
)
MAIN = "spec.components[1].podTemplate.spec.containers[0]"


def run(command: str, manifests: str, *options: str) -> Result:
    return CliRunner().invoke(main, [command, *options, "-"], input=manifests)


def faults_of(manifests: str, *options: str) -> list[str]:
    lines = run("validate", manifests, *options).stderr.splitlines()
    return [line.removeprefix("<stdin>:") for line in lines if line.startswith("<stdin>:")]


def test_the_same_graph_in_both_versions_renders_the_same_bytes() -> None:
    alpha, beta = run("render", ALPHA), run("render", BETA)
    assert (alpha.exit_code, beta.exit_code) == (0, 0), beta.output
    assert beta.stdout == alpha.stdout
    assert "DynamoGraphDeploymentScalingAdapter" in beta.stdout


def test_component_and_adapter_of_v1beta1_are_valid_and_the_component_renders() -> None:
    both = f"{BETA_COMPONENT}---\n{BETA_ADAPTER}"
    assert run("validate", both).stdout == "2 manifests valid\n"
    kinds = [found["kind"] for found in yaml.safe_load_all(run("render", both).stdout)]
    assert kinds[0] == "Deployment"


def test_adapter_of_v1beta1_is_on_and_validate_says_that_it_is_not_in_v1alpha1() -> None:
    result = run("validate", BETA)
    assert (result.exit_code, result.stdout) == (0, "1 manifest valid, 1 warning\n")
    assert result.stderr.splitlines() == [ADAPTER_IS_ON]


@pytest.mark.parametrize(
    ("written", "words"),
    [("{}", "{} is off in v1alpha1 and on in v1beta1"), ("{enabled: true}", ""), ("{enabled: false}", "")],
    ids=["empty", "on", "off"],
)
def test_adapter_of_v1alpha1_is_warned_about_only_if_it_says_neither_on_nor_off(written: str, words: str) -> None:
    manifest = ALPHA.replace("scalingAdapter:\n        enabled: true\n", f"scalingAdapter: {written}\n")
    result = run("validate", manifest)
    assert result.exit_code == 0
    found = [line for line in result.stderr.splitlines() if "scalingAdapter" in line]
    assert len(found) == bool(words)
    assert all(words in line and line.startswith("warning: <stdin>:17: spec.services[Worker]") for line in found)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("limits:", "limit:", f"27: {MAIN}.resources.limit: unknown field"),
        ("type: worker", "componentType: worker", "componentType: unknown field; this version has type instead"),
        ("type: worker", "typ: worker", "17: spec.components[1].typ: unknown field"),
        ("replicas: 2", "replicas: two", '18: spec.components[1].replicas: is the string "two", should be an integer'),
        ('gpu: "1"', 'gpu: "1.5"', f"28: {MAIN}.resources.limits[nvidia.com/gpu]"),
        ("name: Worker", "names: Worker", "16: spec.components[1].name: is missing"),
        ("name: Worker", "name: Frontend", "16: spec.components[1]: repeats name Frontend of entry 0"),
        (
            "name: Worker",
            "name: frontend",
            "spec.components[1]: its objects would be named g-frontend, as those of spec.components[0]",
        ),
        ("type: frontend", "type: front", '9: spec.components[0].type: is "front", should be one of frontend, worker'),
        ("vllm]", "vllm]\n              env: [{name: 1}]", f"26: {MAIN}.env[0].name: is the integer 1"),
        ("backendFramework: vllm", "backendFramework: tgi", '6: spec.backendFramework: is "tgi", should be one of'),
    ],
    ids=[
        "alpha",
        "unknown",
        "misspelt",
        "type",
        "value",
        "nameless",
        "twice",
        "case",
        "enum",
        "in a list",
        "framework",
    ],
)
def test_problem_names_path_and_line_of_the_written_version(old: str, new: str, fault: str) -> None:
    head, found, tail = BETA.rpartition(old)
    assert found
    faults = faults_of(f"{head}{new}{tail}")
    assert any(fault in one for one in faults), faults
    assert all("services" not in one and "mainContainer" not in one for one in faults)


def test_field_of_the_other_version_is_answered_with_its_name_in_this_one() -> None:
    beta, alpha = BETA.replace("components:", "services:"), ALPHA.replace("services:", "components:")
    assert "7: spec.services: unknown field; this version has components instead" in faults_of(beta)
    assert "7: spec.components: unknown field; this version has services instead" in faults_of(alpha)


def test_json_has_path_line_and_column_of_the_written_version() -> None:
    manifest = BETA.replace('nvidia.com/gpu: "1"', 'nvidia.com/gpu: "1.5"')
    rows = json.loads(run("validate", manifest, "-o", "json").stdout)
    (row,) = [row for row in rows if row["severity"] == "error"]
    assert (row["line"], row["column"], row["path"]) == (28, 19, f"{MAIN}.resources.limits[nvidia.com/gpu]")


def test_rule_of_v1alpha1_is_told_with_the_paths_and_words_of_v1beta1() -> None:
    restart = "  restart: {id: a, strategy: {order: [Frontend, Wrker]}}\n"
    lines = faults_of(BETA.replace("  components:\n", f"{restart}  components:\n"))
    assert lines == ["7: spec.restart.strategy.order contains unknown component: Wrker"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "name: main",
            "name: engine",
            (
                "22: spec.components[1].podTemplate.spec.containers: no container is named main; name the container "
                "that runs Dynamo main, and give it an image"
            ),
        ),
        (
            "image: img:0.9.1",
            "imagePullPolicy: Always",
            f"23: {MAIN}.image: is required; nothing else gives the container",
        ),
        (
            "type: worker",
            "type: worker\n      frontendSidecar: side",
            (
                "18: spec.components[1].frontendSidecar: no container of the podTemplate is named 'side'; write the "
                "name of one of its containers"
            ),
        ),
    ],
    ids=["no main", "no image", "sidecar"],
)
def test_rule_that_only_v1beta1_has_is_told_once(old: str, new: str, fault: str) -> None:
    head, _, tail = BETA.rpartition(old)
    (found,) = faults_of(f"{head}{new}{tail}", "--with", "")
    assert found.startswith(fault)


def test_second_endpoint_picker_is_refused_by_its_type() -> None:
    picker = """\
    - name: {name}
      type: epp
      eppConfig: {{configMapRef: {{name: a, key: b}}}}
      podTemplate: {{spec: {{containers: [{{name: main, image: img:1}}]}}}}
"""
    manifest = BETA + picker.format(name="One") + picker.format(name="Two")
    assert faults_of(manifest) == [
        (
            "34: spec.components[3].type: spec.components[2] is an endpoint picker too; a graph has at most one "
            "component of type epp"
        )
    ]


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        (
            BETA.replace("v1beta1", "v2"),
            "apiVersion: is nvidia.com/v2, should be nvidia.com/v1alpha1 or nvidia.com/v1beta1",
        ),
        (
            "apiVersion: nvidia.com/v1beta1\nkind: DynamoModel\nmetadata: {name: m}\n",
            "apiVersion: is nvidia.com/v1beta1, should be nvidia.com/v1alpha1",
        ),
    ],
    ids=["unknown", "model"],
)
@pytest.mark.parametrize("command", ["validate", "render", "simulate", "convert"])
def test_version_that_is_not_served_is_refused_with_those_that_are(command: str, manifest: str, fault: str) -> None:
    options = ("--to", "v1alpha1") if command == "convert" else ()
    result = run(command, manifest, *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [f"<stdin>:1: {fault}", "1 problem"]


def test_graph_of_one_name_in_both_versions_is_one_object_given_twice() -> None:
    (fault,) = faults_of(f"{BETA}---\n{ALPHA}")
    assert fault == "33: metadata.name: a second DynamoGraphDeployment named g, the first is at <stdin>:1"


def test_components_of_one_name_are_named_by_the_paths_of_their_own_versions() -> None:
    other = BETA_COMPONENT.replace("name: c\n", "name: g-worker\n")
    (fault,) = faults_of(f"{BETA}---\n{other}")
    assert "DynamoGraphDeployment g, spec.components[1] (<stdin>:16)" in fault


def test_problem_that_only_rendering_finds_has_the_written_path() -> None:
    manifest = BETA.replace("      scalingAdapter: {}\n", "      multinode: {nodeCount: 2}\n")
    (fault,) = faults_of(manifest, "--with", "")
    assert "add --with grove, or --with lws,volcano" in fault
    assert "spec.components" in fault


def test_other_kinds_stay_beside_a_graph_of_v1beta1() -> None:
    documents = list(yaml.safe_load_all(run("render", f"{CONFIG_MAP}---\n{BETA}").stdout))
    assert documents[0] == yaml.safe_load(CONFIG_MAP)


def test_simulation_takes_a_graph_of_v1beta1_to_ready() -> None:
    result = run("simulate", BETA, "--speed", "100")
    assert result.exit_code == 0, result.output
    assert ADAPTER_IS_ON in result.stderr
    assert "all Ready" in result.stderr


ODD_VALUES: list[Any] = [None, 1, True, "", [], {}, [None], [[]], {"name": "x"}, [{"name": "main"}], [{"name": []}]]


@pytest.mark.parametrize("odd", ODD_VALUES, ids=repr)
def test_odd_value_of_any_field_is_a_problem_with_a_written_path_or_none(odd: Any) -> None:
    whole = yaml.safe_load(BETA.replace("      scalingAdapter: {}\n", "      multinode: {nodeCount: 2}\n"))
    whole["spec"]["components"][0]["podTemplate"]["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    for path in list_paths(whole):
        if len(path) > 1 and path[0] in {"metadata", "spec"}:
            result = run("validate", json.dumps(put(whole, path, odd)), "-o", "json")
            assert isinstance(result.exception, SystemExit | None), (path, result.exception)
            assert all(row["path"].startswith(("metadata", "spec")) for row in json.loads(result.stdout)), path
            assert "spec.services" not in result.stdout, path


@pytest.mark.parametrize(("written", "has_adapter"), [("{enabled: true}", True), ("{enabled: false}", False)])
def test_adapter_of_v1beta1_can_be_switched(written: str, *, has_adapter: bool) -> None:
    manifest = BETA.replace("scalingAdapter: {}", f"scalingAdapter: {written}")
    result = run("render", manifest)
    assert result.exit_code == 0, result.stderr
    assert "scalingAdapter" not in result.stderr, "it says itself whether it is on"
    assert ("kind: DynamoGraphDeploymentScalingAdapter" in result.stdout) is has_adapter
