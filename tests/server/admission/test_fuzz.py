"""Reviews that nobody would send: admission answers each with a verdict or with one line, never with a bug of ours."""

from typing import Any

import orjson
import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hooks.ground.settings import parse_settings
from hooks.server.admission.app import KINDS, create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from tests import make
from tests.effort import examples
from tests.fuzzing.mutations import list_paths, put
from tests.reviews import patch_of, review

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
    st.sampled_from(["", "1", "-1", "spec", "hf://a/b", "s3://", "file:///x", "{", "a: b", "vllm", "x" * 300]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)

SPECS: dict[str, dict[str, Any]] = {
    "dynamographdeployments": {
        "backendFramework": "vllm",
        "envs": [{"name": "A", "value": "b"}],
        "pvcs": [
            {"name": "p", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
        ],
        "restart": {"id": "1", "strategy": {"type": "Sequential", "order": ["Worker", "Frontend"]}},
        "services": {
            "Frontend": make.service("frontend", ingress={"enabled": True, "host": "h"}),
            "Worker": make.service(
                replicas=2,
                multinode={"nodeCount": 2},
                scalingAdapter={"enabled": True},
                sharedMemory={"size": "1Gi", "disabled": False},
                resources={"limits": {"gpu": "1"}},
                volumeMounts=[{"name": "p", "mountPoint": "/p", "useAsCompilationCache": False}],
                command=["python3", "-m", "dynamo.vllm"],
                autoscaling={"enabled": True},
            ),
        },
    },
    "dynamocomponentdeployments": {
        **make.service(replicas=1, ingress={"enabled": True}, multinode={"nodeCount": 2}),
        "backendFramework": "sglang",
        "serviceName": "Worker",
        "annotations": {"a": "b"},
    },
    "dynamomodels": {
        "modelName": "m",
        "baseModelName": "b",
        "modelType": "lora",
        "source": {"uri": "hf://a/b"},
    },
    "dynamographdeploymentrequests": {
        "model": "m",
        "backend": "vllm",
        "enableGpuDiscovery": True,
        "autoApply": True,
        "deploymentOverrides": {"name": "n", "namespace": "o"},
        "profilingConfig": {
            "profilerImage": "i",
            "config": {"engine": {"backend": "sglang"}, "deployment": {"model": "x"}},
            "configMapRef": {"name": "c", "key": "k"},
        },
    },
    "dynamographdeploymentscalingadapters": {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "Worker"}},
}


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, Any]:
    """A plural, and a review of that kind with up to three values replaced by something else."""
    plural = draw(st.sampled_from(sorted(KINDS)))
    kind = KINDS[plural]
    status = draw(st.sampled_from([None, {}, {"state": "profiling"}, {"state": "Ready"}, {"state": 3}]))
    parent = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "x", "namespace": "default", "labels": {"a": "b"}, "annotations": {"a": "b"}},
        "spec": SPECS[plural],
        "status": status,
    }
    old = draw(st.sampled_from([None, parent]))
    body: Any = review(parent, old)
    for _ in range(draw(st.integers(1, 3))):
        body = put(body, draw(st.sampled_from(list(list_paths(body)))), draw(JSON))
    return plural, body


@pytest.fixture(scope="module")
def app() -> Flask:
    return create_admission_app(parse_settings({}, {"installation": "here"}), RULES, DEFAULTS)


def check(app: Flask, plural: str, data: bytes) -> None:
    for call in ("validate", "mutate"):
        answer = app.test_client().post(f"/admission/{call}/{plural}", data=data)
        if answer.status_code == 200:
            check_verdict(orjson.loads(data), orjson.loads(answer.data)["response"])
        else:
            assert answer.status_code == 400, answer.text
            assert answer.text.count("\n") == 1


def check_verdict(body: dict[str, Any], response: dict[str, Any]) -> None:
    assert response["uid"] == body["request"]["uid"]
    assert all(0 < len(line) <= 256 for line in response.get("warnings", []))
    assert all(operation["op"] in {"add", "replace"} for operation in patch_of(response))
    if not response["allowed"]:
        assert response["status"]["code"] == 403
        assert response["status"]["message"].strip()


@pytest.mark.parametrize("plural", sorted(KINDS))
def test_specs_here_are_taken_as_they_are(app: Flask, plural: str) -> None:
    kind = KINDS[plural]
    parent = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}, "spec": SPECS[plural]}
    check(app, plural, orjson.dumps(review(parent, parent)))


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies())
def test_review_with_something_else_inside_gets_a_verdict_or_one_line(app: Flask, body: tuple[str, Any]) -> None:
    check(app, body[0], orjson.dumps(body[1]))


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(KINDS)), st.one_of(JSON.map(orjson.dumps), st.binary(max_size=200)))
def test_any_body_gets_a_verdict_or_one_line(app: Flask, plural: str, data: bytes) -> None:
    check(app, plural, data)


@pytest.mark.parametrize("depth", [200, 900, 5000])
def test_deep_body_gets_a_verdict_or_one_line(app: Flask, depth: int) -> None:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    data = orjson.dumps(review()).replace(b'"services":{', b'"services":{"Deep":{"extraPodSpec":' + deep + b"},", 1)
    check(app, "dynamographdeployments", data)
