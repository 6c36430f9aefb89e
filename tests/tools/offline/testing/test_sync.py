"""`hooks.testing`: syncs of all five kinds, and what a test can say about the objects that exist."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of, name_of
from hooks.testing import Answer, Dynamo, HookFailed, assert_has, report_phase
from hooks.tools.offline.simulator.store import ApiError, copy_json
from hooks.tools.offline.testing.dynamo import NOW
from hooks.wire.metacontroller.effects import ScalePodClique
from hooks.wire.world.merge import LAST_APPLIED
from tests import make
from tests.tools.cli.versions import ALPHA, BETA

EXAMPLES = Path(__file__).parents[4] / "examples"
COMPONENT = contract.COMPONENT.kind


def plain(parent: Manifest) -> Manifest:
    """As a user writes it: without what a server adds."""
    return {**parent, "metadata": {"name": name_of(parent)}}


def graph(**services: Any) -> Manifest:
    return plain(make.graph(services or None))


def example(name: str) -> list[Manifest]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text()))


def names(answer: Answer) -> list[str]:
    return [f"{child['kind']} {name_of(child)}" for child in answer.every_child()]


def test_graph_is_followed_to_its_workloads(dynamo: Dynamo) -> None:
    answer = dynamo.sync(graph())
    assert (answer.hook, answer.status["state"]) == ("/graph/sync", "pending")
    assert names(answer)[:3] == ["DynamoComponentDeployment g-frontend", "Deployment g-frontend", "Service g-frontend"]
    assert {one.hook for one in answer.below} == {"/component/sync"}
    assert [name_of(found) for found in answer.workloads()] == ["g-frontend", "g-worker"]


def test_what_a_test_gives_is_not_changed_and_the_answer_is_the_same_each_time(dynamo: Dynamo) -> None:
    parent, ready = graph(), dynamo.as_ready(graph())
    before = copy_json({"parent": parent, "ready": ready})
    first, second = dynamo.sync(parent, ready), dynamo.sync(parent, ready)
    assert copy_json({"parent": parent, "ready": ready}) == before
    assert first == second


def test_child_is_applied_with_owner_history_and_the_servers_defaults(dynamo: Dynamo) -> None:
    live = dynamo.sync(graph()).live("Deployment", "g-worker")
    [owner] = live["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == (COMPONENT, "g-worker", True)
    assert LAST_APPLIED in live["metadata"]["annotations"]
    assert labels_of(live)["controller-uid"] == owner["uid"]
    assert live["spec"]["revisionHistoryLimit"] == 10


def test_graph_becomes_ready_step_by_step(dynamo: Dynamo) -> None:
    answer = dynamo.go_on(dynamo.sync(graph()), dynamo.as_ready)
    assert answer.answer_about(COMPONENT, "g-worker").condition("Ready")["status"] == "True"
    assert dynamo.go_on(answer).status["state"] == "successful"


def test_workload_that_a_test_builds_finds_its_parent(dynamo: Dynamo) -> None:
    first = dynamo.sync(graph())
    answer = dynamo.sync(graph(), [first.objects, dynamo.as_ready(first.child("Deployment", "g-worker"))])
    before, after = ({(obj["kind"], name_of(obj)) for obj in one.objects} for one in (first, answer))
    assert before <= after
    assert answer.answer_about(COMPONENT, "g-worker").condition("Ready")["status"] == "True"
    assert answer.answer_about(COMPONENT, "g-frontend").condition("Ready")["status"] == "False"


def test_child_written_by_hand_is_stored_as_it_was_applied(dynamo: Dynamo) -> None:
    wanted = dynamo.sync(graph()).child("Service", "g-frontend")
    live = dynamo.sync(graph(), [wanted]).live("Service", "g-frontend")
    assert_has(live["spec"], wanted["spec"])
    stray = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "stray"}, "spec": {}}
    with pytest.raises(LookupError, match=r"no parent wants the child Service stray; wanted are .*Service g-frontend"):
        dynamo.sync(graph(), [stray])


def test_edit_of_a_stored_graph_is_a_new_generation(dynamo: Dynamo) -> None:
    first = dynamo.sync(graph())
    edited = graph(Frontend=make.service("frontend", image="img:2"))
    second = dynamo.sync(edited, first.objects)
    assert second.parent is not None
    assert second.parent["metadata"]["generation"] == 2
    assert second.live("Deployment", "g-frontend")["spec"]["template"]["spec"]["containers"][0]["image"] == "img:2"
    with pytest.raises(LookupError, match="no Deployment g-worker in the cluster; there are g-frontend"):
        dynamo.go_on(second).live("Deployment", "g-worker")


@pytest.mark.parametrize("fault", ["CrashLoopBackOff", "ImagePullBackOff", "Unschedulable", "ProbeFailing"])
def test_fault_of_a_pod_is_named(dynamo: Dynamo, fault: str) -> None:
    answer = dynamo.sync(graph(), dynamo.as_broken(graph(), fault, pods="Worker"))
    message = answer.condition("Ready")["message"]
    assert "pod g-worker-" in message
    assert answer.status["componentsReady"] == "1/2"


def test_crash_of_one_workload_is_named_by_its_component(dynamo: Dynamo) -> None:
    wanted = dynamo.sync(graph()).child("Deployment", "g-worker")
    about = dynamo.sync(graph(), dynamo.as_crashing(wanted)).answer_about(COMPONENT, "g-worker")
    assert about.condition("Ready")["reason"] == "CrashLoop"


def test_deployment_scaled_by_hand_has_its_history_and_is_set_back(dynamo: Dynamo) -> None:
    ready = dynamo.sync(graph(), dynamo.as_ready(graph()))
    scaled = dynamo.as_scaled_by_hand(ready.live("Deployment", "g-worker"), 3)
    assert (scaled[0]["spec"]["replicas"], scaled[0]["status"]["readyReplicas"]) == (3, 3)
    assert sum(obj["kind"] == "Pod" for obj in scaled) == 3
    assert '"replicas":1' in scaled[0]["metadata"]["annotations"][LAST_APPLIED]
    answer = dynamo.sync(graph(), [ready.objects, scaled])
    assert answer.live("Deployment", "g-worker")["spec"]["replicas"] == 1
    assert len([obj for obj in answer.objects if obj["kind"] == "Pod"]) == 4


def test_component_scaled_by_hand_is_set_back_by_its_graph(dynamo: Dynamo) -> None:
    ready = dynamo.sync(graph(), dynamo.as_ready(graph()))
    scaled = dynamo.as_scaled_by_hand(ready.live(COMPONENT, "g-worker"), 0)
    assert scaled[0]["spec"]["replicas"] == 0
    assert dynamo.sync(graph(), [ready.objects, scaled]).live(COMPONENT, "g-worker")["spec"]["replicas"] == 1


def test_component_alone_is_synced_with_related_objects(dynamo: Dynamo) -> None:
    component = plain(make.component("c", componentType="worker", extraPodSpec={"mainContainer": {"image": "r.io/a"}}))
    secret = make.pull_secret("login", "r.io")
    pod = dynamo.sync(component, related=[secret]).child("Deployment", "c")["spec"]["template"]["spec"]
    assert pod["imagePullSecrets"] == [{"name": "login"}]
    ready = dynamo.sync(component, dynamo.as_ready(component, beside=[secret]))
    assert ready.condition("Ready")["status"] == "True"


NODES: dict[str, Any] = {
    "componentType": "worker",
    "multinode": {"nodeCount": 2},
    "resources": {"limits": {"gpu": "1"}},
    "command": ["python3", "-m", "dynamo.vllm"],
    "args": ["--model", "m"],
}


def test_leader_worker_sets_become_ready_crash_and_are_scaled(dynamo: Dynamo) -> None:
    here = dynamo.configured(installed={"lws", "volcano"})
    parent = graph(w=make.service(**NODES))
    wanted = here.sync(parent).child("LeaderWorkerSet", "g-w-0")
    assert [obj["kind"] for obj in here.as_ready(wanted)].count("Pod") == 2
    assert here.sync(parent, here.as_ready(parent)).status["state"] == "successful"
    crashing = here.sync(parent, here.as_crashing(wanted)).answer_about(COMPONENT, "g-w")
    assert crashing.condition("Ready")["reason"] == "CrashLoop"
    assert here.as_scaled_by_hand(wanted, 2)[0]["status"]["readyReplicas"] == 2


def test_pod_clique_set_becomes_ready_crashes_and_is_scaled(dynamo: Dynamo) -> None:
    here = dynamo.configured(installed={"grove"})
    first = here.sync(graph())
    wanted = first.child("PodCliqueSet", "g")
    ready = here.sync(graph(), [first.objects, here.as_ready(wanted)])
    assert ready.status["state"] == "successful"
    message = here.sync(graph(), here.as_crashing(wanted, pods="Worker")).condition("Ready")["message"]
    assert "CrashLoop" in message
    two = graph(Frontend=make.service("frontend"), Worker=make.service(replicas=2))
    wanted = here.sync(two).child("PodCliqueSet", "g")
    scaled = here.sync(two, here.as_scaled_by_hand(wanted, 4, part="worker"))
    assert scaled.live("PodClique", "g-0-worker")["spec"]["replicas"] == 4
    scale = ScalePodClique(kind="PodClique", namespace="default", name="g-0-worker", replicas=2)
    assert scale in scaled.effects
    clique = here.as_scaled_by_hand(ready.live("PodClique", "g-0-worker"), 2)
    assert clique[0]["status"]["readyReplicas"] == 2
    with pytest.raises(LookupError, match="has no part 'wroker'; it has frontend, worker"):
        here.as_scaled_by_hand(wanted, 1, part="wroker")


def test_scaling_adapter_reports_its_service(dynamo: Dynamo) -> None:
    scalable = graph(w=make.service(scalingAdapter={"enabled": True}))
    ready = dynamo.sync(scalable, dynamo.as_ready(scalable))
    adapter = ready.live(contract.SCALING_ADAPTER.kind, "g-w")
    answer = dynamo.sync(adapter, ready.objects)
    assert (answer.hook, answer.status["replicas"]) == ("/scaling-adapter/sync", 1)


def test_model_reports_what_the_prober_of_the_test_says(dynamo: Dynamo) -> None:
    (*parents,) = example("vllm-lora.yaml")
    model = next(found for found in parents if gvk_of(found) == contract.MODEL and found["spec"]["modelType"] == "lora")
    serving = next(found for found in parents if gvk_of(found) == contract.GRAPH)
    pods = with_routable_addresses(dynamo.as_ready(serving))
    assert dynamo.sync(model, related=pods).status["readyEndpoints"] > 0
    failing = dynamo.configured(prober=report_phase("Failed", "no such adapter")).sync(model, related=pods)
    assert failing.status["readyEndpoints"] == 0
    assert any("no such adapter" in endpoint.get("lastError", "") for endpoint in failing.status["endpoints"])


def with_routable_addresses(objects: list[Manifest]) -> list[Manifest]:
    """The objects with addresses as pods of a real cluster have them; simulated pods have loopback addresses."""
    text = re.sub(r'"127\.', '"10.', json.dumps(objects))
    return list(json.loads(text))


def test_request_starts_its_profiler(dynamo: Dynamo) -> None:
    request = next(found for found in example("request-aic.yaml") if gvk_of(found) == contract.GRAPH_REQUEST)
    here = dynamo.configured(hooks_image="hooks:1")
    answer = here.go_on(here.sync(request))
    assert answer.hook == "/request/sync"
    assert [gvk_of(found) for found in here.go_on(answer).workloads()] == [kinds.JOB]


def test_object_that_is_being_deleted_is_finalized(dynamo: Dynamo) -> None:
    [model] = [found for found in example("vllm-lora.yaml") if found["metadata"]["name"].endswith("adapter")][:1] or [
        next(found for found in example("vllm-lora.yaml") if gvk_of(found) == contract.MODEL)
    ]
    stored = dynamo.sync(model).parent
    assert stored is not None
    deleted = {**stored, "metadata": {**stored["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    answer = dynamo.sync(deleted)
    assert (answer.hook, answer.finalized, answer.parent) == ("/model/finalize", True, None)


def test_settings_time_and_kinds_are_those_that_a_test_asks_for(dynamo: Dynamo) -> None:
    later = dynamo.configured(now=NOW + timedelta(days=1), nats_address="nats://n:4222")
    answer = later.sync(graph())
    assert answer.condition("Ready")["lastTransitionTime"] == "2026-01-02T00:00:00Z"
    env = answer.child("Deployment", "g-worker")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "NATS_SERVER", "value": "nats://n:4222"} in env
    with pytest.raises(LookupError, match=r'no matches for kind "PodCliqueSet" .* must stand in `installed`'):
        dynamo.sync(graph(), related=[{"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {}}])


def test_parent_that_the_api_server_would_refuse_is_refused(dynamo: Dynamo) -> None:
    wrong = graph(w={"replica": 1, **make.service()})
    with pytest.raises(ApiError, match=r"spec\.services\[w\]\.replica: unknown field; did you mean replicas\?"):
        dynamo.sync(wrong)


def test_refusal_of_a_hook_is_raised(dynamo: Dynamo) -> None:
    def refuse(_wanted: object) -> Any:
        raise ConnectionError

    model = next(found for found in example("vllm-lora.yaml") if gvk_of(found) == contract.MODEL)
    serving = next(found for found in example("vllm-lora.yaml") if gvk_of(found) == contract.GRAPH)
    with pytest.raises(HookFailed, match="/model/sync answered 500: a bug of the hook") as caught:
        dynamo.configured(prober=refuse).sync(model, related=with_routable_addresses(dynamo.as_ready(serving)))
    assert caught.value.status == 500


def test_graph_that_does_not_become_ready_says_why(dynamo: Dynamo) -> None:
    with pytest.raises(AssertionError, match=r"does not become ready: .*no multinode orchestrator available"):
        dynamo.as_ready(graph(w=make.service(**NODES)))


def test_graph_of_v1beta1_is_synced_as_the_same_graph_of_v1alpha1(dynamo: Dynamo) -> None:
    alpha, beta = yaml.safe_load(ALPHA), yaml.safe_load(BETA)
    answer = dynamo.sync(beta)
    assert answer.children == dynamo.sync(alpha).children
    assert answer.parent is not None
    assert answer.parent["apiVersion"] == "nvidia.com/v1alpha1"
    ready = dynamo.sync(beta, dynamo.as_ready(beta))
    assert ready.status["state"] == "successful"


def test_graph_that_the_schema_of_v1beta1_refuses_is_refused_with_its_paths(dynamo: Dynamo) -> None:
    broken = yaml.safe_load(BETA.replace("replicas: 2", "replica: 2"))
    with pytest.raises(ApiError, match=r"spec.components\[1\].replica: unknown field; did you mean replicas"):
        dynamo.sync(broken)
