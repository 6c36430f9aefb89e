"""A component of a graph that lost its owner reference: its children, and so its pods, stay as they are."""

from pathlib import Path

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.rendering import every_child, render
from hooks.wire.world.ownership import controller_reference, with_owner
from tests.make import facts

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
INSTALLED = frozenset({"lws", "volcano"})


def render_one(document: Manifest) -> list[Manifest]:
    """All that comes of a document, in the namespace `default`."""
    placed = {**document, "metadata": {"namespace": "default", "uid": "u", **document["metadata"]}}
    return list(every_child(render([placed], facts(), installed=INSTALLED)))


def children_of(component: Manifest) -> list[Manifest]:
    """What comes of a component."""
    return [one for one in render_one(component) if one["kind"] != contract.COMPONENT.kind]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_children_of_a_component_without_owner_are_as_before(path: Path) -> None:
    graphs = [one for one in yaml.safe_load_all(path.read_text()) if one["kind"] == contract.GRAPH.kind]
    for graph in graphs:
        owner = controller_reference({**graph, "metadata": {**graph["metadata"], "uid": "u"}})
        for component in (one for one in render_one(graph) if one["kind"] == contract.COMPONENT.kind):
            labels = {**component["metadata"]["labels"], contract.LABEL_CONTROLLER_UID: "u"}
            orphan = {**component, "metadata": {**component["metadata"], "uid": "u2", "labels": labels}}
            children = children_of(with_owner(orphan, owner))
            assert any("template" in child["spec"] or "leaderWorkerTemplate" in child["spec"] for child in children)
            assert children_of(orphan) == children
