"""What is filled in before an object is stored."""

from typing import Any

import pytest

from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review
from hooks.server.admission.rules import DEFAULTS
from tests.language.validation.objects import Manifest, adapter, component, graph, model, request

ORIGIN = {"nvidia.com/dynamo-operator-origin-version": "0.9.0"}


def defaults(new: Manifest, old: Manifest | None = None, **settings: str) -> list[dict[str, Any]]:
    review = Review(new=new, old=old, user=None, settings=parse_settings({}, settings), installed=None)
    return DEFAULTS[f"{new['kind'].lower()}s"](review)


def test_new_graph_gets_replicas_and_its_origin() -> None:
    new = graph({"b": {"replicas": 0}, "a": {}, "x/y~z": {"replicas": None}, "none": None})
    assert defaults(new) == [
        {"op": "add", "path": "/metadata/annotations", "value": ORIGIN},
        {"op": "add", "path": "/spec/services/a/replicas", "value": 1},
        {"op": "add", "path": "/spec/services/x~1y~0z/replicas", "value": 1},
    ]


def test_annotations_and_labels_that_are_there_stay() -> None:
    new = graph({}, annotations={"a": "b"})
    new["metadata"]["labels"] = {"c": "d"}
    assert defaults(new, installation="team-a") == [
        {
            "op": "add",
            "path": "/metadata/annotations/nvidia.com~1dynamo-operator-origin-version",
            "value": "0.9.0",
        },
        {"op": "add", "path": "/metadata/labels/nvidia.com~1dynamo-installation", "value": "team-a"},
    ]


def image(tag: str, **fields: Any) -> dict[str, Any]:
    return {"replicas": 1, "extraPodSpec": {"mainContainer": {"image": f"registry:5000/runtime{tag}"}}, **fields}


NODES = {"multinode": {"nodeCount": 2}}


@pytest.mark.parametrize(
    ("services", "origin"),
    [
        ({}, "0.9.0"),
        ({"a": image(":0.9.1")}, "0.9.0"),
        ({"a": image(":0.8.0", **NODES)}, "0.9.0"),
        ({"a": image(":1.2.3")}, "1.2.3"),
        ({"a": image(":v1.6.1-cuda13", **NODES)}, "1.6.0"),
        ({"a": image(":1.9.0")}, "1.6.0"),
        ({"a": image(":latest")}, "0.9.0"),
        ({"a": image("")}, "0.9.0"),
        ({"a": image(":latest", runtimeVersionOverride="1.5.1")}, "1.5.1"),
        ({"a": image(":1.6.0", runtimeVersionOverride="x")}, "0.9.0"),
        ({"a": image(":1.6.0"), "b": image(":1.5.0")}, "1.5.0"),
        ({"a": image(":latest"), "b": image(":1.5.0", **NODES)}, "1.5.0"),
        ({"a": image(":1.5.0"), "b": image(":latest", **NODES)}, "0.9.0"),
        ({"a": {"replicas": 1, "extraPodSpec": 7}, "b": 7}, "0.9.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_origin_is_the_oldest_release_that_spans_nodes(services: dict[str, Any], origin: str) -> None:
    (annotations,) = defaults(graph(services))
    assert annotations["value"] == {"nvidia.com/dynamo-operator-origin-version": origin}


def test_origin_is_neither_replaced_nor_added_later() -> None:
    assert defaults(graph({}, annotations={"nvidia.com/dynamo-operator-origin-version": "0.8.0"})) == []
    assert defaults(graph({}), graph({})) == []


@pytest.mark.parametrize("new", [component(), model(), request(), adapter()], ids=lambda new: new["kind"])
def test_other_kinds_get_the_label_of_a_restricted_installation_alone(new: Manifest) -> None:
    labelled = [{"op": "add", "path": "/metadata/labels", "value": {"nvidia.com/dynamo-installation": "team-a"}}]
    assert defaults(new) == []
    assert defaults(new, installation="team-a") == labelled
    new = {**new, "metadata": {**new["metadata"], "labels": {"nvidia.com/dynamo-installation": "team-a"}}}
    assert defaults(new, installation="team-a") == []


def test_what_was_filled_in_is_not_filled_in_again() -> None:
    new = graph({"a": {"replicas": 1}}, annotations=ORIGIN)
    assert defaults(new) == []
