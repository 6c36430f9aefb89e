"""The way back to the Go operator names the release that the graphs came from, and what of ours it would leave."""

from typing import Any

import pytest

from hooks.component.image.runtime_version import RuntimeVersion
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.migration.go_operator import GoOperator, find_beside, find_release
from hooks.tools.operating.migration.way_back import write_way_back
from tests.tools.operating.migration.test_upstream import operator

HASH = "nvidia.com/current-worker-hash-v2"
DIGITS = "0a1b2c3d"


def graph(services: Any = None, **annotations: str) -> Manifest:
    keys = {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()}
    metadata = {"name": "llm", "namespace": "team", "annotations": keys}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata} | (
        {"spec": {"services": services}} if services else {}
    )


def managed(began: str = "") -> Manifest:
    """A graph that a Go operator from 1.0 on looked after."""
    origin = {contract.ANNOTATION_ORIGIN_VERSION: began} if began else {}
    return graph(**{HASH: DIGITS, **origin})


def labelled(version: str, image: str = "example.com/operator:latest") -> Manifest:
    found = operator(replicas=0, name="dynamo-operator")
    labels = {**found["metadata"].get("labels", {}), "app.kubernetes.io/version": version}
    template = {"spec": {"containers": [{"name": "manager", "image": image}]}}
    spec = {**found["spec"], "template": template}
    return {**found, "metadata": {**found["metadata"], "labels": labels}, "spec": spec}


RELEASES: dict[str, tuple[list[Manifest], list[Manifest], str]] = {
    "its Deployment": ([labelled("1.5.0")], [managed("1.2.0")], "1.5.0"),
    "the image of its Deployment": ([labelled("", "example.com/operator:1.4.1")], [managed("1.2.0")], "1.4.1"),
    "the newest of its graphs": ([], [managed("1.2.0"), managed("1.4.0"), graph()], "1.4.0"),
    "graphs that do not say it": ([], [managed(), managed("0.9.0")], "1.5.0"),
    "a graph that we made": ([], [graph(**{contract.ANNOTATION_ORIGIN_VERSION: "1.5.0"})], "0.9.0"),
    "no graph": ([], [], "0.9.0"),
}


@pytest.mark.parametrize(("operators", "graphs", "release"), RELEASES.values(), ids=RELEASES)
def test_release_is_the_one_that_the_graphs_came_from(
    operators: list[Manifest], graphs: list[Manifest], release: str
) -> None:
    assert str(find_release(operators, graphs)[0]) == release


def text(release: RuntimeVersion, **origin: Any) -> str:
    return write_way_back("", GoOperator(release=release, evidence="as one says", **origin))


def test_release_before_1_0_has_a_chart_for_its_crds_and_names_owners_as_they_are() -> None:
    said = text(RuntimeVersion(0, 9))
    assert "dynamo-crds-0.9.0.tgz" in said
    assert "dynamo-platform-0.9.0.tgz" in said
    assert "v1beta1" not in said
    assert '.apiVersion = "nvidia.com/v1alpha1"' in said


def test_release_from_1_0_on_installs_its_crds_itself_and_names_owners_by_v1beta1() -> None:
    said = text(RuntimeVersion(1, 5))
    assert "dynamo-crds" not in said
    assert "dynamo-platform-1.5.0.tgz" in said
    assert said.index("dynamo-platform-1.5.0.tgz") < said.index('.apiVersion = "nvidia.com/v1beta1"')


def test_kinds_are_those_of_the_cluster() -> None:
    assert "podcliquesets" not in text(RuntimeVersion(1, 5))
    assert "podcliquesets" in text(RuntimeVersion(1, 5), installed=frozenset({"grove"}))


def component(name: str, type_: str = "worker", **labels: str) -> Manifest:
    of_graph = {contract.LABEL_GRAPH: "llm", contract.LABEL_COMPONENT: "Worker"}
    metadata = {"name": name, "namespace": "team", "labels": {**of_graph, **labels}}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoComponentDeployment",
        "metadata": metadata,
        "spec": {"componentType": type_},
    }


HASHED = {contract.LABEL_WORKER_HASH: DIGITS}
SEVERAL = graph({"Worker": {"multinode": {"nodeCount": 2}}})
BESIDE = {
    "of a generation": (graph(), component(f"llm-worker-{DIGITS}", **HASHED), False),
    "of a generation, changed here": (graph(), component(f"llm-worker-{DIGITS}"), False),
    "of a generation, changed here, over several nodes": (SEVERAL, component(f"llm-worker-{DIGITS}"), True),
    "of a generation, over several nodes": (SEVERAL, component(f"llm-worker-{DIGITS}", **HASHED), False),
    "made here": (graph(), component("llm-worker"), True),
    "no worker": (graph(), component("llm-worker", "frontend"), False),
    "of no graph that exists": (graph(), component("x", **{contract.LABEL_GRAPH: "gone"}), False),
}


@pytest.mark.parametrize(("owner", "found", "is_named"), BESIDE.values(), ids=BESIDE)
def test_component_that_the_operator_does_not_use_is_named(owner: Manifest, found: Manifest, *, is_named: bool) -> None:
    named = [one.name for one in find_beside([owner], [found])]
    assert named == ([found["metadata"]["name"]] if is_named else [])


def test_component_that_the_operator_does_not_use_goes_if_its_service_has_another() -> None:
    beside = tuple(find_beside([graph()], [component("llm-worker")]))
    (line,) = [one for one in text(RuntimeVersion(1, 5), beside=beside).splitlines() if "-gt 1" in one]
    assert "-l nvidia.com/dynamo-graph-deployment-name=llm,nvidia.com/dynamo-component=Worker" in line
    assert "Components that the Go operator does not use" not in text(RuntimeVersion(1, 5))
