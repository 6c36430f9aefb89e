"""A rollout of prefill and of decode over two nodes, by a real LeaderWorkerSet: one generation is complete always."""

import time
from collections import Counter
from collections.abc import Iterable

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, annotations_of, is_deleting, labels_of, name_of
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
from tests.cluster.groups import find_manager, running_groups
from tests.cluster.programs import HttpServer
from tests.cluster.test_rollouts import service_of, watch_ready

NAME, EXAMPLE = "sglang-multi", "sglang-disagg-multinode"
SIZES = {"prefill": 1, "decode": 2}
SETS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
needs_manager = pytest.mark.skipif(find_manager() is None, reason="no lws-manager on PATH or in $LWS_MANAGER")


@needs_manager
def test_old_group_stays_until_the_other_role_is_new(
    api: ApiClient,
    plane: ControlPlane,
    admin: ApiClient,
    metacontroller: HttpServer,
    acting_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert metacontroller
    groups = running_groups(plane, tmp_path_factory.mktemp("groups"))
    with groups, running_controllers(admin, acting_url, ("lws", "volcano")):
        graph = load_example(EXAMPLE)
        del graph["spec"]["services"]["prefill"]["multinode"]
        api.create(graph, strict=True)
        wait_until_ready(api, NAME)
        before = {pod["metadata"]["uid"] for pod in workers(api)}
        since, known = api.list_with_revision("v1", "Pod")

        change(api, "1.6.2", held="prefill")
        wait_for(lambda: "until more new ones are ready: prefill (0 of 1)" in message(api), "decode is ready")
        wait_for(lambda: len(workers(api)) == 6, "a new group and a new pod stand beside the old ones")
        time.sleep(QUIET_SECONDS)
        assert before <= {pod["metadata"]["uid"] for pod in workers(api)}
        assert partition(api) == 1
        release(api)
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over")
        wait_until_ready(api, NAME)
        wait_for(lambda: len(workers(api)) == 3, "the group more is gone")
        assert not before & {pod["metadata"]["uid"] for pod in workers(api)}
        assert partition(api) == 0
        assert not [one for one in api.list(DYNAMO, COMPONENT) if contract.ANNOTATION_PACE in annotations_of(one)]
        assert_complete(api, since, known)
        api.delete(DYNAMO, GRAPH, NAME)


def change(api: ApiClient, tag: str, *, held: str) -> None:
    image = f"nvcr.io/nvidia/ai-dynamo/sglang-runtime:{tag}"
    main = {"extraPodSpec": {"mainContainer": {"image": image}}}
    hold = {"extraPodMetadata": {"annotations": {"test/hold": "true"}}}
    services = {role: main | (hold if role == held else {}) for role in SIZES}
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": services}})


def release(api: ApiClient) -> None:
    for pod in workers(api):
        if annotations_of(pod).get("test/hold"):
            api.patch("v1", "Pod", name_of(pod), {"metadata": {"annotations": {"test/hold": None}}})


def message(api: ApiClient) -> str:
    conditions = the_graph(api, NAME)["status"]["conditions"]
    return str(next(one["message"] for one in conditions if one["type"] == "Ready"))


def partition(api: ApiClient) -> int:
    (found,) = api.list(*SETS)
    return int(found["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]["partition"])


def workers(api: ApiClient) -> list[Manifest]:
    return [pod for pod in api.list("v1", "Pod") if service_of(pod) in SIZES and not is_deleting(pod)]


def assert_complete(api: ApiClient, since: str, known: Iterable[Manifest]) -> None:
    """After each change of a pod, some generation has a ready pod of prefill and a whole ready group of decode."""
    for what, pods in watch_ready(api, since, known):
        ready = Counter(
            (labels_of(one).get(contract.LABEL_WORKER_HASH, ""), service_of(one), labels_of(one).get(GROUP_INDEX, ""))
            for one in pods
            if service_of(one) in SIZES
        )
        whole = {(generation, service) for (generation, service, _), count in ready.items() if count >= SIZES[service]}
        generations = {generation for generation, _ in whole}
        complete = [one for one in generations if all((one, role) in whole for role in SIZES)]
        assert complete, f"after {what} only {dict(ready)} are ready"
