"""The Kubernetes schemas that the package carries, and how they are made from OpenAPI."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.language.api.extract_kubernetes_schemas import (
    CLAIM_TEMPLATE,
    QUANTITY,
    TARGET,
    build_definition,
    extract_schemas,
    main,
    write_schemas,
)

PORT = {
    "type": "object",
    "description": "words",
    "required": ["number"],
    "properties": {
        "number": {"type": "integer", "format": "int32", "default": 0, "description": "words"},
        "protocol": {"type": "string", "default": "TCP"},
        "target": {"allOf": [{"$ref": "#/components/schemas/a.Target"}], "default": {}},
        "default": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
        "names": {
            "type": "array",
            "items": {"type": "string", "default": ""},
            "x-kubernetes-list-type": "set",
            "x-kubernetes-patch-strategy": "merge",
        },
    },
    "x-kubernetes-unions": [{}],
}


def test_definition_keeps_structure_and_drops_words() -> None:
    assert build_definition("a.Port", PORT) == {
        "type": "object",
        "required": ["number"],
        "properties": {
            "number": {"type": "integer", "format": "int32"},
            "protocol": {"type": "string", "default": "TCP"},
            "target": {"$ref": "a.Target"},
            "default": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        },
    }


def test_optional_enumeration_takes_the_empty_text_too() -> None:
    protocol = {"type": "string", "enum": ["UDP", "TCP"]}
    schema = {"type": "object", "required": ["a"], "properties": {"a": protocol, "b": protocol}}
    built = build_definition("a.Port", schema)["properties"]
    assert (built["a"]["enum"], built["b"]["enum"]) == (["TCP", "UDP"], ["", "TCP", "UDP"])


def test_enumeration_that_is_too_long_to_read_is_dropped() -> None:
    signal = {"type": "string", "enum": [f"SIG{number}" for number in range(21)]}
    built = build_definition("a.Lifecycle", {"type": "object", "properties": {"stopSignal": signal}})
    assert built["properties"]["stopSignal"] == {"type": "string"}


def test_limits_of_kubernetes_code_are_added() -> None:
    port = {"type": "integer", "format": "int32"}
    built = build_definition("io.k8s.api.core.v1.ContainerPort", {"properties": {"containerPort": port}})
    assert built["properties"]["containerPort"] == {**port, "minimum": 1, "maximum": 65535}


def test_claim_template_takes_labels_and_annotations_only() -> None:
    meta = {"allOf": [{"$ref": "#/components/schemas/ObjectMeta"}]}
    definition = build_definition(CLAIM_TEMPLATE, {"type": "object", "properties": {"metadata": meta}})
    assert sorted(definition["properties"]["metadata"]["properties"]) == ["annotations", "labels"]


def test_wrong_usage_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["v1.36.3"]) == 2
    assert "VERSION OPENAPI_FILE..." in capsys.readouterr().err


def read_packaged() -> Any:
    return json.loads(TARGET.read_text(encoding="utf-8"))


def test_packaged_definitions_are_those_of_kubernetes_1_36() -> None:
    assert read_packaged()["kubernetes"].startswith("v1.36.")


def test_packaged_definitions_refer_to_nothing_outside() -> None:
    packaged = read_packaged()
    assert QUANTITY in packaged["definitions"]
    assert write_schemas(packaged) == TARGET.read_text(encoding="utf-8")
    names = {name for line in json.dumps(packaged).split('"$ref": "')[1:] for name in [line.partition('"')[0]]}
    assert names <= packaged["definitions"].keys()


def without_enumerations(node: Any) -> Any:
    """The sources of Kubernetes have none; an API server has (tests/cluster/test_schemas.py)."""
    if isinstance(node, dict):
        return {key: without_enumerations(value) for key, value in node.items() if key != "enum"}
    return [without_enumerations(item) for item in node] if isinstance(node, list) else node


def test_packaged_definitions_are_what_the_sources_say() -> None:
    version = read_packaged()["kubernetes"]
    cache = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
    folder = cache / "k8s.io" / f"kubernetes@{version}" / "api" / "openapi-spec" / "v3"
    if not folder.is_dir():
        pytest.skip(
            f"k8s.io/kubernetes {version} is not in the Go module cache: go mod download k8s.io/kubernetes@{version}"
        )
    names = ("api__v1_openapi.json", "apis__autoscaling__v2_openapi.json")
    documents = [json.loads((folder / name).read_text(encoding="utf-8")) for name in names]
    extracted = extract_schemas(version, documents)
    assert without_enumerations(extracted) == without_enumerations(read_packaged())
