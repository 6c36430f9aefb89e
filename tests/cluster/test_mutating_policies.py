"""Graphs under a real Metacontroller where admission policies change pods and Deployments as they are written."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
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
from tests.cluster.policies import MIRROR, added_sidecar, added_toleration, mirrored_images, mutating
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest

NAME, FRONTEND = "vllm-agg", "vllm-agg-frontend"
SETTINGS = {"accepted_registries": MIRROR, "accepted_fields": "spec.template.spec.tolerations"}
Mutation = Callable[[str], Manifest]
Serve = Callable[..., AbstractContextManager[None]]


@pytest.fixture(scope="module", autouse=True)
def effects(admin: ApiClient, metacontroller: HttpServer) -> Iterator[None]:
    with granted_effects(admin):
        yield


@pytest.fixture
def serve(admin: ApiClient, plane: ControlPlane, tmp_path: Path) -> Serve:
    """Gives a context in which Metacontroller calls hooks with these settings."""

    @contextmanager
    def served(**settings: str) -> Iterator[None]:
        client = effects_client(plane, tmp_path, **settings)
        with acting_hooks(client, 0, **settings) as url, running_controllers(admin, url):
            yield

    return served


def images(api: ApiClient) -> set[str]:
    found = api.get("apps/v1", "Deployment", FRONTEND)
    assert found is not None
    return {one["image"] for one in found["spec"]["template"]["spec"]["containers"]}


def warnings(api: ApiClient) -> list[str]:
    return [str(event["message"]) for event in api.list("v1", "Event", fieldSelector="type=Warning")]


def test_policy_that_rewrites_images_is_named_and_can_be_accepted(
    api: ApiClient, admin: ApiClient, audit: Audit, serve: Serve
) -> None:
    with mutating(admin, api, "deployments", mirrored_images("deployments")):
        with serve():
            api.create(load_example(NAME), strict=True)

            def message() -> str:
                return str(condition(the_graph(api, NAME), "Ready").get("message", ""))

            wait_for(lambda: "an admission webhook or policy of the cluster changes" in message(), "it is named")
            assert "spec.template.spec.containers[main].image" in message()
            assert "accepted_registries" in message()
            assert [one for one in warnings(api) if "metacontroller wrote" in one] == []
        with serve(**SETTINGS):
            wait_until_ready(api, NAME)
            assert all(image.startswith(MIRROR) for image in images(api))
            change = {"Frontend": {"envs": [{"name": "CHANGED", "value": "yes"}]}}
            api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": change}})
            generation = the_graph(api, NAME)["metadata"]["generation"]
            wait_for(lambda: the_graph(api, NAME)["status"]["observedGeneration"] == generation, "the change is synced")
            wait_until_ready(api, NAME)
            assert all(image.startswith(MIRROR) for image in images(api))
            for one in api.list(DYNAMO, COMPONENT):
                assert condition(one, "Applied")["reason"] in {"AsWanted", "Restored"}
            wait_for_silence(audit)
            api.delete(DYNAMO, GRAPH, NAME)


@pytest.mark.parametrize("resource", ["deployments", "pods"])
@pytest.mark.parametrize("mutation", [added_sidecar, added_toleration, mirrored_images])
def test_graph_is_ready_beside_a_policy_that_adds_or_is_accepted(
    resource: str, mutation: Mutation, api: ApiClient, admin: ApiClient, serve: Serve
) -> None:
    graph = load_example(NAME)
    tolerations = [{"key": "mine", "operator": "Exists"}]
    graph["spec"]["services"]["Frontend"].setdefault("extraPodSpec", {})["tolerations"] = tolerations
    settings = SETTINGS if resource == "deployments" else {}
    with mutating(admin, api, resource, mutation(resource)), serve(**settings):
        api.create(graph, strict=True)
        wait_until_ready(api, NAME)
        assert warnings(api) == []
        api.delete(DYNAMO, GRAPH, NAME)
