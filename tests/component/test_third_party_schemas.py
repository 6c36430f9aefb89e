"""Every LeaderWorkerSet and PodGroup that we render fits the schemas of the versions that we claim to support."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from hooks.ground.k8s.types import Manifest, name_of
from hooks.tools.offline.rendering import every_child, render
from tests import make
from tests.component.groups import INSTALLED, spec
from tests.component.render import answer
from tests.third_party import FOLDER, needs_schemas

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    ROOT / "examples" / f"{name}-multinode.yaml" for name in ("sglang-disagg", "trtllm-disagg", "vllm-dp", "vllm")
]
SCHEMAS = {
    "lws v0.7.0": "lws/v0.7.0/leaderworkersets.yaml",
    "lws v0.10.0": "lws/v0.10.0/leaderworkersets.yaml",
    "volcano v1.15.1": "volcano/v1.15.1/scheduling.volcano.sh_podgroups.yaml",
}
pytestmark = needs_schemas

RICH: dict[str, Any] = {
    "extraPodSpec": {
        "mainContainer": {**spec()["extraPodSpec"]["mainContainer"], "env": [{"name": "A", "value": ""}]},
        "containers": [{"name": "side", "image": "s", "resources": {"limits": {"cpu": "1500m"}}}],
        "initContainers": [{"name": "init", "image": "s", "restartPolicy": "Always"}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "nodeSelector": {"gpu": "yes"},
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
    },
    "volumeMounts": [{"name": "models.data", "mountPoint": "/m"}],
    "annotations": {"nvidia.com/vllm-distributed-executor-backend": "mp"},
    "envFromSecret": "s",
}
SPECS = {engine: spec(engine=engine, replicas=2) for engine in ("vllm", "sglang", "trtllm")}
SPECS["data parallel"] = spec(
    extraPodSpec={
        "mainContainer": {
            "image": "i",
            "command": ["python3", "-m", "dynamo.vllm"],
            "args": ["--data-parallel-size", "2"],
        }
    }
)
SPECS["all that a user can add"] = spec(**RICH)


def strict(schema: Any) -> Any:
    """The schema, with fields that it does not name refused, as strict field validation does."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    laid = {key: strict(value) for key, value in schema.items()}
    closed = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if closed and not schema.get("x-kubernetes-preserve-unknown-fields"):
        laid.setdefault("additionalProperties", False)
    return laid


def validator(path: str) -> tuple[str, Any]:
    """The kind that a CRD is of, and a validator of its manifests."""
    crd = yaml.load((FOLDER / path).read_text(), yaml.CSafeLoader)["spec"]
    version = next(found for found in crd["versions"] if found["storage"])
    schema = strict(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    return crd["names"]["kind"], jsonschema_rs.Draft4Validator(schema)


def rendered() -> Iterator[tuple[str, Manifest]]:
    """Every object of these kinds, of the examples and of the specs above."""
    facts = make.facts()
    for name, fields in SPECS.items():
        for child in answer(make.component("c", "g", **fields), installed=INSTALLED).children:
            yield name, child
    for path in EXAMPLES:
        document = yaml.load(path.read_text(), yaml.CSafeLoader)
        document["metadata"]["namespace"] = "default"
        for child in every_child(render([document], facts, installed=frozenset(INSTALLED))):
            yield path.stem, child


@pytest.mark.parametrize("path", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_rendered_objects_fit_the_schema(path: str) -> None:
    kind, schema = validator(path)
    checked = [(source, child) for source, child in rendered() if child["kind"] == kind]
    assert {source for source, _ in checked} >= {*SPECS, *(example.stem for example in EXAMPLES)}
    faults = [
        f"{source} {name_of(child)} {'.'.join(map(str, error.instance_path))}: {error.message}"
        for source, child in checked
        for error in schema.iter_errors(child)
    ]
    assert faults == []


@pytest.mark.parametrize("path", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_schema_refuses_a_field_that_does_not_exist(path: str) -> None:
    kind, schema = validator(path)
    child = next(child for _, child in rendered() if child["kind"] == kind)
    assert not schema.is_valid({**child, "spec": {**child["spec"], "sise": 2}})
