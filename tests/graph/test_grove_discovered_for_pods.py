"""What was found for the pods of services under Grove earlier, kept for each by itself."""

import json
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph.test_grove import ask, cliques, part, pcs, settled

GRAPH = make.graph({"a": make.service(), "b": make.service()})
OLD, NEW = make.pull_secret("old", "docker.io"), make.pull_secret("new", "docker.io")
UP = [part("PodClique", f"g-0-{name}", desired=1) for name in "ab"]
DOWN = [part("PodClique", f"g-0-{name}", desired=1, good=0) for name in "ab"]


def set_of(*related: Manifest) -> Manifest:
    """The PodCliqueSet of the graph as it was made when these objects were there."""
    (found,) = (child for child in make_children(ask(GRAPH, related=related)) if child["kind"] == "PodCliqueSet")
    return found


def make_children(answer: SyncAnswer) -> list[Manifest]:
    return [make.observed(child, status={"observedGeneration": 1}) for child in answer.children]


def used(answer: SyncAnswer) -> dict[str, list[str]]:
    """Pull secrets by clique."""
    pods = {name: clique["spec"]["podSpec"] for name, clique in cliques(answer).items()}
    return {name: [secret["name"] for secret in pod.get("imagePullSecrets", ())] for name, pod in pods.items()}


def said(manifest: Manifest) -> Any:
    return json.loads(manifest["metadata"]["annotations"][contract.ANNOTATION_DISCOVERED])


def pod(service: str, reason: str) -> Manifest:
    """A pod of a service that waits for that reason."""
    labels = {contract.LABEL_COMPONENT: service, "grove.io/podclique": f"g-0-{service}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"g-0-{service}-x", "namespace": make.NAMESPACE, "labels": labels},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"containerStatuses": [{"name": "main", "state": {"waiting": {"reason": reason}}}]},
    }


def test_set_says_by_service_what_was_found_and_its_template_does_not() -> None:
    found = set_of(OLD)
    assert said(found) == {"a": {"imagePullSecrets": ["old"]}, "b": {"imagePullSecrets": ["old"]}}
    assert contract.ANNOTATION_DISCOVERED not in json.dumps(found["spec"])


def test_service_that_leaves_nothing_to_discovery_says_nothing() -> None:
    off = make.service(annotations={contract.ANNOTATION_DISABLE_PULL_SECRETS: "true"})
    assert said(pcs(ask(make.graph({"a": off, "b": make.service()}), related=[OLD]))) == {
        "b": {"imagePullSecrets": ["old"]}
    }
    assert contract.ANNOTATION_DISCOVERED not in pcs(ask(make.graph({"a": off})))["metadata"]["annotations"]


def test_only_the_service_that_changes_takes_what_is_found() -> None:
    changed = make.graph({"a": make.service(image="img:2"), "b": make.service()})
    answer = ask(changed, [set_of(OLD)], [NEW, *UP])
    assert used(answer) == {"a": ["new"], "b": ["old"]}
    assert said(pcs(answer)) == {"a": {"imagePullSecrets": ["new"]}, "b": {"imagePullSecrets": ["old"]}}


REASONS = {"ContainerCreating": [], "CrashLoopBackOff": [], "ErrImagePull": ["new"], "ImagePullBackOff": ["new"]}


@pytest.mark.parametrize(("reason", "expected"), REASONS.items(), ids=REASONS)
def test_secret_is_taken_by_the_service_whose_image_cannot_be_pulled(reason: str, expected: list[str]) -> None:
    """Each reason after the last one, so that nothing that is remembered of the same graph answers for another."""
    children = [set_of()]
    for state, secrets in (("ContainerCreating", []), (reason, expected), ("ContainerCreating", [])):
        assert used(ask(GRAPH, children, [NEW, *DOWN, pod("a", state)])) == {"a": secrets, "b": []}


def test_where_pods_are_not_read_a_secret_is_taken_while_none_is_ready() -> None:
    off = {"explain_pods": "off"}
    half = [DOWN[0], UP[1]]
    assert used(ask(GRAPH, [set_of()], [NEW, *half], **off)) == {"a": ["new"], "b": []}
    assert used(ask(GRAPH, [set_of()], [NEW, *half])) == {"a": [], "b": []}


def test_set_of_an_earlier_version_says_what_is_found_and_restarts_nothing() -> None:
    found = set_of(OLD)
    older = make.observed({**found, "metadata": {"name": "g", "namespace": make.NAMESPACE}})
    answer = ask(GRAPH, [older], [OLD, *UP])
    assert pcs(answer)["spec"] == found["spec"]
    assert said(pcs(answer)) == said(found)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"a":1,"b":[]}'])
def test_hand_that_changes_the_annotation_changes_nothing_else(text: str) -> None:
    found = set_of(OLD)
    found["metadata"]["annotations"][contract.ANNOTATION_DISCOVERED] = text
    answer = ask(GRAPH, [found], [NEW, *UP])
    assert used(answer) == {"a": ["old"], "b": ["old"]}
    assert said(pcs(answer)) == {"a": {"imagePullSecrets": ["old"]}, "b": {"imagePullSecrets": ["old"]}}


def test_graph_stays_ready_whatever_becomes_of_its_secret() -> None:
    children = settled(GRAPH)
    status = ask(GRAPH, children, UP).status
    assert status is not None
    assert status["conditions"][0]["status"] == "True"
    assert ask(GRAPH, children, [NEW, *UP]).status == status
