"""Edits of a graph under a real Metacontroller: services that come and go, and a tag that names no release."""

from functools import partial

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.cluster.test_worker_generations import NAME, decode_of, pods, suffix_of, type_of
from tests.contract.backend import Manifest

EXTRA = {"componentType": "", "extraPodSpec": {"mainContainer": {"image": "redis:7", "command": ["redis-server"]}}}


def test_services_come_and_go_and_a_wrong_tag_keeps_the_generation(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str
) -> None:
    assert metacontroller
    with running_controllers(admin, acting_url):
        api.create(load_example(NAME), strict=True)
        wait_until_ready(api, NAME)
        first = pods(api)

        edit(api, {"Extra": EXTRA})
        wait_until_ready(api, NAME)
        assert first.keys() < pods(api).keys(), "no pod was replaced"
        edit(api, {"Extra": None})
        wait_for(lambda: pods(api).keys() == first.keys(), "the pods of the removed service end, and no others")
        wait_until_ready(api, NAME)
        assert "Extra" not in the_graph(api, NAME)["status"]["services"]

        decode, _ = decode_of(api)
        written = the_graph(api, NAME)["spec"]["services"][decode]["extraPodSpec"]["mainContainer"]["image"]
        for tag in ("bad", "worse"):
            edit(api, {decode: image(f"{written.rpartition(':')[0]}:{tag}")})
            wait_for(partial(has_tag, api, tag), "a pod has the tag")
            wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over")
            assert all(suffix_of(pod) for pod in workers(api))
            assert "1.6.1 stays, which ran before" in condition(wait_until_ready(api, NAME), "Ready")["message"]
        edit(api, {decode: image(written)})
        wait_for(
            lambda: {suffix_of(pod) for pod in workers(api)} == {suffix_of(one) for one in of_workers(first)}, "back"
        )
        wait_until_ready(api, NAME)
        api.delete(DYNAMO, GRAPH, NAME)


def edit(api: ApiClient, services: Manifest) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": services}})


def image(name: str) -> Manifest:
    return {"extraPodSpec": {"mainContainer": {"image": name}}}


def workers(api: ApiClient) -> list[Manifest]:
    return of_workers(pods(api))


def of_workers(found: dict[str, Manifest]) -> list[Manifest]:
    return [pod for pod in found.values() if type_of(pod) != "frontend"]


def has_tag(api: ApiClient, tag: str) -> bool:
    return any(str(pod["spec"]["containers"][-1]["image"]).endswith(f":{tag}") for pod in workers(api))
