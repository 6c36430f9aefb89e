"""Effects on a real API server, with the rights of the plain manifests and no more: scaling, writing back, Events."""

from collections.abc import Iterator
from typing import Any

import pytest

from hooks.server.clients.effects import EffectsClient
from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import HOOKS_ACCOUNT, ControlPlane
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    SCALING_ADAPTER,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest

NAME = "vllm-planner"
ADAPTER = DEPLOYMENT = "vllm-planner-vllmdecodeworker"
SERVICE = "VllmDecodeWorker"


@pytest.fixture(scope="module", autouse=True)
def rights(admin: ApiClient) -> Iterator[None]:
    with granted_effects(admin):
        yield


@pytest.fixture(scope="module")
def client(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> EffectsClient:
    return effects_client(plane, tmp_path_factory.mktemp("account"))


@pytest.fixture(scope="module")
def controllers(admin: ApiClient, metacontroller: HttpServer, client: EffectsClient) -> Iterator[None]:
    with acting_hooks(client) as url, running_controllers(admin, url):
        yield


@pytest.fixture
def ready(api: ApiClient, controllers: None) -> Iterator[ApiClient]:
    """The client of a namespace in which the example with a planner and two adapters is ready."""
    api.create(load_example("vllm-disagg-planner"), strict=True)
    wait_until_ready(api, NAME)
    yield api
    api.delete(DYNAMO, GRAPH, NAME)


def the_adapter(api: ApiClient) -> Manifest:
    found = api.get(DYNAMO, SCALING_ADAPTER, ADAPTER)
    assert found is not None
    return found


def deployment(api: ApiClient) -> Manifest:
    found = api.get("apps/v1", "Deployment", DEPLOYMENT)
    assert found is not None
    return found


def own_replicas(api: ApiClient) -> int:
    replicas: int = the_graph(api, NAME)["spec"]["services"][SERVICE].get("replicas", 1)
    return replicas


def wait_until_scaled(api: ApiClient, replicas: int) -> None:
    """Wait until the adapter says that as many run, of its present generation."""

    def is_scaled() -> bool:
        adapter = the_adapter(api)
        status = adapter.get("status", {})
        is_current = status.get("observedGeneration") == adapter["metadata"]["generation"]
        return is_current and (status["replicas"], condition(adapter, "Ready")["status"]) == (replicas, "True")

    wait_for(is_scaled, f"the adapter says that {replicas} run")


# Scaling


def test_scale_subresource_changes_the_replicas_and_no_pod_template(ready: ApiClient) -> None:
    before = deployment(ready)["spec"]["template"]
    ready.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 3}}, sub="scale")
    wait_until_scaled(ready, 3)
    assert deployment(ready)["spec"]["replicas"] == 3
    assert deployment(ready)["spec"]["template"] == before
    assert deployment(ready)["status"]["readyReplicas"] == 3
    assert the_adapter(ready)["status"]["lastScaleTime"]
    sets = [found for found in ready.list("apps/v1", "ReplicaSet") if found["metadata"]["name"].startswith(DEPLOYMENT)]
    assert len(sets) == 1, "a second ReplicaSet would be a rollout"


def test_scale_subresource_tells_replicas_and_a_selector_of_just_those_pods(ready: ApiClient) -> None:
    wait_until_scaled(ready, 1)
    ready.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 2}}, sub="scale")
    wait_until_scaled(ready, 2)
    scale = ready.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {}, sub="scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (2, 2)
    pods = ready.list("v1", "Pod", labelSelector=scale["status"]["selector"])
    assert [pod["metadata"]["name"].startswith(DEPLOYMENT) for pod in pods] == [True, True]


def test_autoscaler_scales_the_service(ready: ApiClient) -> None:
    """Too few replicas are brought to the minimum without any metrics, which this cluster does not have."""
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    target = {"apiVersion": DYNAMO, "kind": SCALING_ADAPTER, "name": ADAPTER}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "decode"},
        "spec": {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 5, "metrics": [metric]},
    }
    ready.create(autoscaler, strict=True)
    wait_for(lambda: the_adapter(ready)["spec"]["replicas"] == 3, "the autoscaler raises the replicas")
    wait_until_scaled(ready, 3)
    found = ready.get("autoscaling/v2", "HorizontalPodAutoscaler", "decode")
    assert found is not None
    assert condition(found, "AbleToScale")["status"] == "True"
    ready.delete("autoscaling/v2", "HorizontalPodAutoscaler", "decode")


# Written back


def test_planner_finds_the_replicas_in_its_graph_and_no_pod_is_replaced(ready: ApiClient) -> None:
    pods = {pod["metadata"]["uid"] for pod in ready.list("v1", "Pod")}
    ready.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 2}}, sub="scale")
    wait_for(lambda: own_replicas(ready) == 2, "the graph has the adapter's replicas")
    wait_until_scaled(ready, 2)
    wait_until_ready(ready, NAME)
    assert pods < {pod["metadata"]["uid"] for pod in ready.list("v1", "Pod")}
    assert {entry["manager"] for entry in _managed(the_graph(ready, NAME))} >= {"dynamo-hooks"}


def _managed(obj: Manifest) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = obj["metadata"]["managedFields"]
    return entries


def test_scaling_is_told_by_one_event_about_the_adapter(ready: ApiClient) -> None:
    ready.patch(DYNAMO, SCALING_ADAPTER, ADAPTER, {"spec": {"replicas": 2}}, sub="scale")
    wait_until_scaled(ready, 2)
    about = f"involvedObject.uid={the_adapter(ready)['metadata']['uid']},reason=Scaled"
    (event,) = wait_for(lambda: ready.list("v1", "Event", fieldSelector=about), "an event tells of the scaling")
    assert event["message"] == f"Scaled service {SERVICE} from 1 to 2 replicas"
    assert (event["count"], event["source"]) == (1, {"component": "dynamo-hooks"})


def test_write_that_names_another_version_is_refused(api: ApiClient) -> None:
    """What keeps an effect from writing into a graph that changed since it was read."""
    api.create(load_example("vllm-disagg-planner"))
    with pytest.raises(ApiRefused) as refused:
        api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"resourceVersion": "1"}, "spec": {"services": {}}})
    assert refused.value.code == 409
    api.delete(DYNAMO, GRAPH, NAME)


def test_hooks_may_do_nothing_else(plane: ControlPlane) -> None:
    nothing = plane.client(HOOKS_ACCOUNT)
    for version, kind in (("v1", "Secret"), ("v1", "ConfigMap"), ("v1", "Event"), (DYNAMO, GRAPH)):
        with pytest.raises(ApiRefused) as refused:
            nothing.list(version, kind, "default")
        assert refused.value.code == 403
