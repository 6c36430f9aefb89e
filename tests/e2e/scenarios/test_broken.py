"""Graphs that are broken on purpose: a failed scenario says why."""

import re
from typing import Any

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.contract.backend import Manifest
from tests.e2e.bench import Bench
from tests.e2e.graphs import explain, load_graph, wait_until_ready

NAME, SECONDS = "mocker-agg", 40.0


def broken(tag: str, service: str, **change: Any) -> Manifest:
    graph = load_graph(NAME, tag, MockerWorker=1)
    pod = graph["spec"]["services"][service]["extraPodSpec"]
    main = {**pod["mainContainer"], **change.pop("main", {})}
    graph["spec"]["services"][service]["extraPodSpec"] = {**pod, **change, "mainContainer": main}
    return graph


def why_not_ready(bench: Bench, api: ApiClient, graph: Manifest, cause: str) -> str:
    api.create(graph, strict=True)
    wait_for(
        lambda: re.search(cause, explained_now(bench, api)),
        lambda: f"the explanation has {cause}; it is\n{explained_now(bench, api)}",
        SECONDS,
    )
    with pytest.raises(AssertionError) as failure:
        wait_until_ready(bench, api, NAME, 0.1)
    return str(failure.value)


def explained_now(bench: Bench, api: ApiClient) -> str:
    return "\n".join(explain(bench, api))


def test_wrong_variable_is_named(bench: Bench, api: ApiClient, newest: str) -> None:
    wrong = broken(newest, "MockerWorker", main={"env": [{"name": "DYN_REQUEST_PLANE", "value": "pigeons"}]})
    assert "pigeons" in why_not_ready(bench, api, wrong, "pigeons")


def test_secret_that_does_not_exist_is_named(bench: Bench, api: ApiClient, newest: str) -> None:
    reference = {"secretKeyRef": {"name": "no-such-secret", "key": "token"}}
    wrong = broken(newest, "MockerWorker", main={"env": [{"name": "HF_TOKEN", "valueFrom": reference}]})
    said = why_not_ready(bench, api, wrong, "no-such-secret")
    assert "CreateContainerConfigError" in said
    assert 'secret \\"no-such-secret\\" not found' in said


def test_missing_role_is_named(bench: Bench, api: ApiClient, newest: str) -> None:
    wrong = broken(newest, "MockerWorker", serviceAccountName="default")
    forbidden = r"system:serviceaccount:e2e-\w+:default.* cannot \w+ resource"
    assert re.search(forbidden, why_not_ready(bench, api, wrong, forbidden))


def test_wrong_port_is_named(bench: Bench, api: ApiClient, newest: str) -> None:
    probe = {"httpGet": {"path": "/live", "port": 8001}, "periodSeconds": 2, "failureThreshold": 1}
    wrong = broken(newest, "Frontend", main={"livenessProbe": probe})
    refused = "GET /live on port 8001: Connection refused"
    assert refused in why_not_ready(bench, api, wrong, refused)


def test_port_of_a_variable_is_followed(bench: Bench, api: ApiClient, newest: str) -> None:
    api.create(broken(newest, "Frontend", main={"env": [{"name": "DYN_HTTP_PORT", "value": "8001"}]}), strict=True)
    wait_until_ready(bench, api, NAME, 2 * SECONDS)


def test_image_that_nobody_has_is_named(bench: Bench, api: ApiClient, newest: str) -> None:
    wrong = broken(newest, "MockerWorker", main={"image": "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.77"})
    said = why_not_ready(bench, api, wrong, "ErrImagePull")
    assert "no release has the tag" in said
    assert "1.0.77" in said
