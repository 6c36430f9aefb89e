"""Lists in lists that orjson cannot write safely are found before it gets them."""

import json
from typing import Any

import orjson
import pytest

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.nesting import MOST_DEEP, MOST_LISTS, is_too_deep, may_nest_lists, nests_lists
from hooks.ground.settings import parse_settings
from hooks.server.admission.app import create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from hooks.server.app import create_app
from hooks.wire.metacontroller.request_body import JsonCache
from tests import make
from tests.reviews import conversion_review, post, review


def nested(depth: int, inner: Any = "x") -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(("depth", "is_found"), [(MOST_DEEP, False), (MOST_DEEP + 1, True)])
def test_deep_values_are_found_by_lists_and_objects_alike(depth: int, *, is_found: bool) -> None:
    mixed: Any = "x"
    for level in range(depth):
        mixed = [mixed] if level % 2 else {"a": mixed}
    assert is_too_deep(mixed) is is_found


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(("depth", "is_found"), [(MOST_LISTS, False), (MOST_LISTS + 1, True), (240, True)])
def test_lists_in_lists_are_found(
    depth: int, indent: int | None, separators: tuple[str, str], *, is_found: bool
) -> None:
    for value in (nested(depth), {"a": [1, nested(depth - 1)], "b": "]"}, [{"a": nested(depth)}]):
        text = json.dumps(value, indent=indent, separators=separators).encode()
        assert nests_lists(value) is is_found
        assert may_nest_lists(text) or not is_found


def test_brackets_in_a_string_are_no_lists() -> None:
    value = {"a": "]" * 500}
    assert may_nest_lists(orjson.dumps(value))
    assert not nests_lists(value)


def test_objects_between_lists_are_harmless() -> None:
    value: Any = "x"
    for _ in range(200):
        value = [{"a": value}]
    assert not nests_lists(value)


SPECS: dict[str, dict[str, Any]] = {
    "unknown field": {"componentType": "worker", "unknown": [nested(230)] * 50},
    "configuration": {"componentType": "epp", "eppConfig": {"config": {"a": [nested(230)] * 50}}},
    "volume": {"componentType": "worker", "extraPodSpec": {"volumes": [{"name": "v", "csi": [nested(230)] * 50}]}},
}


def write(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_hooks_refuse_them_and_let_the_object_be_deleted(spec: dict[str, Any]) -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    for hook, parent in (("graph", make.graph({"S": spec})), ("component", make.component("c", "g", **spec))):
        body = make.wire_request(parent)
        answer = client.post(f"/{hook}/sync", data=write(body))
        assert (answer.status_code, answer.text) == (422, "the object is nested too deeply\n")
        assert client.post(f"/{hook}/finalize", data=write({**body, "finalizing": True})).status_code == 200
        customize = {"controller": body["controller"], "parent": parent}
        assert client.post(f"/{hook}/customize", data=write(customize)).status_code in {200, 422}


def test_hooks_refuse_them_in_children() -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    child = {**make.component("g-s", "g"), "spec": SPECS["volume"]}
    answer = client.post("/graph/sync", data=write(make.wire_request(make.graph(), [child])))
    assert (answer.status_code, answer.text) == (422, "the object is nested too deeply\n")


@pytest.mark.parametrize("kind", ["Secret.v1", "ConfigMap.v1"])
@pytest.mark.parametrize("indent", [None, 1])
def test_cached_reading_refuses_them_each_time(kind: str, indent: int | None) -> None:
    cache = JsonCache()
    related = {kind: {"ns/a": {"metadata": {"name": "a"}, "data": nested(230)}}}
    call = {**make.wire_request(make.graph()), "related": related}
    for _ in range(3):
        with pytest.raises(InvalidSpec, match="nested too deeply"):
            cache.read_call(json.dumps(call, indent=indent).encode())
        assert cache.read_call(json.dumps({**call, "finalizing": True}).encode())["related"] == related


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_admission_refuses_them(spec: dict[str, Any]) -> None:
    app = create_admission_app(parse_settings({}), RULES, DEFAULTS)
    graph = make.graph({"S": spec})
    for old in (None, graph):
        answer = post(app, "validate", review(graph, old=old))
        assert answer["status"]["message"] == "the object is nested too deeply"
        assert "patch" not in post(app, "mutate", review(graph, old=old))


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("place", ["spec", "annotation"])
def test_conversion_names_the_object_or_ignores_the_annotation(version: str, place: str) -> None:
    client = create_admission_app(parse_settings({}), RULES, DEFAULTS).test_client()
    graph = make.graph(SPECS) if place == "spec" else make.graph()
    other = "v1beta1" if version == "v1alpha1" else "v1alpha1"
    graph["apiVersion"] = f"nvidia.com/{other}"
    if place == "annotation":
        text = json.dumps({"version": 1, "spec": {"services": [nested(230)] * 50, "components": [nested(230)] * 50}})
        names = ("nvidia.com/dgd-hub-spec", "nvidia.com/dgd-spec")
        graph["metadata"]["annotations"] = dict.fromkeys(names, text)
    result = orjson.loads(client.post("/convert", data=write(conversion_review(version, graph))).data)["response"]
    if place == "spec":
        assert result["result"]["message"].endswith("is nested more deeply than can be converted")
    else:
        assert result["result"]["status"] == "Success"
