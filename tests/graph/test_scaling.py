"""However many replicas the adapters of a graph ask for, its pods are the same, on every path."""

import copy
from pathlib import Path

import pytest

from hooks.component import sync as component
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, name_of
from hooks.tools.offline.manifests.reading import load_manifests
from tests import make
from tests.graph import world
from tests.templates import find_changes, find_templates

EXAMPLES = Path(__file__).parents[2] / "examples"
PATHS = {
    "components": ["inference-pool"],
    "lws": ["inference-pool", "lws", "volcano"],
    "grove": ["grove", "inference-pool"],
}


def graphs() -> dict[str, Manifest]:
    """The graphs of all examples, every service of which has an adapter."""
    documents = [
        document.object
        for path in sorted(EXAMPLES.rglob("*.yaml"))
        for document in load_manifests([str(path)], make.NAMESPACE).documents
    ]
    return {name_of(found): adapted(found) for found in documents if found["kind"] == contract.GRAPH.kind}


def adapted(graph: Manifest) -> Manifest:
    changed = copy.deepcopy(graph)
    changed["metadata"].update(namespace=make.NAMESPACE, uid="u-g", generation=1)
    for service in changed["spec"]["services"].values():
        service["scalingAdapter"] = {"enabled": True}
    return changed


GRAPHS = graphs()


def nodes_apart(graph: Manifest) -> int:
    """How many services run on several nodes."""
    return sum("multinode" in service for service in graph["spec"]["services"].values())


def can_run(graph: Manifest, path: str) -> bool:
    if "topologyConstraint" in graph["spec"]:
        return path == "grove"
    return path != "components" or not nodes_apart(graph)


CASES = [
    pytest.param(graph, installed, id=f"{name}-{path}")
    for name, graph in GRAPHS.items()
    for path, installed in PATHS.items()
    if can_run(graph, path)
]


def scaled(graph: Manifest, installed: list[str], replicas: int) -> list[Manifest]:
    """The graph's children, and those of its components, with so many replicas asked for by every adapter."""
    settings = {"grove_topology": "pack"}
    first = world.ask(graph, installed=installed, settings=settings)
    adapters = [make.observed(child) for child in first.children if child["kind"] == contract.SCALING_ADAPTER.kind]
    assert adapters
    for adapter in adapters:
        adapter["spec"]["replicas"] = replicas
    found: list[Manifest] = []
    for child in world.ask(graph, adapters, installed=installed, settings=settings).children:
        found.append(child)
        if child["kind"] == contract.COMPONENT.kind:
            request = make.sync_request(
                {**child, "metadata": {"uid": "u-c", "generation": 1, **child["metadata"]}}, installed=installed
            )
            found += component.sync(request, make.facts()).children
    return found


@pytest.mark.parametrize(("graph", "installed"), CASES)
def test_replicas_of_adapters_touch_no_pod_template(graph: Manifest, installed: list[str]) -> None:
    before, after = (find_templates(scaled(graph, installed, count)) for count in (1, 7))
    assert before
    assert find_changes(before, after) == []


@pytest.mark.parametrize(("graph", "installed"), CASES)
def test_replicas_of_adapters_reach_the_workloads(graph: Manifest, installed: list[str]) -> None:
    children = scaled(graph, installed, 7)
    workloads = [child for child in children if child["kind"] in {"Deployment", contract.COMPONENT.kind}]
    counts = {child["spec"]["replicas"] for child in workloads if not is_picker(child)}
    assert counts <= {7}
    sets = [child for child in children if child["kind"] == "LeaderWorkerSet"]
    assert len(sets) == (7 * nodes_apart(graph) if "lws" in installed else 0)
    assert counts or any(child["kind"] == "PodCliqueSet" for child in children)


def is_picker(workload: Manifest) -> bool:
    return name_of(workload).endswith("-epp")


def test_endpoint_picker_stays_one_pod_whatever_its_adapter_says() -> None:
    children = scaled(GRAPHS["inference-gateway"], PATHS["components"], 7)
    pickers = [child for child in children if child["kind"] == "Deployment" and is_picker(child)]
    assert [picker["spec"]["replicas"] for picker in pickers] == [1]
