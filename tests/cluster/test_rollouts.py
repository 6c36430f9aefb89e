"""A rollout of prefill and decode on a real control plane: at each moment one generation has ready pods of both."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from hooks.ground import contract
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.types import Manifest, annotations_of, is_deleting, labels_of, name_of
from tests.cluster.acting_hooks import acting_hooks, effects_client
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    QUIET_SECONDS,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer

NAME = "vllm-disagg"
ROLES = ("VllmPrefillWorker", "VllmDecodeWorker")
LATE = "VllmDecodeWorker"
HELD = {"extraPodMetadata": {"annotations": {"test/hold": "true"}}}


def test_one_generation_is_complete_at_each_moment(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str
) -> None:
    assert metacontroller
    with running_controllers(admin, acting_url):
        api.create(single_pods(load_example(NAME)), strict=True)
        wait_until_ready(api, NAME)
        before = uids(workers(api))
        since, known = api.list_with_revision("v1", "Pod")

        change(api, "1.6.2", HELD)
        wait_for(lambda: "until more new ones are ready: VllmDecodeWorker (0 of 1)" in message(api), "it waits")
        wait_for(lambda: len(workers(api)) == 4, "new pods stand beside the old ones")
        time.sleep(QUIET_SECONDS)
        assert before <= uids(workers(api))
        assert the_graph(api, NAME)["status"]["rollingUpdate"]["phase"] == "InProgress"
        release(api)
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over")
        wait_until_ready(api, NAME)
        new = uids(workers(api))
        assert not before & new
        assert len(new) == len(ROLES)
        assert_at_rest(api, sets=2)

        change(api, "1.6.9", HELD)
        wait_for(lambda: len(workers(api)) == 4, "a second rollout waits")
        change(api, "1.6.2", HELD)
        wait_for(lambda: uids(workers(api)) == new, "what waited is taken back")
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "nothing rolls")
        wait_until_ready(api, NAME)
        assert_at_rest(api, sets=3)
        assert_complete(api, since, known)
        api.delete(DYNAMO, GRAPH, NAME)


def test_canary_waits_a_pause_keeps_all_pods_and_both_end(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str
) -> None:
    assert metacontroller
    with running_controllers(admin, acting_url):
        api.create(single_pods(load_example(NAME), replicas=2), strict=True)
        wait_until_ready(api, NAME)
        before = uids(workers(api))
        since, known = api.list_with_revision("v1", "Pod")

        annotate(api, CANARY="1")
        change(api, "1.6.2", {})
        wait_for(lambda: "1 of 2 new sets is ready, as the annotation" in message(api), "the canary is ready")
        wait_for(lambda: len(workers(api)) == 4, "one old set ended for it")
        time.sleep(QUIET_SECONDS)
        canary = uids(workers(api))
        assert len(canary) == 4
        assert len(canary & before) == 2

        annotate(api, CANARY=None, PAUSED="true")
        wait_for(lambda: "the rollout is paused" in message(api), "it is paused")
        wait_for(lambda: all("paused" in one["spec"] for one in deployments(api)), "the Deployments are paused")
        time.sleep(QUIET_SECONDS)
        assert uids(workers(api)) == canary
        change(api, "1.6.9", {})
        wait_for(lambda: images_of_deployments(api) == {"1.6.9"}, "a second edit is applied")
        time.sleep(QUIET_SECONDS)
        assert uids(workers(api)) == canary

        change(api, "1.6.2", {})
        annotate(api, PAUSED=None)
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over")
        wait_until_ready(api, NAME)
        assert len(workers(api)) == 4
        assert not uids(workers(api)) & before
        assert_at_rest(api, sets=2)
        assert_complete(api, since, known)
        api.delete(DYNAMO, GRAPH, NAME)


def test_stalled_rollout_goes_back_by_itself_once_from_a_spec(
    api: ApiClient,
    admin: ApiClient,
    metacontroller: HttpServer,
    plane: ControlPlane,
    acting_url: str,
    tmp_path: Path,
) -> None:
    assert metacontroller
    assert acting_url
    settings = {"effect_go_back": "on", "rollout_stalled_after": "3"}
    client = effects_client(plane, tmp_path, **settings)
    with acting_hooks(client, **settings) as url, running_controllers(admin, url):
        api.create(single_pods(load_example(NAME)), strict=True)
        wait_until_ready(api, NAME)
        before, image = uids(workers(api)), images_of_deployments(api)
        since, known = api.list_with_revision("v1", "Pod")

        change(api, "1.6.9", HELD)
        wait_for(lambda: contract.ANNOTATION_WENT_BACK in annotations_of(the_graph(api, NAME)), "it goes back")
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the way back is over")
        wait_until_ready(api, NAME)
        assert (uids(workers(api)), images_of_deployments(api)) == (before, image)
        assert "test/hold" not in str(the_graph(api, NAME)["spec"])
        events = [one["reason"] for one in api.list("v1", "Event")]
        assert "RolloutWentBack" in events
        assert "RolloutGoingBackFailed" not in events

        change(api, "1.6.9", HELD)
        wait_for(lambda: "the last way back was from this spec or to it" in message(api), "written again, it stands")
        time.sleep(QUIET_SECONDS)
        assert before <= uids(workers(api))
        release(api)
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over")
        wait_until_ready(api, NAME)
        assert images_of_deployments(api) == {"1.6.9"}
        assert_complete(api, since, known)
        api.delete(DYNAMO, GRAPH, NAME)


def annotate(api: ApiClient, **annotations: str | None) -> None:
    names = {"CANARY": contract.ANNOTATION_ROLLOUT_CANARY, "PAUSED": contract.ANNOTATION_ROLLOUT_PAUSED}
    body = {"metadata": {"annotations": {names[key]: value for key, value in annotations.items()}}}
    api.patch(DYNAMO, GRAPH, NAME, body)


def deployments(api: ApiClient) -> list[Manifest]:
    return [one for one in api.list("apps/v1", "Deployment") if service_of(one) in ROLES]


def images_of_deployments(api: ApiClient) -> set[str]:
    containers = (one["spec"]["template"]["spec"]["containers"][-1] for one in deployments(api))
    return {container["image"].rpartition(":")[2] for container in containers}


def single_pods(graph: Manifest, replicas: int = 1) -> Manifest:
    for service in graph["spec"]["services"].values():
        service["replicas"] = replicas
    return graph


def change(api: ApiClient, tag: str, fields: Manifest) -> None:
    """Change the image of both workers; the new pods of one do not come up."""
    image = f"nvcr.io/nvidia/ai-dynamo/vllm-runtime:{tag}"
    main = {"extraPodSpec": {"mainContainer": {"image": image}}}
    services = {role: main | (fields if role == LATE else {}) for role in ROLES}
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": services}})


def release(api: ApiClient) -> None:
    for pod in workers(api):
        if annotations_of(pod).get("test/hold"):
            api.patch("v1", "Pod", name_of(pod), {"metadata": {"annotations": {"test/hold": None}}})


def message(api: ApiClient) -> str:
    conditions = the_graph(api, NAME)["status"]["conditions"]
    return str(next(one["message"] for one in conditions if one["type"] == "Ready"))


def workers(api: ApiClient) -> list[Manifest]:
    return [pod for pod in api.list("v1", "Pod") if service_of(pod) in ROLES and not is_deleting(pod)]


def uids(pods: Iterable[Manifest]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def service_of(pod: Manifest) -> str:
    return labels_of(pod).get(contract.LABEL_COMPONENT, "")


def assert_at_rest(api: ApiClient, *, sets: int) -> None:
    """Nothing of the pace is left, and no template was made that nobody asked for."""
    for deployment in api.list("apps/v1", "Deployment"):
        spec = deployment["spec"]
        assert "minReadySeconds" not in spec
        assert "paused" not in spec
        assert spec["progressDeadlineSeconds"] == 600
        assert spec["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
    assert not [one for one in api.list(DYNAMO, COMPONENT) if contract.ANNOTATION_PACE in annotations_of(one)]
    made = Counter(service_of(one) for one in api.list("apps/v1", "ReplicaSet"))
    assert {role: made[role] for role in ROLES} == dict.fromkeys(ROLES, sets)


def assert_complete(api: ApiClient, since: str, known: Iterable[Manifest]) -> None:
    """After each change of a pod, some generation has a ready pod of each role."""
    for what, ready in moments(api, since, known):
        generations = {generation for generation, service in ready if service in ROLES}
        complete = [one for one in generations if all((one, role) in ready for role in ROLES)]
        assert complete, f"after {what} only {sorted(ready)} are ready"


def moments(api: ApiClient, since: str, known: Iterable[Manifest]) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    """After each change of a pod what happened, and how many ready pods each generation has of each service."""
    for what, pods in watch_ready(api, since, known):
        yield what, Counter((labels_of(one).get(contract.LABEL_WORKER_HASH, ""), service_of(one)) for one in pods)


def watch_ready(api: ApiClient, since: str, known: Iterable[Manifest]) -> Iterator[tuple[str, list[Manifest]]]:
    """After each change of a pod what happened, and the pods that are ready and stay; some change must have come."""
    pods = {pod["metadata"]["uid"]: pod for pod in known}
    seen = 0
    for happened in api.watch("v1", "Pod", since, 2):
        pod = happened["object"]
        if happened["type"] == "BOOKMARK":
            continue
        seen += 1
        pods[pod["metadata"]["uid"]] = pod
        if happened["type"] == "DELETED":
            del pods[pod["metadata"]["uid"]]
        ready = [one for one in pods.values() if is_pod_ready(one) and not is_deleting(one)]
        yield f"{happened['type']} of {pod['metadata']['name']}", ready
    assert seen > len(ROLES)
