"""`dynamo-hooks schema`: judged by another validator than the hooks use, which follows references as editors do."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.crds.faults import find_faults
from hooks.language.versions import CONVERTIBLE_KINDS, convert
from hooks.tools.cli.schema import schema

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[3]
CORPUS = ROOT.parent / "shared" / "corpus" / "upstream-0.9.json.gz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the command wrote."""
    folder = tmp_path_factory.mktemp("schemas")
    assert run("--directory", str(folder / "new")).exit_code == 0
    return folder / "new"


@pytest.fixture(scope="module")
def whole(folder: Path) -> "Draft7Validator":
    """The schema of all kinds."""
    # Importing it takes two seconds: too long for each process that only collects tests.
    from jsonschema import Draft7Validator  # noqa: PLC0415
    from referencing import Registry, Resource  # noqa: PLC0415

    files = [(str(path.relative_to(folder)), read(path)) for path in folder.rglob("*.json")]
    registry = Registry().with_resources([(name, Resource.from_contents(content)) for name, content in files])
    return Draft7Validator(dict(files)["all.json"], registry=registry)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(schema, arguments)


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def graph(**spec: Any) -> Manifest:
    header = {"apiVersion": "nvidia.com/v1alpha1", "kind": contract.GRAPH.kind, "metadata": {"name": "g"}}
    return {**header, "spec": {"services": {"Frontend": {"componentType": "frontend", **spec}}}}


def objects() -> Iterator[Manifest]:
    """Objects of the examples, and the graphs of the corpus that break no schema; graphs in both versions."""
    for path in sorted((ROOT / "examples").rglob("*.yaml")):
        yield from (found for found in yaml.safe_load_all(path.read_text()) if found)
    entries = json.loads(gzip.decompress(CORPUS.read_bytes())) if CORPUS.exists() else []
    yield from (entry["graph"] for entry in entries if "metadata" in (entry.get("graph") or {}))


def in_both_versions(found: Manifest) -> Iterator[Manifest]:
    yield found
    if found["kind"] in CONVERTIBLE_KINDS:
        yield convert(found, contract.BETA_VERSION)


def test_every_kind_and_version_has_a_file_that_is_a_schema(folder: Path, whole: "Draft7Validator") -> None:
    paths = {str(path.relative_to(folder)): read(path) for path in folder.rglob("*.json")}
    for found in paths.values():
        whole.check_schema(found)
    assert {"all.json", "nvidia.com/dynamographdeployment_v1beta1.json", "nvidia.com/dynamomodel_v1alpha1.json"} < set(
        paths
    )
    assert len(paths) == 1 + 6 + len(CONVERTIBLE_KINDS)


def test_what_the_api_server_takes_is_valid(whole: "Draft7Validator") -> None:
    judged = [one for found in objects() for one in in_both_versions(found) if not find_faults(one)]
    assert len(judged) > 40
    assert [(one, error.message) for one in judged for error in whole.iter_errors(one)] == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (graph(replica=1), "'replica' was unexpected"),
        (graph(replicas="2"), "'2' is not of type 'integer', 'null'"),
        (graph(resources={"limits": {"gpu": 1}}), "1 is not of type 'string', 'null'"),
        (graph(extraPodSpec={"dnsPolicy": "Cluster"}), "'Cluster' is not one of"),
        (graph(extraPodSpec={"priority": 2**31}), "maximum of 2147483647"),
        ({**graph(), "metadata": {"name": "Big"}}, "'Big' does not match"),
        ({key: value for key, value in graph().items() if key != "metadata"}, "'metadata' is a required property"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistake_is_found_in_its_place(whole: "Draft7Validator", changed: Manifest, words: str) -> None:
    (error,) = whole.iter_errors(changed)
    assert words in error.message


def test_objects_of_other_projects_pass(whole: "Draft7Validator") -> None:
    assert list(whole.iter_errors({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "b"}})) == []


def test_kind_has_its_short_name_and_its_versions() -> None:
    printed = json.loads(run("dgd", "--version", "v1beta1").stdout)
    assert printed["title"] == "DynamoGraphDeployment nvidia.com/v1beta1"
    assert printed["properties"]["apiVersion"]["const"] == "nvidia.com/v1beta1"
    assert printed["properties"]["spec"]["properties"]["components"]["description"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give either KIND or --directory"),
        (("dgd", "-d", "x"), "give either KIND or --directory"),
        (("DynamoGraph",), "there is no kind 'DynamoGraph'"),
        (("dm", "--version", "v1beta1"), "DynamoModel has no version v1beta1"),
    ],
)
def test_wrong_use_is_one_sentence(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("-d", str(tmp_path / "file" / "x"))
    assert result.exit_code == 1
    assert f"{tmp_path / 'file'}" in result.stderr
    assert "Traceback" not in result.stderr
