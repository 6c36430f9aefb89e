"""The release that a graph began with, under a real Metacontroller and without admission: chosen once, and kept."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from hooks.component.plan import component as component_plan
from hooks.component.pod.backends import vllm
from hooks.graph.plan import graph as graph_plan
from hooks.ground import contract
from hooks.wire.policy import rendering_mark
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.groups import find_manager, running_groups
from tests.cluster.programs import HttpServer
from tests.cluster.test_worker_generations import hooks_of_before
from tests.contract.backend import Manifest
from tests.sequences.calls import forget

pytestmark = pytest.mark.skipif(find_manager() is None, reason="no lws-manager on PATH or in $LWS_MANAGER")
SETS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
NAME, SERVICE = "vllm-multinode", "VllmWorker"
KINDS = ("lws", "volcano")


@pytest.fixture(scope="module", autouse=True)
def groups(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with running_groups(plane, tmp_path_factory.mktemp("groups")):
        yield


def graph_of(release: str) -> Manifest:
    """The example with one replica and images of that release; nobody writes an origin."""
    found: Manifest = deepcopy(load_example(NAME))
    for service in found["spec"]["services"].values():
        service["replicas"] = 1
        service["extraPodSpec"]["mainContainer"]["image"] = f"r/vllm-runtime:{release}"
    return found


def the_set(api: ApiClient) -> Manifest:
    (found,) = api.list(*SETS)
    return found


def line_of(api: ApiClient) -> str:
    """The command line of the leader."""
    main = the_set(api)["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][-1]
    return " ".join([*main["command"], *main["args"]])


def waits_of(api: ApiClient) -> list[str]:
    """The init containers of a worker."""
    pod = the_set(api)["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    return [one["name"] for one in pod.get("initContainers", ())]


def images_of(api: ApiClient) -> set[str]:
    templates = the_set(api)["spec"]["leaderWorkerTemplate"]
    return {templates[role]["spec"]["containers"][-1]["image"] for role in ("leaderTemplate", "workerTemplate")}


def pods(api: ApiClient) -> set[str]:
    found = api.list("v1", "Pod", labelSelector=f"{contract.LABEL_GRAPH}={NAME}")
    return {pod["metadata"]["uid"] for pod in found if "deletionTimestamp" not in pod["metadata"]}


def change_image(api: ApiClient, release: str) -> None:
    image: dict[str, Any] = {"extraPodSpec": {"mainContainer": {"image": f"r/vllm-runtime:{release}"}}}
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {SERVICE: image}}})
    wait_for(lambda: images_of(api) == {f"r/vllm-runtime:{release}"}, f"the set has the image of {release}")


def test_new_graph_needs_no_ray_and_keeps_that(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str
) -> None:
    assert metacontroller
    with running_controllers(admin, acting_url, KINDS):
        api.create(graph_of("1.6.1"), strict=True)
        wait_until_ready(api, NAME)
        assert "--distributed-executor-backend mp" in line_of(api)
        assert waits_of(api) == ["wait-for-leader-mp"]
        change_image(api, "0.9.1")
        wait_until_ready(api, NAME)
        assert "--distributed-executor-backend mp" in line_of(api)
        written = the_graph(api, NAME)["metadata"].get("annotations", {})
        assert contract.ANNOTATION_ORIGIN_VERSION not in written, "the user's object stays as it is"
        api.delete(DYNAMO, GRAPH, NAME)


def test_graph_that_ran_on_ray_before_the_upgrade_stays_there(
    api: ApiClient,
    admin: ApiClient,
    metacontroller: HttpServer,
    acting_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert metacontroller
    with (
        monkeypatch.context() as before,
        hooks_of_before(acting_url, tmp_path, monkeypatch) as url,
        running_controllers(admin, url, KINDS),
    ):
        before.setattr(graph_plan, "begin", lambda graph, _kept: graph)
        before.setattr(component_plan, "begin_component", lambda spec, _kept: spec.annotations)
        before.setattr(vllm, "_build_ray_wait_container", lambda *_: {"name": "w", "image": "i"})
        before.setattr(rendering_mark, "RENDERING_REVISION", rendering_mark.RENDERING_REVISION - 1)
        api.create(graph_of("1.2.0"), strict=True)
        wait_until_ready(api, NAME)
        assert "ray start --head" in line_of(api)
        assert waits_of(api) != ["wait-for-leader-ray"]
        running, uids = the_set(api)["spec"], pods(api)
    forget()
    with running_controllers(admin, acting_url, KINDS):
        wait_for(lambda: bool(condition(the_graph(api, NAME), "Held")), "the graph says what waits")
        assert the_set(api)["spec"] == running
        assert pods(api) == uids
        change_image(api, "1.2.1")
        wait_until_ready(api, NAME)
        assert "ray start --head" in line_of(api)
        assert waits_of(api) == ["wait-for-leader-ray"]
        wait_for(lambda: not condition(the_graph(api, NAME), "Held"), "nothing waits any more")
        api.delete(DYNAMO, GRAPH, NAME)
