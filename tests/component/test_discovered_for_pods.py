"""What was found for the pods of a component earlier: kept while they can do with it and nothing else changes."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.component.seen.discovered import Discovered, is_needed
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests import make
from tests.component import groups
from tests.component.render import answer, only

OLD, NEW = make.pull_secret("old", "docker.io"), make.pull_secret("new", "docker.io")
READY, BROKEN = make.deployment_status(), make.deployment_status(ready=0)
NOTHING = Discovered(account=None, pull_secrets=())
ONE = Discovered(account=None, pull_secrets=("a",))
OTHER = Discovered(account=None, pull_secrets=("b",))
MINE = Discovered(account="mine", pull_secrets=("a",))
DEFAULT = Discovered(account="default", pull_secrets=("a",))

NEEDS: dict[str, tuple[Discovered, Discovered, bool, bool, bool]] = {
    "first Secret for images that lack one": (ONE, NOTHING, False, True, True),
    "other Secret for images that lack one": (OTHER, ONE, False, True, True),
    "other Secret for images that lack one, beside pods that serve": (OTHER, ONE, True, True, True),
    "loss of a Secret": (NOTHING, ONE, False, True, False),
    "other Secret for pods that fail otherwise": (OTHER, ONE, False, False, False),
    "account where no pod serves": (MINE, DEFAULT, False, False, True),
    "account where pods serve": (MINE, DEFAULT, True, True, False),
    "account that is gone": (DEFAULT, Discovered(account="gone", pull_secrets=("a",)), True, False, True),
    "default account, which is no labelled one": (MINE, DEFAULT, True, False, False),
}


@pytest.mark.parametrize(("found", "kept", "serves", "lacks_images", "expected"), NEEDS.values(), ids=NEEDS)
def test_what_is_found_is_needed(
    found: Discovered, kept: Discovered, *, serves: bool, lacks_images: bool, expected: bool
) -> None:
    accounts = ("mine",)
    assert is_needed(found, kept, accounts=accounts, serves=serves, lacks_images=lacks_images) == expected


def before(*related: Manifest, graph: str = "", status: Any = READY, spec: Any = None) -> list[Manifest]:
    """The children of a component that was made when these objects were there."""
    found = answer(make.component("c", graph, **make.service(**(spec or {}))), related=related).children
    return [make.observed(child, status=status) for child in found]


def after(children: Iterable[Manifest], *related: Manifest, graph: str = "", spec: Any = None) -> Manifest:
    """Its Deployment once these are there."""
    parent = make.component("c", graph, **make.service(**(spec or {})))
    return only(answer(parent, children, related).children, "Deployment")


def used(deployment: Manifest) -> tuple[str, list[str]]:
    """Account and pull secrets of a Deployment's pods."""
    pod = deployment["spec"]["template"]["spec"]
    return pod["serviceAccountName"], [secret["name"] for secret in pod.get("imagePullSecrets", ())]


def test_deployment_says_what_was_found_for_its_pods_outside_of_their_template() -> None:
    (deployment,) = (child for child in before(OLD, make.account("mine")) if child["kind"] == "Deployment")
    said = deployment["metadata"]["annotations"][contract.ANNOTATION_DISCOVERED]
    assert said == '{"imagePullSecrets":["old"],"serviceAccount":"mine"}'
    assert contract.ANNOTATION_DISCOVERED not in str(deployment["spec"])


def test_what_was_kept_is_said_again_and_noted() -> None:
    children = before(OLD)
    given = answer(make.component("c", **make.service()), children, [NEW])
    metadata = only(given.children, "Deployment")["metadata"]
    assert metadata["annotations"][contract.ANNOTATION_DISCOVERED] == (
        '{"imagePullSecrets":["old"],"serviceAccount":"default"}'
    )
    assert given.notes[-1] == (
        "c keeps account default, pull secrets old until its pods change, found account default, pull secrets new"
    )


CHANGES: dict[str, tuple[dict[str, Any], tuple[str, list[str]]]] = {
    "nothing": ({}, ("mine", ["old"])),
    "replicas": ({"replicas": 3}, ("mine", ["old"])),
    "strategy": ({"annotations": {contract.ANNOTATION_MAX_SURGE: "1"}}, ("mine", ["old"])),
    "image": ({"image": "img:2"}, ("first", ["new"])),
    "restart": ({"annotations": {contract.ANNOTATION_RESTART_AT: "r1"}}, ("first", ["new"])),
    "account named": ({"extraPodSpec": {"serviceAccountName": "named"}}, ("named", ["new"])),
    "Secret named": ({"extraPodSpec": {"imagePullSecrets": [{"name": "named"}]}}, ("first", ["named", "new"])),
    "discovery switched off": ({"annotations": {contract.ANNOTATION_DISABLE_PULL_SECRETS: "true"}}, ("first", [])),
}


@pytest.mark.parametrize(("spec", "expected"), CHANGES.values(), ids=CHANGES)
def test_change_takes_what_is_found_along_if_it_alters_the_pods(
    spec: dict[str, Any], expected: tuple[str, list[str]]
) -> None:
    children = before(OLD, make.account("mine"))
    assert used(after(children, NEW, make.account("mine"), make.account("first"), spec=spec)) == expected


def test_what_a_user_takes_back_is_left_to_discovery_at_once() -> None:
    off = {"annotations": {contract.ANNOTATION_DISABLE_PULL_SECRETS: "true"}}
    children = before(OLD, spec={**off, "extraPodSpec": {"serviceAccountName": "named"}})
    assert used(after(children, OLD, make.account("mine"))) == ("mine", ["old"])


def test_account_that_is_gone_is_left() -> None:
    assert used(after(before(make.account("mine")), OLD)) == ("default", ["old"])


def test_account_is_followed_while_no_pod_serves() -> None:
    assert used(after(before(status=BROKEN), make.account("mine"))) == ("mine", [])
    assert used(after(before(), make.account("mine"))) == ("default", [])


def test_account_under_a_graph_and_etcd_is_kept_too() -> None:
    etcd = {"annotations": {contract.ANNOTATION_DISCOVERY_BACKEND: "etcd"}}
    assert used(after(before(graph="g", spec=etcd), make.account("mine"), graph="g", spec=etcd))[0] == "default"


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '"x"', '{"imagePullSecrets":1}'])
def test_hand_that_changes_the_annotation_changes_nothing_else(text: str) -> None:
    children = before(OLD)
    for child in children:
        child["metadata"]["annotations"][contract.ANNOTATION_DISCOVERED] = text
    assert used(after(children, NEW)) == ("default", ["old"])


@pytest.mark.parametrize("text", ["no JSON", "[]", '"x"', '{"imagePullSecrets":1}'])
def test_annotation_that_a_user_wrote_is_not_read(text: str) -> None:
    mine = {"annotations": {contract.ANNOTATION_DISCOVERED: text, contract.ANNOTATION_DISABLE_PULL_SECRETS: "true"}}
    named = {"extraPodSpec": {"serviceAccountName": "named"}}
    assert used(after(before(OLD, spec={**mine, **named}), NEW)) == ("default", ["new"])


def test_deployment_of_an_earlier_version_says_what_is_found_and_restarts_nothing() -> None:
    children = before(OLD)
    older = [make.observed(without_annotation(child), status=READY) for child in children]
    deployment = after(older, OLD)
    assert deployment["spec"] == only(children, "Deployment")["spec"]
    assert contract.ANNOTATION_DISCOVERED in deployment["metadata"]["annotations"]
    assert used(after(older, NEW)) == ("default", ["new"])


def without_annotation(child: Manifest) -> Manifest:
    """A child as it was before anything was said of discovery."""
    metadata = {key: child["metadata"][key] for key in ("name", "namespace")}
    return {**child, "metadata": metadata}


def test_secret_reaches_pods_of_a_rollout_that_lack_their_image() -> None:
    """Pods of the template before serve; those that are to follow cannot be started."""
    children = before(OLD, status=make.deployment_status(2, ready=1))
    assert used(after(children, NEW)) == ("default", ["old"])
    assert used(after(children, NEW, pod("a", "1", "running"), pod("b", "2", "ErrImagePull"))) == ("default", ["new"])
    assert used(after(children, NEW, pod("a", "1", "ErrImagePull"), pod("b", "2", "running"))) == ("default", ["old"])


def pod(name: str, revision: str, state: str) -> Manifest:
    metadata = {
        "name": name,
        "namespace": make.NAMESPACE,
        "labels": {"pod-template-hash": revision},
        "creationTimestamp": f"2026-03-01T10:00:0{revision}Z",
    }
    waiting = {} if state == "running" else {"state": {"waiting": {"reason": state}}}
    status = {"phase": "Pending", "containerStatuses": [{"name": "main", **waiting}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main"}]},
        "status": status,
    }


def test_each_replica_over_nodes_keeps_what_it_has_and_a_new_one_has_what_is_found() -> None:
    two, three = (make.component("c", "g", **groups.spec(replicas=count)) for count in (2, 3))
    first = answer(two, related=[OLD], installed=groups.INSTALLED).children
    ready = {"replicas": 1, "readyReplicas": 1}
    seen = [make.observed(child, status=ready) for child in first]
    given = answer(three, seen, [NEW], installed=groups.INSTALLED)
    sets = [child for child in given.children if child["kind"] == groups.SETS]
    found = [[template["spec"]["imagePullSecrets"][0]["name"] for template in templates(child)] for child in sets]
    assert found == [["old", "old"], ["old", "old"], ["new", "new"]]
    said = [child["metadata"]["annotations"][contract.ANNOTATION_DISCOVERED] for child in sets]
    assert said == ['{"imagePullSecrets":["old"]}', '{"imagePullSecrets":["old"]}', '{"imagePullSecrets":["new"]}']


def templates(child: Manifest) -> list[Manifest]:
    group = child["spec"]["leaderWorkerTemplate"]
    return [group["leaderTemplate"], group["workerTemplate"]]


def test_answer_is_the_same_for_the_same_request() -> None:
    children = before(OLD, make.account("mine"))
    parent = make.component("c", **make.service())
    assert answer(parent, children, [NEW, OLD]) == answer(parent, list(reversed(children)), [OLD, NEW])
