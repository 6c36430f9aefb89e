"""Where a live object differs from a wanted one, and what a message says about it."""

from typing import Any

import pytest

from hooks.ground.k8s.differences import find_difference
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.store import copy_json

MAIN: dict[str, Any] = {
    "name": "main",
    "image": "img:1",
    "args": ["-m", "dynamo.vllm"],
    "env": [{"name": "TOKEN", "value": "hidden"}],
    "ports": [{"containerPort": 8000, "name": "http", "protocol": "TCP"}],
    "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "1"}},
}
POD = {"containers": [MAIN], "tolerations": [{"key": "gpu", "operator": "Exists"}], "volumes": [{"name": "v"}]}
WANTED: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "n", "labels": {"a.b/c": "1"}, "annotations": {"note": "x"}},
    "spec": {"replicas": 2, "paused": False, "template": {"spec": POD}},
}
_POD = "spec.template.spec"


def put(obj: Any, path: str, value: Any) -> None:
    """Set a value in place; numbers in the path are indices, and None removes the field."""
    *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in way:
        obj = obj[part]
    if value is None:
        del obj[last]
    else:
        obj[last] = value


def found(path: str, value: Any, wanted: Manifest = WANTED) -> str:
    live = copy_json(wanted)
    put(live, path, value)
    difference = find_difference(wanted, live)
    return "" if difference is None else str(difference)


C = "spec/template/spec/containers/0"
NONE: dict[str, tuple[str, Any]] = {
    "status": ("status", {"replicas": 7}),
    "field of the server": ("spec/progressDeadlineSeconds", 600),
    "field of an item": (f"{C}/imagePullPolicy", "Always"),
    "item of somebody else": (f"{C}/env", [{"name": "OTHER", "value": "1"}, *MAIN["env"]]),
    "container of somebody else": ("spec/template/spec/containers", [{"name": "sidecar"}, MAIN]),
    "field of an unnamed item": ("spec/template/spec/tolerations", [{**POD["tolerations"][0], "effect": ""}]),
    "label of somebody else": ("metadata/labels", {"a.b/c": "1", "more": "1"}),
    "finalizer": ("metadata/finalizers", ["f"]),
    "spelling of a quantity": (f"{C}/resources/limits", {"nvidia.com/gpu": 1, "cpu": "1000m"}),
}


@pytest.mark.parametrize(("path", "value"), NONE.values(), ids=NONE.keys())
def test_what_others_add_is_no_difference(path: str, value: Any) -> None:
    assert found(path, value) == ""


SOME: dict[str, tuple[str, Any, str]] = {
    "replicas": ("spec/replicas", 0, "spec.replicas is 0, wanted 2"),
    "boolean": ("spec/paused", True, "spec.paused is true, wanted false"),
    "removed field": ("spec/replicas", None, "spec.replicas is missing, wanted 2"),
    "image": (f"{C}/image", "img:2", f'{_POD}.containers[main].image is "img:2", wanted "img:1"'),
    "quantity": (
        f"{C}/resources/limits",
        {"nvidia.com/gpu": "2", "cpu": "1"},
        f'{_POD}.containers[main].resources.limits[nvidia.com/gpu] is "2", wanted "1"',
    ),
    "label": ("metadata/labels", {}, 'metadata.labels[a.b/c] is missing, wanted "1"'),
    "arguments": (f"{C}/args", ["-m"], f'{_POD}.containers[main].args is ["-m"], wanted ["-m","dynamo.vllm"]'),
    "container": ("spec/template/spec/containers", [{"name": "x"}], f"{_POD}.containers[main] is missing"),
    "volume": ("spec/template/spec/volumes", [], f"{_POD}.volumes[v] is missing"),
    "unnamed item": (
        "spec/template/spec/tolerations",
        [{"key": "gpu", "operator": "Equal"}],
        f'{_POD}.tolerations[0].operator is "Equal", wanted "Exists"',
    ),
    "list of other length": ("spec/template/spec/tolerations", [], f"{_POD}.tolerations is not as wanted"),
    "annotation": ("metadata/annotations", {"note": "y"}, 'metadata.annotations[note] is "y", wanted "x"'),
    "secret variable": (
        f"{C}/env",
        [{"name": "TOKEN", "value": "other"}],
        f"{_POD}.containers[main].env[TOKEN].value is not as wanted",
    ),
    "missing variable": (f"{C}/env", None, f"{_POD}.containers[main].env is missing"),
}


@pytest.mark.parametrize(("path", "value", "text"), SOME.values(), ids=SOME.keys())
def test_difference_names_the_field_and_both_values(path: str, value: Any, text: str) -> None:
    assert found(path, value) == text


def test_label_that_looks_like_a_quantity_is_none() -> None:
    wanted = {**WANTED, "metadata": {**WANTED["metadata"], "labels": {"size": "1000m"}}}
    assert found("metadata/labels", {"size": "1"}, wanted) == 'metadata.labels[size] is "1", wanted "1000m"'


def test_long_values_are_cut() -> None:
    text = found(f"{C}/image", "i" * 500)
    assert len(text) < 220
    assert "…" in text


def test_one_port_number_under_two_protocols_is_two_items() -> None:
    ports = [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]
    wanted = copy_json(WANTED)
    put(wanted, f"{C}/ports", ports)
    assert found(f"{C}/ports", ports[::-1], wanted) == ""
    assert found(f"{C}/ports", ports[:1], wanted) == (
        f'{_POD}.containers[main].ports[53].protocol is "UDP", wanted "TCP"'
    )


def test_further_key_in_the_selector_of_a_service_is_a_difference() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]},
    }
    text = found("spec/selector", {"app": "a", "more": "b"}, service)
    assert text == 'spec.selector is {"app":"a","more":"b"}, wanted {"app":"a"}'


@pytest.mark.parametrize(
    ("field", "live", "text"),
    [
        ("type", "ExternalName", 'spec.type is "ExternalName", wanted "ClusterIP"'),
        ("type", "NodePort", ""),
        ("type", "LoadBalancer", ""),
        ("publishNotReadyAddresses", True, "spec.publishNotReadyAddresses is true, wanted false"),
        ("publishNotReadyAddresses", False, ""),
        ("sessionAffinity", "ClientIP", ""),
    ],
)
def test_service_that_sends_its_clients_elsewhere_is_a_difference(field: str, live: Any, text: str) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "a"}}}
    assert found(f"spec/{field}", live, service) == text


def test_no_message_has_a_value_of_a_secret() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": "aGlkZGVu"}}
    assert found("data/key", "b3RoZXI=", secret) == "data[key] is not as wanted"
    assert found("data/key", None, secret) == "data[key] is missing"
    assert found("data", None, secret) == "data is missing"
