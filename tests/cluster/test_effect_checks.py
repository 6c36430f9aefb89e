"""Effects on a real API server, without a controller: the hooks do only what the stored objects ask for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from hooks.graph.sync import sync
from hooks.ground.k8s import kinds
from hooks.server.clients.effects import EffectsClient
from hooks.server.clients.event_objects import COMPONENT as COMPONENT_NAME
from hooks.wire.metacontroller.effects import EffectOutcome, EffectSource, Event, ScalePodClique, WriteBackReplicas
from hooks.wire.policy.conditions import reference_of
from tests import make
from tests.cluster.acting_hooks import effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import HOOKS_ACCOUNT, ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, SCALING_ADAPTER, load_example, the_graph
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE, POD_CLIQUE_SET, installed_grove
from tests.cluster.policies import registered
from tests.contract.backend import ApiRefused, Manifest

NAME = "vllm-planner"
ADAPTER = "vllm-planner-vllmdecodeworker"
SERVICE = "VllmDecodeWorker"


@pytest.fixture(scope="module", autouse=True)
def rights(admin: ApiClient) -> Iterator[None]:
    with granted_effects(admin):
        yield


@pytest.fixture(scope="module")
def client(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> EffectsClient:
    return effects_client(plane, tmp_path_factory.mktemp("account"))


def own_replicas(api: ApiClient) -> int:
    replicas: int = the_graph(api, NAME)["spec"]["services"][SERVICE].get("replicas", 1)
    return replicas


@pytest.fixture
def graph_of_nobody(api: ApiClient) -> Iterator[ApiClient]:
    """A graph that no controller looks after."""
    api.create(load_example("vllm-disagg-planner"))
    yield api
    api.delete(DYNAMO, GRAPH, NAME)


def source(found: Manifest) -> EffectSource:
    return EffectSource(parent=reference_of(found), generation=found["metadata"]["generation"])


def own_adapter(api: ApiClient, replicas: int) -> Manifest:
    """An adapter as the graph would create it, with these replicas."""
    graph = the_graph(api, NAME)
    owner = {"apiVersion": DYNAMO, "kind": GRAPH, "name": NAME, "uid": graph["metadata"]["uid"], "controller": True}
    spec = {"replicas": replicas, "dgdRef": {"name": NAME, "serviceName": SERVICE}}
    return api.create(
        {
            "apiVersion": DYNAMO,
            "kind": SCALING_ADAPTER,
            "metadata": {"name": ADAPTER, "ownerReferences": [owner]},
            "spec": spec,
        }
    )


def test_replicas_are_written_once(graph_of_nobody: ApiClient, client: EffectsClient) -> None:
    api = graph_of_nobody
    asking = source(own_adapter(api, 4))
    effect = WriteBackReplicas(graph=NAME, namespace=api.namespace, service=SERVICE, replicas=4)
    assert [client((effect,), asking)[0].outcome for _ in range(2)] == [EffectOutcome.DONE, EffectOutcome.UNCHANGED]
    assert own_replicas(api) == 4
    forged = (
        replace(effect, replicas=0),
        replace(effect, service="Frontend"),
        replace(effect, namespace="default"),
        replace(effect, graph="gone"),
    )
    outcomes = [result.outcome for result in client(forged, asking)]
    assert outcomes == [*[EffectOutcome.REFUSED] * 3, EffectOutcome.NOT_YET]
    assert own_replicas(api) == 4


def test_adapter_that_changed_since_the_request_is_not_obeyed(
    graph_of_nobody: ApiClient, client: EffectsClient
) -> None:
    api = graph_of_nobody
    old = own_adapter(api, 4)
    api.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 6}})
    effect = WriteBackReplicas(graph=NAME, namespace=api.namespace, service=SERVICE, replicas=4)
    (result,) = client((effect,), source(old))
    assert result.outcome is EffectOutcome.REFUSED
    assert result.reason.endswith("has generation 2, the request has 1")


def test_adapter_gets_one_event_if_the_graph_does_not_take_its_replicas(
    graph_of_nobody: ApiClient, client: EffectsClient, plane: ControlPlane
) -> None:
    api = graph_of_nobody
    found = own_adapter(api, 4)
    failed = Event(
        about=reference_of(found), type="Warning", reason="UpdateFailed", message="Failed to update DGD", occasion="1"
    )
    effect = WriteBackReplicas(graph=NAME, namespace=api.namespace, service=SERVICE, replicas=4, if_failed=failed)
    with refused_writes(plane, api):
        outcomes = [[result.outcome for result in client((effect,), source(found))] for _ in range(2)]
    assert outcomes == [[EffectOutcome.FAILED, EffectOutcome.DONE], [EffectOutcome.FAILED, EffectOutcome.UNCHANGED]]
    (sent,) = api.list("v1", "Event", fieldSelector=f"involvedObject.uid={found['metadata']['uid']}")
    assert (sent["type"], sent["reason"]) == ("Warning", "UpdateFailed")
    assert sent["message"].startswith("Failed to update DGD: ")
    assert "no replicas today" in sent["message"]


@contextmanager
def refused_writes(plane: ControlPlane, api: ApiClient) -> Iterator[None]:
    """Let an admission policy refuse each update of a graph in the namespace by the hooks."""
    rule = {
        "apiGroups": ["nvidia.com"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["dynamographdeployments"],
    }
    expression = f"request.userInfo.username != '{HOOKS_ACCOUNT}' || request.namespace != '{api.namespace}'"
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "no replicas today"}],
    }
    binding = {"policyName": "test-refuses-graphs", "validationActions": ["Deny"]}
    with registered(plane.client(), "ValidatingAdmissionPolicy", spec, binding):
        wait_for(lambda: _is_refused(plane.client(HOOKS_ACCOUNT).within(api.namespace)), "the policy is in force")
        yield


def _is_refused(hooks: ApiClient) -> bool:
    try:
        hooks.patch(DYNAMO, GRAPH, NAME, {"metadata": {"labels": {"test": "probe"}}})
    except ApiRefused:
        return True
    return False


# Events


def event(about: Manifest, **fields: Any) -> Event:
    defaults: dict[str, Any] = {"type": "Warning", "reason": "ValidationFailed", "message": "m", "occasion": "1"}
    return Event(about=reference_of(about), **{**defaults, **fields})


def test_event_is_sent_once_however_often_it_is_carried_out(graph_of_nobody: ApiClient, client: EffectsClient) -> None:
    api = graph_of_nobody
    found = the_graph(api, NAME)
    sent = event(found, message="m" * 5000)
    outcomes = [client((sent,), source(found))[0].outcome for _ in range(3)]
    assert outcomes == [EffectOutcome.DONE, EffectOutcome.UNCHANGED, EffectOutcome.UNCHANGED]
    (stored,) = api.list("v1", "Event", fieldSelector=f"involvedObject.name={NAME}")
    assert (stored["type"], stored["reason"], len(stored["message"])) == ("Warning", "ValidationFailed", 1024)
    assert stored["firstTimestamp"] == stored["lastTimestamp"]


def test_no_event_is_sent_about_what_does_not_exist(
    graph_of_nobody: ApiClient, admin: ApiClient, client: EffectsClient
) -> None:
    found = the_graph(graph_of_nobody, NAME)
    for metadata in ({"namespace": "kube-system"}, {"name": "gone"}, {"uid": "forged"}, {"namespace": "gone"}):
        forged = {**found, "metadata": {**found["metadata"], **metadata}}
        (result,) = client((event(forged),), source(forged))
        assert result.outcome is EffectOutcome.REFUSED
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**found["metadata"], "namespace": "kube-system"}}
    for claimed in (source(pod), source(found)):
        assert client((event(pod),), claimed)[0].outcome is EffectOutcome.REFUSED
    assert COMPONENT_NAME not in {one["source"].get("component") for one in admin.list("v1", "Event", "kube-system")}


# Grove's cliques


@pytest.fixture
def under_grove(api: ApiClient, admin: ApiClient) -> Iterator[tuple[ApiClient, Manifest]]:
    """A graph, and the set and the clique that Metacontroller and Grove would have made."""
    with installed_grove(admin):
        found = api.create(load_example("vllm-disagg"))
        name = found["metadata"]["name"]
        rendered = sync(make.sync_request(found, installed=["grove"]), make.facts()).children
        (spec,) = (child["spec"] for child in rendered if child["kind"] == POD_CLIQUE_SET)
        pod_clique_set = own(api, POD_CLIQUE_SET, name, found, spec)
        own(api, POD_CLIQUE, f"{name}-0-frontend", pod_clique_set, {"replicas": 3})
        yield api, found
        api.delete(DYNAMO, GRAPH, name)


def own(api: ApiClient, kind: str, name: str, owner: Manifest, spec: Any) -> Manifest:
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
    metadata = {
        "name": name,
        "labels": {"app.kubernetes.io/part-of": "vllm-disagg"},
        "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"], "controller": True}],
    }
    return api.create({"apiVersion": GROVE, "kind": kind, "metadata": metadata, "spec": spec})


def test_clique_gets_the_replicas_that_the_stored_graph_asks_for_and_no_others(
    under_grove: tuple[ApiClient, Manifest], client: EffectsClient
) -> None:
    api, found = under_grove
    asking = replace(source(found), declared=frozenset({kinds.POD_CLIQUE_SET}))
    name = f"{found['metadata']['name']}-0-frontend"
    effect = ScalePodClique(kind=POD_CLIQUE, namespace=api.namespace, name=name, replicas=1)
    forged = (replace(effect, replicas=0), replace(effect, replicas=9), replace(effect, namespace="default"))
    assert {result.outcome for result in client(forged, asking)} == {EffectOutcome.REFUSED}
    assert replicas_of(api, name) == 3
    assert client((effect,), replace(asking, generation=0))[0].outcome is EffectOutcome.REFUSED
    assert [client((effect,), asking)[0].outcome for _ in range(2)] == [EffectOutcome.DONE, EffectOutcome.UNCHANGED]
    assert replicas_of(api, name) == 1


def replicas_of(api: ApiClient, name: str) -> int:
    found = api.get(GROVE, POD_CLIQUE, name)
    assert found is not None
    replicas: int = found["spec"]["replicas"]
    return replicas
