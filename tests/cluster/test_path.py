"""Grove is installed beside a running graph: a real Metacontroller moves no pod until the graph's annotation does."""

from collections.abc import Iterator

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE_SET, installed_grove
from tests.cluster.programs import HttpServer

NAME = "vllm-disagg"
ANNOTATION = "nvidia.com/enable-grove"


@pytest.fixture
def running(
    admin: ApiClient, api: ApiClient, metacontroller: HttpServer, hooks: HttpServer
) -> Iterator[tuple[ApiClient, dict[str, str]]]:
    """A graph that was ready before Grove was installed, and the uids of its pods; the controllers know Grove now."""
    with running_controllers(admin, hooks.url):
        api.create(load_example(NAME), strict=True)
        wait_until_ready(api, NAME)
        pods = uids(api)
        assert pods
    with installed_grove(admin), running_controllers(admin, hooks.url, ["grove"]):
        yield api, pods
        api.delete(DYNAMO, GRAPH, NAME)
        wait_for(lambda: not api.list(DYNAMO, GRAPH), "the graph is gone")


def uids(api: ApiClient) -> dict[str, str]:
    pods = [pod for pod in api.list("v1", "Pod") if "deletionTimestamp" not in pod["metadata"]]
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods}


def annotate(api: ApiClient, value: str | None) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {ANNOTATION: value}}})


def touch(api: ApiClient, mark: str) -> None:
    """Change the spec so that no pod changes, and wait until a sync has seen it."""
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"restart": None, "envs": []}, "metadata": {"labels": {"test": mark}}})
    generation = the_graph(api, NAME)["metadata"]["generation"]
    wait_for(lambda: the_graph(api, NAME)["status"]["observedGeneration"] == generation, "the change is seen")


def ready_message(api: ApiClient) -> str:
    return str(condition(the_graph(api, NAME), "Ready").get("message"))


def components(api: ApiClient) -> list[str]:
    return [found["metadata"]["name"] for found in api.list(DYNAMO, COMPONENT)]


def sets(api: ApiClient) -> list[str]:
    return [found["metadata"]["name"] for found in api.list(GROVE, POD_CLIQUE_SET)]


def test_graph_stays_where_it_runs_until_its_annotation_moves_it(running: tuple[ApiClient, dict[str, str]]) -> None:
    api, pods = running
    touch(api, "a")
    wait_until_ready(api, NAME)
    assert uids(api) == pods
    assert sets(api) == []

    components_before = api.list(DYNAMO, COMPONENT)
    held = components_before[0]["metadata"]["name"]
    api.patch(DYNAMO, COMPONENT, held, {"metadata": {"finalizers": ["test/held"]}})
    annotate(api, "true")
    said = f'it moves from components to Grove, because its annotation {ANNOTATION} is "true": it waits until'
    wait_for(lambda: f"{said} {COMPONENT} {held} is gone" in ready_message(api), "status says the move")
    assert sets(api) == []
    api.patch(DYNAMO, COMPONENT, held, {"metadata": {"finalizers": None}})
    wait_for(lambda: sets(api) == [NAME], "the PodCliqueSet is created")
    assert components(api) == []

    annotate(api, None)
    touch(api, "b")
    assert (sets(api), components(api)) == ([NAME], []), "without the annotation it stays where it is now"

    annotate(api, "false")
    wait_for(lambda: len(components(api)) == len(components_before), "the components are back")
    assert sets(api) == []
    wait_until_ready(api, NAME)


def test_new_graph_takes_grove(running: tuple[ApiClient, dict[str, str]]) -> None:
    api, _ = running
    other = load_example(NAME)
    other["metadata"]["name"] = "new"
    api.create(other, strict=True)
    wait_for(lambda: sets(api) == ["new"], "the PodCliqueSet of the new graph is created")
    api.delete(DYNAMO, GRAPH, "new")
    assert uids(api)
