"""Ready under a real Metacontroller where the cluster does not become what is wanted: refused changes, taken names."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hooks.ground import contract
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.policies import registered
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest

NAME, FRONTEND = "vllm-agg", "vllm-agg-frontend"
DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["UPDATE"]}


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, acting_url: str) -> Iterator[None]:
    with running_controllers(admin, acting_url):
        yield


@contextmanager
def policy(admin: ApiClient, api: ApiClient, deployment: str) -> Iterator[None]:
    """Nobody changes the replicas of a Deployment in the client's namespace but by its scale subresource."""
    name = f"fixed-{api.namespace}"
    rule = {"expression": "object.spec.replicas == oldObject.spec.replicas", "message": "replicas are fixed"}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
    spec = {"matchConstraints": {"resourceRules": [DEPLOYMENTS]}, "validations": [rule]}
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector}}
    with registered(admin, "ValidatingAdmissionPolicy", spec, binding):
        wait_for(lambda: is_refused(api, deployment), "the policy refuses")
        yield


def is_refused(api: ApiClient, deployment: str) -> bool:
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": deployment}, "spec": {"replicas": 7}}
    try:
        api.apply(other, dry_run=True)
    except ApiRefused as refused:
        return "replicas are fixed" in refused.message
    return False


def ready(api: ApiClient, kind: str, name: str, type_: str = "Ready") -> dict[str, Any]:
    found = api.get(DYNAMO, kind, name)
    return condition(found, type_) if found is not None else {}


def warnings(api: ApiClient, kind: str, name: str, reason: str) -> list[str]:
    about = f"involvedObject.kind={kind},involvedObject.name={name},reason={reason},type=Warning"
    return [str(event["message"]) for event in api.list("v1", "Event", fieldSelector=about)]


def test_change_by_hand_that_cannot_be_reverted_is_never_ready(api: ApiClient, admin: ApiClient) -> None:
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    with policy(admin, api, FRONTEND):
        api.patch("apps/v1", "Deployment", FRONTEND, {"spec": {"replicas": 0}}, sub="scale")
        wait_for(lambda: ready(api, COMPONENT, FRONTEND).get("status") == "False", "the component is not ready")
        wait_for(lambda: ready(api, GRAPH, NAME)["status"] == "False", "the graph is not ready")
        wait_for(lambda: ready(api, COMPONENT, FRONTEND)["reason"] == "Differs", "the component says that it lasts")
        message = ready(api, COMPONENT, FRONTEND)["message"]
        assert "spec.replicas is 0, wanted 1" in message
        assert f"kubectl describe dynamocomponentdeployment {FRONTEND} -n {api.namespace}" in message
        wait_for(lambda: "spec.replicas is 0" in ready(api, GRAPH, NAME)["message"], "the graph says the field")
        assert any("replicas are fixed" in text for text in warnings(api, COMPONENT, FRONTEND, "SyncError"))
        assert warnings(api, COMPONENT, FRONTEND, "Differs")
    wait_until_ready(api, NAME)
    assert ready(api, COMPONENT, FRONTEND, "Applied")["reason"] == "Restored"
    wait_for(lambda: ready(api, COMPONENT, FRONTEND, "Applied")["reason"] == "AsWanted", "it is over")
    api.delete(DYNAMO, GRAPH, NAME)


def test_autoscaler_of_a_deployment_is_named_until_it_is_deleted(api: ApiClient) -> None:
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": FRONTEND}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "war"}}
    api.create({**scaler, "spec": {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 4}}, strict=True)
    wait_for(lambda: ready(api, COMPONENT, FRONTEND)["reason"] == "Differs", "the component says who scales it")
    message = ready(api, COMPONENT, FRONTEND)["message"]
    assert "kube-controller-manager (subresource scale) writes spec.replicas again and again" in message
    assert "docs/autoscaling.md" in message
    wait_for(lambda: ready(api, GRAPH, NAME)["message"].startswith(f"{FRONTEND}: {message}"), "the graph says it first")
    assert ready(api, GRAPH, NAME)["status"] == "False"
    wait_for(lambda: ready(api, COMPONENT, FRONTEND, "Applied")["status"] == "Unknown", "it is set back meanwhile")
    assert ready(api, COMPONENT, FRONTEND)["reason"] == "Differs"
    api.delete("autoscaling/v2", "HorizontalPodAutoscaler", "war")
    wait_for(lambda: ready(api, COMPONENT, FRONTEND)["status"] == "True", "the component is ready again")
    assert ready(api, COMPONENT, FRONTEND, "Applied")["reason"] == "AsWanted"
    assert len(warnings(api, COMPONENT, FRONTEND, "Differs")) == 1
    api.delete(DYNAMO, GRAPH, NAME)


def test_service_that_sends_its_clients_elsewhere_is_set_back(api: ApiClient, audit: Audit) -> None:
    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    elsewhere = {"type": "ExternalName", "externalName": "elsewhere.example"}
    for hand in ({"publishNotReadyAddresses": True}, elsewhere):
        api.patch("v1", "Service", FRONTEND, {"spec": hand})
        wait_for(lambda: ready(api, COMPONENT, FRONTEND, "Applied")["reason"] == "Changed", "Applied says it")
        wait_for(lambda: is_set_back(api, FRONTEND), "the Service is set back")
        wait_for(lambda: ready(api, COMPONENT, FRONTEND, "Applied")["reason"] == "AsWanted", "it is over")
        wait_until_ready(api, NAME)
    mark = wait_for_silence(audit)
    api.patch("v1", "Service", FRONTEND, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_for_silence(audit)
    assert audit.writes(mark) == [], "nothing is written again and again"
    api.delete(DYNAMO, GRAPH, NAME)


def is_set_back(api: ApiClient, name: str) -> bool:
    """Whether a Service reaches ready pods alone, and nothing is left of what was wanted for a moment."""
    service = api.get("v1", "Service", name)
    assert service is not None
    spec, applied = service["spec"], service["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED]
    is_unready = "publishNotReadyAddresses" in spec
    return spec["type"] == "ClusterIP" and bool(spec["clusterIP"]) and not is_unready and '"type"' not in applied


def test_service_whose_name_somebody_else_has_is_told(api: ApiClient) -> None:
    foreign = {"metadata": {"name": FRONTEND}, "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}}
    api.create({"apiVersion": "v1", "kind": "Service", **foreign})
    api.create(load_example(NAME), strict=True)
    wait_for(lambda: ready(api, COMPONENT, FRONTEND).get("reason") == "NameTaken", "the component says whose it is")
    message = ready(api, COMPONENT, FRONTEND)["message"]
    assert f"the Service {FRONTEND} that exists has no owner" in message
    assert ready(api, COMPONENT, FRONTEND, "Available")["status"] == "True", "its pods are"
    assert the_graph(api, NAME)["status"]["state"] == "pending"
    api.delete("v1", "Service", FRONTEND)
    wait_until_ready(api, NAME)
    api.delete(DYNAMO, GRAPH, NAME)


def test_graph_that_wants_the_component_of_another_graph_says_whose_it_is(api: ApiClient) -> None:
    first, second = graph_of("a", "b-c"), graph_of("a-b", "c")
    api.create(first, strict=True)
    wait_until_ready(api, "a")
    api.create(second, strict=True)
    wait_for(lambda: ready(api, GRAPH, "a-b", "Applied").get("reason") == "NameTaken", "the loser says whose it is")
    found = f"the {COMPONENT} a-b-c that exists belongs to {GRAPH} a"
    assert found in ready(api, GRAPH, "a-b")["message"]
    wait_for(lambda: any(found in text for text in warnings(api, GRAPH, "a-b", "NameTaken")), "an Event says so")
    assert ready(api, GRAPH, "a")["status"] == "True"
    api.delete(DYNAMO, GRAPH, "a")
    wait_until_ready(api, "a-b")
    api.delete(DYNAMO, GRAPH, "a-b")


def test_graph_that_finds_the_component_of_a_deleted_one_says_what_holds_it(api: ApiClient) -> None:
    """A person deletes a graph whose component a finalizer holds, and creates the graph again."""
    api.create(graph_of("a", "f"), strict=True)
    wait_until_ready(api, "a")
    held = ((DYNAMO, COMPONENT, "a-f"), ("v1", "ServiceAccount", "a-k8s-service-discovery"))
    for one in held:
        api.patch(*one, {"metadata": {"finalizers": ["example.com/f"]}})
    api.delete(DYNAMO, GRAPH, "a")
    wait_for(lambda: all(is_going(api, *one) for one in held), "both are being deleted")
    api.create(graph_of("a", "f"), strict=True)
    told = f"belongs to a deleted {GRAPH} of this name and is being deleted, held by finalizer example.com/f"
    titles = [f"the {kind} {name} that exists {told}" for _, kind, name in held]
    wait_for(
        lambda: all(one in ready(api, GRAPH, "a").get("message", "") for one in titles), "the graph says it of both"
    )
    message = ready(api, GRAPH, "a")["message"]
    assert "rename" not in message
    patch = f"kubectl patch dynamocomponentdeployment a-f -n {api.namespace} --type=merge -p "
    assert f"""{patch}'{{"metadata":{{"finalizers":null}}}}'""" in message
    for one in held:
        api.patch(*one, {"metadata": {"finalizers": None}})
    wait_until_ready(api, "a")
    api.delete(DYNAMO, GRAPH, "a")


def is_going(api: ApiClient, version: str, kind: str, name: str) -> bool:
    found = api.get(version, kind, name)
    return found is not None and "deletionTimestamp" in found["metadata"]


def test_graphs_of_which_one_sees_the_workers_of_the_other_both_say_so(api: ApiClient) -> None:
    def of_release(name: str, release: str) -> Manifest:
        found = copy.deepcopy(load_example(NAME))
        for service in found["spec"]["services"].values():
            service["runtimeVersionOverride"] = release
        return {**found, "metadata": {"name": name}}

    def shared(name: str) -> str:
        return str(ready(api, GRAPH, name, "SharesWorkers").get("message") or "")

    api.create(of_release("chat", "1.5.1"), strict=True)
    wait_until_ready(api, "chat")
    assert shared("chat") == ""
    api.create(of_release("chat-large", "1.6.1"), strict=True)
    wait_for(
        lambda: f"may send requests to the workers of {GRAPH} chat-large too" in shared("chat"), "the one that sees"
    )
    wait_for(lambda: shared("chat-large").startswith(f"{GRAPH} chat may send requests"), "the one that is seen")
    wait_until_ready(api, "chat-large")
    names = ("chat", "chat-large")
    for name in names:
        found = ready(api, GRAPH, name)
        assert (found["status"], found["message"]) == ("True", f"{shared(name)}; All resources are ready")
    wait_for(lambda: [len(warnings(api, GRAPH, one, "SharedByPrefix")) for one in names] == [1, 1], "an Event of each")
    newer = {service: {"runtimeVersionOverride": "1.6.1"} for service in of_release("chat", "")["spec"]["services"]}
    api.patch(DYNAMO, GRAPH, "chat", {"spec": {"services": newer}})
    wait_for(
        lambda: shared("chat") == "" and shared("chat-large") == "", "a release that leaves others out is the remedy"
    )
    for name in names:
        wait_until_ready(api, name)
        api.delete(DYNAMO, GRAPH, name)


def graph_of(name: str, service: str) -> Manifest:
    """A graph of one frontend."""
    example = copy.deepcopy(load_example(NAME))
    frontend = next(one for one in example["spec"]["services"].values() if one["componentType"] == "frontend")
    return {**example, "metadata": {"name": name}, "spec": {**example["spec"], "services": {service: frontend}}}
