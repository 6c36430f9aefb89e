"""`convert`: the other version, in order, with everything that can be kept."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from hooks.tools.offline.manifests.converting import find_refused
from tests.tools.cli.versions import ALPHA, BETA, BETA_ADAPTER, CONFIG_MAP

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.yaml"))
KINDS = "grove,istio,inference-pool,lws,volcano"
MODEL = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata: {name: m}\nspec: {modelName: a}\n"


def convert(manifests: str, version: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["convert", "--to", version, *options, "-"], input=manifests)


def read(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.stdout))


def test_graph_gets_the_fields_of_the_other_version() -> None:
    (beta,) = read(convert(ALPHA, "v1beta1"))
    assert beta["apiVersion"] == "nvidia.com/v1beta1"
    assert beta["spec"] == yaml.safe_load(BETA)["spec"]
    (alpha,) = read(convert(BETA, "v1alpha1"))
    assert alpha["spec"] == yaml.safe_load(ALPHA)["spec"]


@pytest.mark.parametrize(("manifest", "there", "back"), [(ALPHA, "v1beta1", "v1alpha1"), (BETA, "v1alpha1", "v1beta1")])
def test_conversion_there_and_back_gives_the_same_object(manifest: str, there: str, back: str) -> None:
    assert read(convert(convert(manifest, there).stdout, back)) == [yaml.safe_load(manifest)]


def test_documents_keep_their_order_and_other_kinds_their_bytes() -> None:
    result = convert(f"{CONFIG_MAP}---\n{BETA_ADAPTER}---\n{MODEL}---\n{ALPHA}", "v1alpha1")
    assert [found["kind"] for found in read(result)] == [
        "ConfigMap",
        "DynamoGraphDeploymentScalingAdapter",
        "DynamoModel",
        "DynamoGraphDeployment",
    ]
    assert result.stdout.startswith('---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\ndata:\n  b: "1"\n')
    assert read(result)[1]["spec"] == {"replicas": 2, "dgdRef": {"name": "g", "serviceName": "Worker"}}
    assert read(result)[3] == yaml.safe_load(ALPHA)


def test_namespace_is_only_there_if_it_was_written() -> None:
    assert "namespace" not in convert(ALPHA, "v1beta1").stdout
    written = ALPHA.replace("  name: g\n", "  name: g\n  namespace: mine\n")
    assert read(convert(written, "v1beta1"))[0]["metadata"] == {"name": "g", "namespace": "mine"}


def test_json_is_a_list_of_all_objects() -> None:
    rows = json.loads(convert(f"{ALPHA}---\n{CONFIG_MAP}", "v1beta1", "-o", "json").stdout)
    assert [row["apiVersion"] for row in rows] == ["nvidia.com/v1beta1", "v1"]


def test_files_and_directories_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(ALPHA)
    (tmp_path / "a.yaml").write_text(ALPHA.replace("name: g\n", "name: first\n"))
    (tmp_path / "values.yaml").write_text("kinds: 3\n")
    result = CliRunner().invoke(main, ["convert", "--to", "v1beta1", str(tmp_path)])
    assert [found["metadata"] for found in read(result)] == [{"name": "first"}, {"name": "g"}]


def test_adapter_that_means_the_opposite_in_the_other_version_is_named() -> None:
    manifest = ALPHA.replace("scalingAdapter:\n        enabled: true\n", "scalingAdapter: {}\n")
    result = convert(manifest, "v1beta1")
    assert "warning: <stdin>:17: spec.services[Worker].scalingAdapter: {} is off in v1alpha1 and on" in result.stderr
    (beta,) = read(result)
    components = beta["spec"]["components"]  # type: ignore[index] # a graph
    assert [component["name"] for component in components if "scalingAdapter" in component] == []
    assert read(convert(result.stdout, "v1alpha1")) == [yaml.safe_load(manifest)]


def test_unknown_field_is_kept_and_named() -> None:
    manifest = ALPHA.replace("      componentType: worker\n", "      componentTyp: worker\n")
    result = convert(manifest, "v1beta1")
    assert "warning: <stdin>:15: spec.services[Worker].componentTyp: unknown field" in result.stderr
    assert read(convert(result.stdout, "v1alpha1")) == [yaml.safe_load(manifest)]


@pytest.mark.parametrize("manifest", ["a: [\n", "kind: X\nmetadata: {name: a}\n", ""], ids=["text", "header", "empty"])
def test_what_cannot_be_read_is_refused_without_output(manifest: str) -> None:
    result = convert(manifest, "v1beta1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("1 problem\n")


PICKERS = ALPHA.replace("componentType: frontend", "componentType: epp").replace(
    "componentType: worker", "componentType: epp"
)
UNSAYABLE = {
    "type main": ALPHA.replace("componentType: worker", "componentType: main"),
    "type default": ALPHA.replace("componentType: worker", "componentType: default"),
    "variable twice": ALPHA.replace(
        "      componentType: worker\n",
        "      componentType: worker\n      envs: [{name: X, value: a}, {name: Y, value: b}, {name: X, value: c}]\n",
    ),
    "two pickers": PICKERS,
    "release": ALPHA.replace("      componentType: worker\n", "      runtimeVersionOverride: 1.2.0-rc1\n"),
}


@pytest.mark.parametrize("manifest", UNSAYABLE.values(), ids=UNSAYABLE)
def test_result_is_one_that_the_api_server_takes_and_leads_back(manifest: str) -> None:
    assert yaml.safe_load(manifest) != yaml.safe_load(ALPHA)
    there = convert(manifest, "v1beta1")
    (beta,) = read(there)
    assert list(find_refused(beta)) == []
    assert read(convert(there.stdout, "v1alpha1")) == [yaml.safe_load(manifest)]


def test_last_of_equal_variables_is_shown() -> None:
    (beta,) = read(convert(UNSAYABLE["variable twice"], "v1beta1"))
    worker = beta["spec"]["components"][1]  # type: ignore[index] # a graph
    assert worker["podTemplate"]["spec"]["containers"][0]["env"] == [
        {"name": "Y", "value": "b"},
        {"name": "X", "value": "c"},
    ]


def test_what_exists_in_one_version_only_is_refused_with_its_field() -> None:
    result = convert(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\n"
        "spec: {services: {Worker: {componentType: worker}}}\n",
        "v1beta1",
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "<stdin>:1: DynamoGraphDeployment g as v1beta1: spec.components[0].podTemplate.spec.containers: no container "
        "is named main; name the container that runs Dynamo main, and give it an image\n1 problem\n"
    )


def test_help_has_examples_and_says_that_comments_are_lost() -> None:
    result = CliRunner().invoke(main, ["convert", "--help"])
    assert "Comments are lost" in " ".join(result.stdout.split())
    assert "dynamo-hooks convert --to v1beta1 graph.yaml" in result.stdout


FOR_OLD_PROFILERS = {"request-aic", "request-mocker", "request-online"}
"""Examples whose profiler is of 0.9: of v1beta1 they are refused."""


def render(manifests: str) -> Result:
    settings = ("--set", "ingress_gateway=a/b", "--set", "grove_topology=packDomain")
    return CliRunner().invoke(main, ["render", "--with", KINDS, *settings, "-"], input=manifests)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_renders_the_same_bytes_in_both_versions_and_comes_back_equal(path: Path) -> None:
    written = path.read_text()
    objects = [found for found in yaml.safe_load_all(written) if found]
    own = "v1beta1" if any(found["apiVersion"] == "nvidia.com/v1beta1" for found in objects) else "v1alpha1"
    there = convert(written, "v1alpha1" if own == "v1beta1" else "v1beta1")
    if path.stem in FOR_OLD_PROFILERS:
        assert (there.exit_code, there.stdout) == (1, "")
        assert "which reads requests of v1alpha1 only" in there.stderr
        return
    rendered = render(there.stdout)
    assert rendered.exit_code == 0, rendered.output
    assert rendered.stdout == render(written).stdout
    assert read(convert(there.stdout, own)) == objects
