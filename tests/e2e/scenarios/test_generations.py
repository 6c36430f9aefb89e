"""A rollout of workers whose model card changes, while clients send requests: with generations, and without them.

It is paused while workers of both specs are ready, so that who serves meanwhile can be counted.
"""

from collections.abc import Callable
from enum import StrEnum

import pytest
import requests

from hooks.ground import contract
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, condition, the_graph
from tests.e2e.bench import Bench
from tests.e2e.graphs import explained, let_leave, load_graph, serve, wait_for_answer, wait_until_ready
from tests.e2e.scenarios.test_changes import NAME, WORKER, WORKERS, judge, pods
from tests.e2e.trickle import Trickle, trickling

ASKED = 40
"""Requests while both specs are ready."""
ONE_NAMESPACE = [{"name": contract.WORKER_SUFFIX, "value": "00000000"}]
"""What a user sets who wants no generations: old and new workers register together, as they did before.

A frontend of 1.6.1 sees no value but eight hex digits.
"""


class How(StrEnum):
    """Where workers register, and how they end."""

    GENERATIONS = "with generations"
    LEAVING = "with generations, workers that leave first"
    SHARED = "in one namespace"


@pytest.mark.parametrize("how", list(How))
def test_model_card_changes_under_requests(
    bench: Bench, api: ApiClient, tag: str, report: Callable[[str], None], how: How
) -> None:
    graph = load_graph(NAME, tag)
    worker = graph["spec"]["services"][WORKER]
    worker["annotations"] = {contract.ANNOTATION_MAX_SURGE: "1", contract.ANNOTATION_MAX_UNAVAILABLE: "0"}
    worker |= {"envs": ONE_NAMESPACE} if how is How.SHARED else {}
    if how is How.LEAVING:
        let_leave(api, worker)
    serve(bench, api, graph)
    old = set(pods(api, WORKERS))
    main = worker["extraPodSpec"]["mainContainer"]
    changed = {"mainContainer": {**main, "args": [*main["args"], "--block-size", "32"]}}
    with trickling(api, NAME) as found:
        api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {WORKER: {"extraPodSpec": changed}}}})
        with explained(bench, api):
            wait_for(lambda: set(pods(api, WORKERS)) - old, "a new worker's pod exists", 60)
            api.patch("apps/v1", "Deployment", WORKERS, {"spec": {"paused": True}})
            wait_for(lambda: sum(map(is_ready, pods(api, WORKERS).values())) == 3, "workers of both specs serve", 120)
            shares = _count_shares(bench, api, found, old)
            api.patch("apps/v1", "Deployment", WORKERS, {"spec": {"paused": None}})
            wait_for(lambda: not old & set(pods(api, WORKERS)), "all workers are new", 180)
        wait_until_ready(bench, api, NAME)
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over", 60)
        wait_for_answer(bench, api, NAME)
    before, after = shares
    what = f"{tag}, model card changes {how}: {before} by old workers, {after} by the new one; in all"
    assert before > 0
    if how is How.SHARED:  # a comparison: between the last old worker and a new one the frontend may know no model
        report(f"{what}: {found.describe()}")
    else:
        judge(found, what, report)
        assert after > 0, "the new generation serves beside the old one"
    if how is How.LEAVING:
        assert not found.failures, "no chat fails"


def is_ready(pod: dict[str, object]) -> bool:
    return condition(pod, "Ready").get("status") == "True"


def _count_shares(bench: Bench, api: ApiClient, found: Trickle, old: set[str]) -> tuple[int, int]:
    """How many requests the old workers answer while both are ready, and how many the new one."""
    begun, first = found.answered, _count_requests(bench, api)
    wait_for(lambda: found.answered >= begun + ASKED, "clients got answers from workers of both specs", 120)
    last = _count_requests(bench, api)
    taken = {name: count - first.get(name, 0) for name, count in last.items()}
    return (
        sum(count for name, count in taken.items() if name in old),
        sum(count for name, count in taken.items() if name not in old),
    )


def _count_requests(bench: Bench, api: ApiClient) -> dict[str, int]:
    """By worker the requests that its own metrics count."""
    return {name: _requests_of(bench, api, name) for name in pods(api, WORKERS)}


def _requests_of(bench: Bench, api: ApiClient, pod: str) -> int:
    listens = bench.kubelet.worker_of(api.namespace, pod).place.listens
    text = requests.get(f"http://{listens}:9090/metrics", timeout=5).text
    counts = [
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if "requests_total" in line and "generate" in line and line[0] != "#"
    ]
    return int(max(counts, default=0))
