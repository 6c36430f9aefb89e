"""The published schemas of what `diff` and `upgrade-plan` print are those of the code, and hold what is printed."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from hooks.server.commands.main import main
from hooks.tools.offline.diff.json_schema import build_diff_schema, build_upgrade_schema
from tests.sequences.calls import forget
from tests.tools.offline.diff.compared import Documents, annotated, edited, edited_service, example
from tests.tools.operating.upgrade.played import change_defaults, plan_json, run_graphs, write_dump

FOLDER = Path(__file__).parents[4] / "docs" / "files"
DISAGG = example("vllm-disagg")
WORKER = "VllmDecodeWorker"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
NODES = {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}]}


def diff(tmp_path: Path, old: Documents, new: Documents, *options: str) -> Any:
    for name, documents in (("old", old), ("new", new)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(documents))
    files = [str(tmp_path / f"{name}.yaml") for name in ("old", "new")]
    return json.loads(CliRunner().invoke(main, ["diff", "-o", "json", *options, *files]).stdout)


def with_adapter(replicas: int) -> Documents:
    return edited_service(DISAGG, WORKER, lambda s: s.update(scalingAdapter={"enabled": True}, replicas=replicas))


def with_variable(value: str) -> Callable[[dict[str, Any]], object]:
    return lambda spec: spec.update(envs=[{"name": "A", "value": value}])


def outputs(tmp_path: Path) -> Iterator[Any]:
    """Outputs that together have every part."""
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(NODES))
    changed = edited_service(DISAGG, WORKER, lambda s: s.update(envs=[{"name": "A", "value": "b"}], replicas=3))
    yield diff(tmp_path, DISAGG, DISAGG)
    yield diff(tmp_path, DISAGG, changed, "--fit", "--nodes", str(tmp_path / "nodes.yaml"))
    yield diff(tmp_path, changed, [*DISAGG, *example("vllm-agg")])
    yield diff(tmp_path, [*DISAGG, *example("vllm-agg")], DISAGG)
    yield diff(tmp_path, [*DISAGG, SECRET], [*DISAGG, {**SECRET, "stringData": {"a": "c"}}])
    yield diff(tmp_path, with_adapter(1), with_adapter(5))
    yield diff(tmp_path, with_adapter(1), with_adapter(5), "--admission")
    off, on = (annotated(DISAGG, enable_grove=one) for one in ("false", "true"))
    yield diff(tmp_path, off, on, "--with", "grove")
    yield diff(tmp_path, edited(DISAGG, with_variable("b")), edited(DISAGG, with_variable("c")))
    yield diff(tmp_path, edited_service(DISAGG, WORKER, lambda s: s.update(replicas=3)), without_replicas())


def without_replicas() -> Documents:
    return edited_service(DISAGG, WORKER, lambda s: s.pop("replicas", None))


def paths(value: Any, here: str = "") -> Iterator[str]:
    """The paths of everything that an output has; items of a list count as one."""
    if isinstance(value, Mapping) and not here.endswith(("old", "new", "Default")):
        for key, item in value.items():
            yield f"{here}/{key}"
            yield from paths(item, f"{here}/{key}")
    elif isinstance(value, list):
        for item in value:
            yield from paths(item, here)


@pytest.mark.parametrize(("name", "build"), [("diff", build_diff_schema), ("upgrade-plan", build_upgrade_schema)])
def test_published_schema_is_that_of_the_code(name: str, build: Any, request: pytest.FixtureRequest) -> None:
    text = CliRunner().invoke(main, ["schema", name]).stdout
    assert json.loads(text) == build()
    file = FOLDER / f"{name}.schema.json"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.read_text() == text


def test_outputs_of_diff_keep_to_the_schema_and_have_every_part(tmp_path: Path) -> None:
    schema = build_diff_schema()
    validator = jsonschema_rs.validator_for(schema)
    found = list(outputs(tmp_path))
    assert [error.message for one in found for error in validator.iter_errors(one)] == []
    seen = {path for one in found for path in paths(one)}
    parts = {f"/{key}" for key in schema["properties"]}
    assert parts <= seen
    for part in ("objects", "pods", "resources", "lost", "refused", "stored"):
        wanted = {f"/{part}/{key}" for key in _properties(schema, schema["properties"][part]["items"])}
        assert wanted <= seen, part
    assert {"/fit/verdict", "/fit/pending/because", "/objects/fields/secret", "/objects/fields/hidden"} <= seen
    assert "/objects/fields/newDefault" in seen


def _properties(schema: Any, part: Any) -> Mapping[str, Any]:
    found = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    return dict(found["properties"])


@pytest.mark.parametrize("damage", [{"more": 1}, {"restarts": -1}, {"pods": None}], ids=str)
def test_schema_refuses_what_is_no_output(tmp_path: Path, damage: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(build_diff_schema())
    assert not validator.is_valid({**diff(tmp_path, DISAGG, DISAGG), **damage})


@pytest.mark.parametrize("revision", [0, 1])
def test_outputs_of_upgrade_plan_keep_to_the_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, revision: int
) -> None:
    file = write_dump(tmp_path / "dump.json", run_graphs("vllm-agg").everything())
    with monkeypatch.context() as patched:
        change_defaults(patched, revision=revision)
        found = plan_json(file)
    forget()
    assert found["held"] if revision else found["restarts"]
    assert found["statuses"]
    errors = jsonschema_rs.validator_for(build_upgrade_schema()).iter_errors(found)
    assert [error.message for error in errors] == []
