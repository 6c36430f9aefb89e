"""Prefill and decode change together while clients send requests: in complete sets, as before, and in one namespace.

New decode workers come up late, as engines do that load weights. All workers leave discovery before they end.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, condition, the_graph
from tests.e2e.bench import Bench, replaced_hooks
from tests.e2e.graphs import explained, let_leave, load_graph, serve, wait_until_ready
from tests.e2e.scenarios.test_changes import judge, pods, uids
from tests.e2e.trickle import trickling

NAME, CLIENTS, LATE_SECONDS = "mocker-disagg", 4, 15
ROLES = ("prefill", "decode")
LOOKED_SECONDS = 30.0
"""For so long a new decode worker that never starts must stop nobody."""
Report = Callable[[str], None]


class How(StrEnum):
    """How the workers' pods are replaced."""

    SETS = "in complete sets"
    ALONE = "each Deployment for itself"
    SHARED = "each Deployment for itself, in one namespace"


@pytest.fixture
def graph(api: ApiClient, tag: str) -> Manifest:
    """The example with one worker of each role, found through the API server; not for releases without generations."""
    if tag.startswith("0."):
        pytest.skip("workers have no generations before 1.0.2")
    found = load_graph(NAME, tag)
    found["metadata"]["annotations"] = {contract.ANNOTATION_DISCOVERY_BACKEND: "kubernetes"}
    let_leave(api, *(found["spec"]["services"][role] for role in ROLES))
    return found


def change(api: ApiClient, graph: Manifest, block_size: int, image: str = "") -> None:
    """Give both workers another model card; new decode workers come up late."""
    services: dict[str, Manifest] = {}
    for role in ROLES:
        main = graph["spec"]["services"][role]["extraPodSpec"]["mainContainer"]
        args = [*main["args"], "--block-size", str(block_size)]
        services[role] = {"extraPodSpec": {"mainContainer": {**main, "args": args}}}
    late = {"name": "START_LATE", "value": str(LATE_SECONDS)}
    services["decode"] |= {"envs": [*graph["spec"]["services"]["decode"].get("envs", ()), late]}
    services["decode"]["extraPodSpec"]["mainContainer"] |= {"image": image} if image else {}
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": services}})


def workers(api: ApiClient) -> set[str]:
    return {name for name in pods(api) if any(name.startswith(f"{NAME}-{role}") for role in ROLES)}


def wait_until_over(bench: Bench, api: ApiClient) -> None:
    with explained(bench, api):
        wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over", 180)
    wait_until_ready(bench, api, NAME)


@pytest.mark.parametrize("how", list(How))
def test_model_card_changes(
    bench: Bench, api: ApiClient, graph: Manifest, tag: str, report: Report, how: How, tmp_path: Path
) -> None:
    if how is How.SHARED:
        for role in ROLES:
            graph["spec"]["services"][role]["envs"] = [{"name": contract.WORKER_SUFFIX, "value": "00000000"}]
    with nullcontext() if how is How.SETS else replaced_hooks(bench, tmp_path, {"explain_pods": "off"}):
        serve(bench, api, graph)
        old = workers(api)
        with trickling(api, NAME, CLIENTS) as found:
            change(api, graph, 32)
            with explained(bench, api):
                wait_for(lambda: not old & workers(api), "all workers are new", 180)
            wait_until_over(bench, api)
    what = f"{tag}, prefill and decode change {how}"
    if how is How.SETS:
        judge(found, what, report)
        assert not found.failures, "no chat fails"
    else:  # a comparison
        report(f"{what}: {found.describe()}")


def test_change_is_taken_back_in_the_middle(
    bench: Bench, api: ApiClient, graph: Manifest, tag: str, report: Report
) -> None:
    serve(bench, api, graph)
    old = uids(api)
    with trickling(api, NAME, CLIENTS) as found:
        change(api, graph, 32)
        with explained(bench, api):
            wait_for(lambda: len(ready_workers(api)) == len(ROLES) + 1, "a new prefill worker is ready", 120)
        api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": unchanged(graph)}})
        with explained(bench, api):
            wait_for(lambda: uids(api) == old, "only the old pods are left", 120)
        wait_until_over(bench, api)
    judge(found, f"{tag}, a change of prefill and decode is taken back in the middle", report)
    assert not found.failures, "no chat fails"


def test_new_decode_never_starts(bench: Bench, api: ApiClient, graph: Manifest, tag: str, report: Report) -> None:
    serve(bench, api, graph)
    old = uids(api)
    with trickling(api, NAME, CLIENTS) as found:
        change(api, graph, 32, image="nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.99.9")
        with explained(bench, api):
            wait_for(lambda: len(ready_workers(api)) == len(ROLES) + 1, "a new prefill worker is ready", 120)
            until = time.monotonic() + LOOKED_SECONDS
            wait_for(lambda: time.monotonic() > until, "a while goes by", 2 * LOOKED_SECONDS)
            assert old <= uids(api), "an old pod ended"
            assert "decode (0 of 1)" in condition(the_graph(api, NAME), "Ready")["message"]
    judge(found, f"{tag}, a new decode worker never starts", report)
    assert not found.failures, "no chat fails"


def unchanged(graph: Manifest) -> Manifest:
    """The services as they were; a merge patch takes away what was added."""
    services = {role: dict(graph["spec"]["services"][role]) for role in ROLES}
    services["decode"].setdefault("envs", None)
    return services


def ready_workers(api: ApiClient) -> set[str]:
    return {name for name, pod in pods(api).items() if name in workers(api) and is_ready(pod)}


def is_ready(pod: Manifest) -> bool:
    return condition(pod, "Ready").get("status") == "True"
