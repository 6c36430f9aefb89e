"""What `dynamo-hooks upgrade-plan` says of graphs that run under a real Metacontroller, and what then happens."""

from pathlib import Path

from hooks.ground import contract
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    condition,
    load_example,
    running_controllers,
    wait_until_ready,
)
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, hooks_server
from tests.cluster.upgrade_plans import plan_upgrade
from tests.ports import free_port

GRAPHS = ("vllm-agg", "vllm-disagg")
SETTING = "nats_address=nats://elsewhere:4222"
POD_REASON = "it is starting"


def live_pods(api: ApiClient) -> dict[str, set[str]]:
    """The uids of the pods of each Deployment, those that are stopping left out."""
    found: dict[str, set[str]] = {}
    for pod in api.list("v1", "Pod", labelSelector=contract.LABEL_SELECTOR):
        if "deletionTimestamp" not in pod["metadata"]:
            name = pod["metadata"]["labels"][contract.LABEL_SELECTOR]
            found.setdefault(name, set()).add(pod["metadata"]["uid"])
    return found


def is_replaced(api: ApiClient, before: dict[str, set[str]]) -> bool:
    """Whether each Deployment has as many pods as before, and none of those."""
    now = live_pods(api)
    return {k: len(v) for k, v in now.items()} == {k: len(v) for k, v in before.items()} and not any(
        now[name] & uids for name, uids in before.items()
    )


def test_what_runs_does_not_differ_and_a_setting_restarts_what_was_said(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer, plane: ControlPlane, tmp_path: Path
) -> None:
    assert metacontroller
    with running_controllers(admin, hooks.url):
        for name in GRAPHS:
            api.create(load_example(name), strict=True)
        for name in GRAPHS:
            wait_until_ready(api, name)
        rest = plan_upgrade(plane, api.namespace)
    assert (rest["status"], rest["changed"], rest["unread"]) == (0, False, [])
    assert {one["name"] for one in rest["graphs"]} == set(GRAPHS)
    before = live_pods(api)
    said = plan_upgrade(plane, api.namespace, "--set", SETTING)
    assert (said["status"], said["held"], said["errors"]) == (1, [], [])
    restarting = {one["workload"]["name"]: one["restarts"] for one in said["pods"] if one["restarts"]}
    assert restarting == {name: len(uids) for name, uids in before.items()}
    assert {one["name"]: one["restarts"] for one in said["graphs"]} == {"vllm-agg": 2, "vllm-disagg": 4}
    meanwhile = {c["type"]: c["new"]["reason"] for one in said["statuses"] if one["passing"] for c in one["conditions"]}
    assert meanwhile["Ready"] == "RollingOut"
    with (
        running(hooks_server(tmp_path, free_port(), SETTING, plane=plane)) as changed,
        running_controllers(admin, changed.url),
    ):
        wait_for(lambda: is_replaced(api, before), "all pods are replaced, as was said")
        for name in GRAPHS:
            wait_until_ready(api, name)
        after = plan_upgrade(plane, api.namespace, "--set", SETTING)
        assert (after["status"], after["changed"]) == (0, False)
        delete_all(api)


def test_graph_that_is_not_ready_is_read_with_its_pods_and_does_not_differ(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer, plane: ControlPlane
) -> None:
    assert metacontroller
    graph = load_example("vllm-agg")
    graph["spec"]["services"]["Frontend"]["extraPodMetadata"] = {"annotations": {"test/hold": "true"}}
    with running_controllers(admin, hooks.url):
        api.create(graph, strict=True)
        wait_for(lambda: POD_REASON in message(api), "the component says what its pod waits for")
        # Statuses of a graph that has just begun change by themselves until everything is said.
        wait_for(lambda: not plan_upgrade(plane, api.namespace)["changed"], "nothing differs")
        assert POD_REASON in message(api)
        delete_all(api)


def message(api: ApiClient) -> str:
    found = api.get(DYNAMO, COMPONENT, "vllm-agg-frontend")
    return "" if found is None else str(condition(found, "Ready").get("message", ""))


def delete_all(api: ApiClient) -> None:
    for one in api.list(DYNAMO, GRAPH):
        api.delete(DYNAMO, GRAPH, one["metadata"]["name"])
    wait_for(lambda: not api.list(DYNAMO, GRAPH), "the graphs are gone")
