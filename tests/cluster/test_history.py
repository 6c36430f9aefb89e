"""The history of a graph under a real Metacontroller: specs are recorded, undo goes back, at rest nobody writes."""

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, labels_of
from hooks.tools.cli.kubectl.main import group
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    load_example,
    running_controllers,
    the_graph,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer

NAME, WORKER = "vllm-agg", "VllmWorker"


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    assert metacontroller
    with running_controllers(admin, hooks.url):
        yield


def test_specs_are_recorded_and_come_back(api: ApiClient, plane: ControlPlane, audit: Audit) -> None:
    def rollout(command: str, *words: str) -> Result:
        line = ["rollout", command, NAME, *words, "-n", str(api.namespace), "--kubeconfig", str(plane.kubeconfig())]
        return CliRunner().invoke(group, line)

    api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    wait_for(lambda: numbers(api) == [1], "the first spec is recorded")
    first = generation(api, 1)
    edit(api, envs=[{"name": "A", "value": "1"}])
    wait_for(lambda: numbers(api) == [1, 2], "the second spec is recorded")
    edit(api, replicas=2)
    wait_until_ready(api, NAME)
    mark = wait_for_silence(audit)
    assert numbers(api) == [1, 2]
    api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"labels": {"asks": "again"}}})  # it is synced, and nothing is new
    wait_for_silence(audit)
    assert [write for write in audit.writes(mark) if "controllerrevisions" in str(write)] == []
    assert generation(api, 2) != first

    listed = rollout("history")
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["REVISION", "2", "1"]
    assert f"spec.services[{WORKER}].envs" in listed.stdout

    assert rollout("pause").exit_code == 0
    undone = rollout("undo", "--yes")
    assert (undone.exit_code, undone.stderr) == (0, "")
    assert undone.stdout.startswith(
        f"graph {NAME}: the spec of revision 1 is written back: spec.services[{WORKER}].envs\n"
    )
    assert contract.ANNOTATION_ROLLOUT_PAUSED not in (the_graph(api, NAME)["metadata"].get("annotations") or {})
    followed = rollout("status", "--watch", "--wait-seconds", "300")
    assert followed.exit_code == 0
    wait_until_ready(api, NAME)
    worker = the_graph(api, NAME)["spec"]["services"][WORKER]
    assert "envs" not in worker
    assert worker["replicas"] == 2
    wait_for(lambda: numbers(api) == [2, 3], "the first spec has the highest number")
    assert generation(api, 3) == first
    uid = the_graph(api, NAME)["metadata"]["uid"]
    assert {one["metadata"]["ownerReferences"][0]["uid"] for one in revisions(api).values()} == {uid}
    mark = wait_for_silence(audit)
    wait_for_silence(audit)
    assert audit.writes(mark) == []

    api.delete(DYNAMO, GRAPH, NAME)
    wait_for(lambda: not revisions(api), "the revisions go with the graph")


def edit(api: ApiClient, **fields: Any) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {WORKER: fields}}})


def revisions(api: ApiClient) -> dict[int, Manifest]:
    return {int(one["revision"]): one for one in api.list("apps/v1", "ControllerRevision")}


def numbers(api: ApiClient) -> list[int]:
    return sorted(revisions(api))


def generation(api: ApiClient, number: int) -> str:
    return labels_of(revisions(api)[number])[contract.LABEL_WORKER_HASH]
