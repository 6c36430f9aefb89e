"""Every PodCliqueSet that is rendered fits the CRD of each supported version of Grove, with no unknown field."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from hooks.ground.k8s.types import Manifest
from tests import make
from tests.graph import world
from tests.third_party import FOLDER, needs_schemas

ROOT = Path(__file__).parents[2]
VERSIONS = ("v0.1.0-alpha.6", "v0.1.0-alpha.9", "v0.1.0-alpha.12-rc1")
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

pytestmark = needs_schemas


def engine(name: str, **spec: Any) -> dict[str, Any]:
    limits = {"limits": {"gpu": "2"}, "requests": {"cpu": "500m"}}
    return make.service(command=["python3", "-m", f"dynamo.{name}"], resources=limits, **spec)


GRAPHS = {
    "default": make.graph(),
    "engines": make.graph(
        {
            "Frontend": make.service("frontend", replicas=2, envFromSecret="s"),
            "Planner": make.service("planner", volumeMounts=[{"name": "c", "mountPoint": "/planner"}]),
            "Ray": engine("vllm", args=["--tensor-parallel-size", "4"], multinode={"nodeCount": 2}),
            "Sgl": engine("sglang", multinode={"nodeCount": 3}, replicas=3),
            "Trt": engine("trtllm", multinode={"nodeCount": 2}, modelRef={"name": "m"}),
        },
        name="d",
    ),
    "fields of 1.x": {
        **make.graph(),
        "spec": {
            "labels": {"team": "a"},
            "annotations": {"note": "b"},
            "priorityClassName": "high",
            "services": {
                "Worker": engine("vllm", replicas=3, minAvailable=2, frontendSidecar={"image": "f:1.6.1"}),
                "Sgl": engine("sglang", multinode={"nodeCount": 2}, replicas=2, minAvailable=2),
                "Beside": engine("vllm", runtimeVersionOverride="1.6.1"),
            },
        },
    },
}


@pytest.fixture(scope="module", params=VERSIONS)
def schema(request: pytest.FixtureRequest) -> dict[str, Any]:
    path = FOLDER / "grove" / request.param / "grove.io_podcliquesets.yaml"
    document = yaml.load(path.read_text(), LOADER)  # noqa: S506 - the safe loader, in C where there is one
    (version,) = document["spec"]["versions"]
    closed: dict[str, Any] = close(version["schema"]["openAPIV3Schema"])
    return closed


def close(schema: Any) -> Any:
    """The schema as a JSON Schema that refuses unknown fields, as the API server does under strict validation."""
    if isinstance(schema, list):
        return [close(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: close(value) for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    if schema.get("x-kubernetes-int-or-string"):
        closed["type"] = ["integer", "string"]
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not is_open:
        metadata = {"apiVersion", "kind", "metadata"} <= schema["properties"].keys()
        if metadata:
            closed["properties"] = {**closed["properties"], "metadata": {"type": "object"}}
        closed["additionalProperties"] = False
    return closed


def rendered() -> Iterator[Manifest]:
    for graph in GRAPHS.values():
        for settings in ({}, {"kai_scheduler": "on", "grove_termination_delay": "90s"}):
            answer = world.ask(graph, installed=["grove"], settings=settings)
            yield world.child(answer.children, "PodCliqueSet", graph["metadata"]["name"])
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        for document in yaml.load_all(path.read_text(), yaml.CSafeLoader):
            if document["kind"] == "DynamoGraphDeployment":
                document["metadata"].update(namespace="default", uid="u")
                answer = world.ask(document, installed=["grove", "istio", "inference-pool"])
                assert answer.problems == (), path.name
                yield world.child(answer.children, "PodCliqueSet", document["metadata"]["name"])


def test_every_set_fits_the_schema(schema: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(schema)
    sets = list(rendered())
    assert len(sets) > 4
    for found in sets:
        faults = [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(found)]
        assert faults == []


def test_schema_refuses_what_it_should(schema: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(schema)
    found = next(rendered())
    clique = found["spec"]["template"]["cliques"][0]
    for wrong in ({**clique, "unknown": 1}, {**clique, "spec": {**clique["spec"], "replicas": "1"}}):
        template = {**found["spec"]["template"], "cliques": [wrong]}
        assert not validator.is_valid({**found, "spec": {**found["spec"], "template": template}})
