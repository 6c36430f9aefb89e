"""What is filled in before an object is stored."""

from typing import Any

import pytest

from hooks import __version__
from hooks.admission.rules import DEFAULTS
from hooks.settings import parse_settings
from hooks.validation.review import Review
from tests.validation.objects import Manifest, adapter, component, graph, model, request

ORIGIN = {"nvidia.com/dynamo-operator-origin-version": __version__}


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
            "value": __version__,
        },
        {"op": "add", "path": "/metadata/labels/nvidia.com~1dynamo-installation", "value": "team-a"},
    ]


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
