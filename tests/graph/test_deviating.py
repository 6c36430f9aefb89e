"""A graph whose children are missing, or not as they are wanted, on both paths."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from hooks.graph.sync import sync
from hooks.ground.k8s.types import Manifest, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.effects import Event
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.deviation_age import GRACE_SECONDS
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

COMPONENT = "DynamoComponentDeployment"
SERVICES = {"a": make.service(scalingAdapter={"enabled": True}), "b": make.service(modelRef={"name": "m"})}
CLAIM = {"name": "cache", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
GRAPH = make.graph(SERVICES, pvcs=[CLAIM])


def settled(graph: Manifest = GRAPH) -> list[Manifest]:
    return world.run(world.apply([], world.ask(graph).children))


def without(children: Iterable[Manifest], kind: str) -> list[Manifest]:
    kept = [child for child in children if child["kind"] != kind]
    assert kept != children
    return kept


def changed(children: Iterable[Manifest], kind: str, **spec: Any) -> list[Manifest]:
    """The children, those of a kind changed by hand."""
    return [{**c, "spec": {**c["spec"], **spec}} if c["kind"] == kind else c for c in children]


def later(graph: Manifest, children: list[Manifest], related: Iterable[Manifest] = (), **more: Any) -> SyncAnswer:
    """The answer to a second sync, after the time for which deviations are normal."""
    related = list(related)
    first = world.ask(graph, children, related, **more)
    assert world.condition(first, "Applied")["status"] == "Unknown"
    request = make.sync_request({**graph, "status": first.status}, children, related, **more)
    return sync(request, Facts(now=make.NOW + timedelta(seconds=GRACE_SECONDS), settings=parse_settings({}, {})))


CHILDREN = (
    *("DynamoGraphDeploymentScalingAdapter", "PersistentVolumeClaim", "Role", "RoleBinding"),
    *("Service", "ServiceAccount"),
)


@pytest.mark.parametrize("kind", CHILDREN)
def test_missing_child_makes_the_graph_unready_and_is_named(kind: str) -> None:
    children = settled()
    assert world.ready(world.ask(GRAPH, children))["status"] == "True"
    rest = without(children, kind)
    (name,) = world.names(children, kind)
    early = world.ask(GRAPH, rest)
    assert world.ready(early)["status"] == "False"
    assert f"{kind} {name}: Progressing: wait (not found)" in world.ready(early)["message"]
    late = later(GRAPH, rest)
    assert f"{kind} {name}: Missing: " in world.ready(late)["message"]
    assert world.condition(late, "Applied")["reason"] == "Missing"
    assert "kubectl describe dynamographdeployment g -n default" in world.ready(late)["message"]


def test_component_edited_by_hand_makes_the_graph_unready() -> None:
    edited = changed(settled(), COMPONENT, replicas=7)
    early = world.ready(world.ask(GRAPH, edited))["message"]
    assert "g-a: RollingOut: wait for the new pods (spec.replicas is 7, wanted 1)" in early
    late = world.ready(later(GRAPH, edited))["message"]
    assert late.startswith("g-a: Differs: ")
    assert "(spec.replicas is 7, wanted 1)" in late


def test_service_of_a_model_that_has_unready_pods_is_set_back() -> None:
    edited = changed(settled(), "Service", publishNotReadyAddresses=True)
    given = world.ask(GRAPH, edited)
    assert world.condition(given, "Applied")["reason"] == "Changed"
    assert "spec.publishNotReadyAddresses is true, wanted false" in world.ready(given)["message"]
    (name,) = world.names(edited, "Service")
    assert world.child(given.children, "Service", name)["spec"]["publishNotReadyAddresses"] is False
    assert "publishNotReadyAddresses" not in world.child(settled(), "Service", name)["spec"]


def test_replicas_of_an_adapter_are_the_wanted_ones() -> None:
    children = settled()
    scaled = changed(children, "DynamoGraphDeploymentScalingAdapter", replicas=3)
    first = world.ask(GRAPH, scaled)
    assert "g-a: RollingOut: wait for the new pods (spec not yet applied)" in world.ready(first)["message"]
    assert world.ready(world.ask(GRAPH, world.run(world.apply(scaled, first.children))))["status"] == "True"


def test_role_binding_of_other_subjects_is_to_be_deleted() -> None:
    children = [
        {**child, "subjects": [{**child["subjects"][0], "name": "other"}]} if child["kind"] == "RoleBinding" else child
        for child in settled()
    ]
    message = world.ready(later(GRAPH, children))["message"]
    assert "Differs: it is never updated - delete it" in message
    assert "(subjects[g-k8s-service-discovery] is missing)" in message


def test_pod_clique_set_edited_by_hand_makes_the_graph_unready() -> None:
    graph = make.graph(grove.TWO)
    children = grove.settled(graph)
    assert world.ready(grove.ask(graph, children, grove.PARTS))["status"] == "True"
    edited = changed(children, "PodCliqueSet", replicas=2)
    early = world.ready(grove.ask(graph, edited, grove.PARTS))["message"]
    assert "podcliqueset/g: spec.replicas is 2, wanted 1" in early
    late = world.ready(later(graph, edited, grove.PARTS, installed=grove.GROVE))["message"]
    assert late.startswith("podcliqueset/g: Differs: ")
    assert "(spec.replicas is 2, wanted 1)" in late


def test_component_that_lacks_an_object_keeps_its_graph_unready() -> None:
    children = settled()
    for child in children:
        if child["kind"] == COMPONENT:
            child["status"]["conditions"].append({"type": "Ready", "status": "False", "message": "no Service"})
    message = world.ready(world.ask(GRAPH, children))["message"]
    assert "g-a: no Service" in message


def test_graph_that_wants_the_component_of_another_graph_says_whose_it_is() -> None:
    graph = make.graph({"c": make.service()}, name="a-b")
    owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "a", "uid": "u-a"}
    (rival,) = [c for c in settled(make.graph({"b-c": make.service()}, name="a")) if c["kind"] == COMPONENT]
    rival["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    found = "the DynamoComponentDeployment a-b-c that exists belongs to DynamoGraphDeployment a"
    rest = without(settled(graph), COMPONENT)
    for children in ([], rest):
        first = world.ask(graph, children, [rival])
        assert "services" not in (first.status or {}), "the component is not this graph's"
        assert world.ready(first)["message"].startswith(f"a-b-c: Progressing: wait ({found})")
    answer = later(graph, rest, [rival])
    assert f"a-b-c: NameTaken: {found}" in world.ready(answer)["message"]
    (event,) = [effect for effect in answer.effects if isinstance(effect, Event)]
    assert (event.type, event.reason, event.about.name) == ("Warning", "NameTaken", "a-b")
    assert found in event.message


GOING = {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/f"]}
BEFORE = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u-before"}
HELD: dict[str, tuple[dict[str, Any], str]] = {
    "of a graph that was deleted": (
        {"ownerReferences": [{**BEFORE, "controller": True}], **GOING},
        (
            "belongs to a deleted DynamoGraphDeployment of this name and is being deleted, held by finalizer "
            "example.com/f - wait until the program that set the finalizer removes it; "
        ),
    ),
    "of another graph": (
        {"ownerReferences": [{**BEFORE, "name": "o", "controller": True}], **GOING},
        "belongs to DynamoGraphDeployment o and is being deleted, held by finalizer example.com/f - wait until",
    ),
    "of nobody": (GOING, "has no owner and is being deleted, held by finalizer example.com/f - wait until"),
    "held by two": (
        {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["a/f", "b/f"]},
        "has no owner and is being deleted, held by finalizers a/f, b/f - wait until the program",
    ),
    "held by what it owns": (
        {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]},
        "has no owner and is being deleted, held by finalizer foregroundDeletion - wait until what depends on it, or",
    ),
    "not held": (
        {"deletionTimestamp": "2030-01-01T00:00:00Z"},
        "has no owner and is being deleted - wait (",
    ),
    "left behind by a graph of this name": (
        {"ownerReferences": [{**BEFORE, "controller": True}]},
        "belongs to a deleted DynamoGraphDeployment of this name - wait until Kubernetes deletes it with its owner (",
    ),
}


@pytest.mark.parametrize(("metadata", "sentence"), HELD.values(), ids=HELD)
@pytest.mark.parametrize("kind", [COMPONENT, "ServiceAccount", "DynamoGraphDeploymentScalingAdapter"])
def test_object_that_is_being_deleted_under_the_name_of_a_child_is_not_to_be_renamed(
    kind: str, metadata: dict[str, Any], sentence: str
) -> None:
    graph = make.graph({"a": make.service(scalingAdapter={"enabled": True})})
    graph["metadata"]["uid"] = "u-now"
    children = settled(graph)
    (wanted,) = [child for child in children if child["kind"] == kind]
    held = {**wanted, "metadata": {"name": name_of(wanted), "namespace": "default", **metadata}}
    message = world.ready(later(graph, without(children, kind), [held]))["message"]
    assert f"NameTaken: the {kind} {name_of(wanted)} that exists {sentence}" in message
    assert "rename" not in message
    if "example.com/f" in metadata.get("finalizers", ()):
        patch = f"kubectl patch {kind.lower()} {name_of(wanted)} -n default --type=merge"
        assert f"""{patch} -p '{{"metadata":{{"finalizers":null}}}}'""" in message


def test_pod_clique_set_of_a_deleted_graph_is_named_with_what_holds_it() -> None:
    graph = make.graph(grove.TWO)
    graph["metadata"]["uid"] = "u-now"
    children = grove.settled(graph)
    (wanted,) = [child for child in children if child["kind"] == "PodCliqueSet"]
    owned = {"ownerReferences": [{**BEFORE, "controller": True}], **GOING}
    held = {**wanted, "metadata": {"name": "g", "namespace": "default", **owned}}
    rest = [child for child in children if child["kind"] != "PodCliqueSet"]
    message = world.ready(later(graph, rest, [*grove.PARTS, held], installed=grove.GROVE))["message"]
    whose = "belongs to a deleted DynamoGraphDeployment of this name"
    assert f"NameTaken: the PodCliqueSet g that exists {whose}" in message
    assert "is being deleted, held by finalizer example.com/f" in message


@pytest.mark.parametrize("kind", ["PodCliqueSet", COMPONENT, "ServiceAccount"])
def test_own_object_that_is_being_deleted_is_named_with_what_holds_it(kind: str) -> None:
    by_grove = kind == "PodCliqueSet"
    graph = make.graph(grove.TWO if by_grove else {"a": make.service()})
    found = grove.settled(graph) if by_grove else settled(graph)
    children = [{**one, "metadata": {**one["metadata"], **GOING}} if one["kind"] == kind else one for one in found]
    answer = world.ask(graph, children, grove.PARTS if by_grove else (), grove.GROVE if by_grove else ())
    message = world.ready(answer)["message"]
    assert "it is being deleted, held by finalizer example.com/f" in message


def test_component_that_the_go_operator_left_is_named_with_the_command() -> None:
    graph = make.graph({"c": make.service()}, name="a-b")
    (left,) = [c for c in settled(graph) if c["kind"] == COMPONENT]
    kept = {key: value for key, value in left["metadata"].items() if key != "ownerReferences"}
    labels = {key: value for key, value in kept["labels"].items() if key != "controller-uid"}
    released = {**left, "metadata": {**kept, "labels": labels, "annotations": {}}}
    answer = later(graph, without(settled(graph), COMPONENT), [released])
    told = "the DynamoComponentDeployment a-b-c that exists was left by the Go operator"
    assert f"NotAdopted: {told} - dynamo-hooks migrate -n default --apply" in world.ready(answer)["message"]
    assert [effect.reason for effect in answer.effects if isinstance(effect, Event)] == ["NotAdopted"]


def test_pod_clique_set_that_the_go_operator_left_is_named_with_the_command() -> None:
    graph = make.graph(grove.TWO)
    children = grove.settled(graph)
    (left,) = [c for c in children if c["kind"] == "PodCliqueSet"]
    released = {**left, "metadata": {"name": "g", "namespace": "default"}}
    rest = [c for c in children if c["kind"] != "PodCliqueSet"]
    answer = later(graph, rest, [*grove.PARTS, released], installed=grove.GROVE)
    assert answer.status is not None
    told = "NotAdopted: the PodCliqueSet g that exists was left by the Go operator - dynamo-hooks migrate"
    assert told in world.ready(answer)["message"]


def test_sequential_restart_waits_while_an_object_of_the_graph_is_missing() -> None:
    services = {name: make.service() for name in "ab"}
    children = settled(make.graph(services))
    graph = make.graph(services, restart={"id": "r1"})
    first = world.ask(graph, children)
    told = world.run(world.apply(children, first.children))
    graph = {**graph, "status": first.status}
    held = world.ask(graph, without(told, "ServiceAccount"))
    assert held.status is not None
    assert held.status["restart"]["inProgress"] == ["a"]
    moving = world.ask(graph, told)
    assert moving.status is not None
    assert moving.status["restart"]["inProgress"] == ["b"]


def test_restart_waits_for_a_component_that_was_changed_by_hand() -> None:
    services = {name: make.service() for name in "ab"}
    children = settled(make.graph(services))
    graph = make.graph(services, restart={"id": "r1"})
    first = world.ask(graph, children)
    edited = changed(world.run(world.apply(children, first.children)), COMPONENT, replicas=0)
    held = world.ask({**graph, "status": first.status}, edited)
    assert held.status is not None
    assert held.status["restart"]["inProgress"] == ["a"]


def at(graph: Manifest, children: Iterable[Manifest], seconds: float) -> tuple[Manifest, SyncAnswer]:
    """The graph after a sync at this time, and the answer."""
    facts = Facts(now=make.NOW + timedelta(seconds=seconds), settings=parse_settings({}, {}))
    answer = sync(make.sync_request(graph, children), facts)
    return {**graph, "status": answer.status}, answer


def test_graph_whose_component_somebody_scales_again_and_again_says_so_until_it_is_over() -> None:
    graph, children = GRAPH, settled()
    for seconds, seen in ((0, children), (15, changed(children, COMPONENT, replicas=7)), (16, children)):
        graph, answer = at(graph, seen, seconds)
    assert world.ready(answer)["status"] == "True"
    for seconds, seen in ((30, changed(children, COMPONENT, replicas=7)), (31, children)):
        graph, answer = at(graph, seen, seconds)
        assert (world.ready(answer)["status"], (answer.status or {})["notReadyReason"]) == ("False", "Differs")
    cause = "DynamoComponentDeployment g-a: Differs: something else writes spec.replicas again and again - "
    assert world.ready(answer)["message"].startswith(cause)
    assert world.ready(at(graph, children, 61)[1])["status"] == "True"
