"""Who wrote a field, by the records of a real API server."""

from typing import Any

import pytest

from hooks.ground.k8s.field_writers import find_managers, find_writer
from hooks.ground.problems import HERE, SPEC, FieldPath, Key


def entry(manager: str, fields: dict[str, Any], time: str = "2026-03-01T12:00:00Z", **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields, **more}


CONTAINER: dict[str, Any] = {
    "f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}, "f:args": {}}}}}
}
RECORDS = [
    entry("metacontroller", {"f:spec": CONTAINER}),
    entry("kube-controller-manager", {"f:spec": {"f:replicas": {}}}, subresource="scale"),
    entry("early", {"f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}}}}, "2026-03-01T11:00:00Z"),
    entry("late", {"f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}}}}, "2026-03-01T13:00:00Z"),
    entry("kubelet", {"f:status": {"f:replicas": {}}}, subresource="status"),
    entry("ports", {"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:port": {}}}}}),
]
IMAGE = SPEC / "template.spec.containers" / Key("main") / "image"


@pytest.mark.parametrize(
    ("path", "writer"),
    [
        (SPEC / "replicas", "kube-controller-manager (subresource scale)"),
        (IMAGE, "metacontroller"),
        (SPEC / "template.spec.containers" / Key("main") / "args" / 0, "metacontroller"),
        (SPEC / "template.spec.containers" / Key("other") / "image", ""),
        (SPEC / "ports" / Key("80") / "port", "ports"),
        (HERE / "metadata.labels" / Key("app.kubernetes.io/name"), "late"),
        (HERE / "metadata.labels" / Key("gone"), ""),
    ],
    ids=["a subresource", "an item by its key", "a list as a whole", "no such item", "a number", "two", "nobody"],
)
def test_last_writer_of_a_field_is_named(path: FieldPath, writer: str) -> None:
    assert find_writer(RECORDS, path) == writer
    assert find_writer(RECORDS[::-1], path) == writer


def test_all_that_wrote_something_below_a_field_are_named() -> None:
    assert find_managers(RECORDS, HERE / "metadata") == {"early", "late"}
    assert find_managers(RECORDS, SPEC) == {"metacontroller", "kube-controller-manager", "ports"}
    assert find_managers(RECORDS, SPEC / "none") == frozenset()


def test_without_records_nobody_is_named() -> None:
    assert find_writer([], SPEC) == ""


@pytest.mark.parametrize(
    "records",
    [
        None,
        7,
        {"fieldsV1": {}},
        [None, "text", 7],
        [{"manager": "odd", "fieldsV1": ["f:spec"]}],
        [{"manager": "odd", "fieldsV1": {"f:spec": 7}}],
        [{"manager": "odd", "fieldsV1": {"f:spec": {"k:no JSON": {}, "k:7": {}, "k": {}}}}],
    ],
    ids=str,
)
def test_record_that_cannot_be_read_names_nobody(records: Any) -> None:
    assert find_writer(records, SPEC / "replicas") == ""
    both = [*(records if isinstance(records, list) else ()), *RECORDS]
    assert find_writer(both, SPEC / "replicas") == "kube-controller-manager (subresource scale)"
