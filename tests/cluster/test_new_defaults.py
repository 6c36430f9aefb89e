"""Pods under a real Metacontroller when the hooks render what another version rendered: they wait for their spec."""

from typing import Any

import orjson

from hooks.ground import contract
from hooks.wire.policy import rendering_mark
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
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
from tests.cluster.programs import HttpServer
from tests.cluster.upgrade_plans import plan_upgrade
from tests.contract.backend import Manifest

NAME, FRONTEND = "vllm-agg", "vllm-agg-frontend"
OF_BEFORE = "of-before"


def test_pods_wait_with_new_defaults_until_their_spec_changes(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str, plane: ControlPlane
) -> None:
    assert metacontroller
    with running_controllers(admin, acting_url):
        api.create(load_example(NAME), strict=True)
        wait_until_ready(api, NAME)
    # Without controllers, the Deployment becomes what another version of the hooks would have made of the same spec.
    make_it_of_before(api)
    wait_for(lambda: is_rolled_out(api), "the pods are those of before")
    before = pods(api)
    said = plan_upgrade(plane, api.namespace)
    assert [(one["name"], one["pods"], one["before"]) for one in said["held"]] == [(FRONTEND, 1, False)]
    assert said["restarts"] == 0
    assert [c["type"] for one in said["statuses"] if not one["passing"] for c in one["conditions"]] == ["Held"]
    with running_controllers(admin, acting_url):
        wait_for(lambda: bool(condition(the_graph(api, NAME), "Held")), "the graph says what waits")
        again = plan_upgrade(plane, api.namespace)
        assert (again["changed"], [one["before"] for one in again["held"]]) == (False, [True])
        assert FRONTEND in condition(the_graph(api, NAME), "Held")["message"]
        assert condition(the_graph(api, NAME), "Ready")["status"] == "True"
        scale(api, 2)
        wait_for(lambda: len(pods(api)) == 2, "the held Deployment scales")
        assert before <= pods(api), "no pod was replaced"
        assert is_of_before(api)
        api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {contract.ANNOTATION_ROLLOUT: "now"}}})
        wait_for(lambda: not is_of_before(api), "the annotation lets new defaults in")
        wait_for(lambda: not before & pods(api), "the pods are replaced")
        wait_for(lambda: not condition(the_graph(api, NAME), "Held"), "nothing waits any more")
        api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {contract.ANNOTATION_ROLLOUT: None}}})
        wait_for(lambda: not is_asked(api), "the component is no longer asked")
    make_it_of_before(api)
    wait_for(lambda: is_rolled_out(api), "the pods are those of before again")
    with running_controllers(admin, acting_url):
        wait_for(lambda: bool(condition(the_graph(api, NAME), "Held")), "the graph says again what waits")
        assert is_of_before(api)
        change_spec(api)
        wait_for(lambda: not is_of_before(api), "a change of the spec lets new defaults in")
        wait_until_ready(api, NAME)
        assert not condition(the_graph(api, NAME), "Held")
        api.delete(DYNAMO, GRAPH, NAME)


def is_asked(api: ApiClient) -> bool:
    """Whether the graph's annotation stands on the component."""
    found = api.get(DYNAMO, COMPONENT, FRONTEND)
    assert found is not None
    return contract.ANNOTATION_ROLLOUT in found["metadata"].get("annotations", {})


def deployment(api: ApiClient) -> Manifest:
    found = api.get("apps/v1", "Deployment", FRONTEND)
    assert found is not None
    return found


def is_of_before(api: ApiClient) -> bool:
    labels: dict[str, str] = deployment(api)["spec"]["template"]["metadata"]["labels"]
    return OF_BEFORE in labels


def is_rolled_out(api: ApiClient) -> bool:
    found = deployment(api)
    status, wanted = found.get("status", {}), found["spec"]["replicas"]
    is_current = status.get("observedGeneration") == found["metadata"]["generation"]
    counts = {status.get(key) for key in ("replicas", "readyReplicas", "updatedReplicas")}
    return is_current and counts == {wanted} and len(pods(api)) == wanted


def pods(api: ApiClient) -> set[str]:
    """The uids of the frontend's pods."""
    found = api.list("v1", "Pod", labelSelector=f"{contract.LABEL_SELECTOR}={FRONTEND}")
    return {pod["metadata"]["uid"] for pod in found if "deletionTimestamp" not in pod["metadata"]}


def make_it_of_before(api: ApiClient) -> None:
    """Give the pods another label, as if revision 0 had applied it for the present spec."""
    live = deployment(api)
    applied = orjson.loads(live["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
    mark = rendering_mark.read_mark(applied)
    assert mark is not None
    changed = rendering_mark.mark(_with_label(applied), mark.digest, rendering_mark.FOREIGN_REVISION)
    annotations = {
        contract.ANNOTATION_RENDERING: changed["metadata"]["annotations"][contract.ANNOTATION_RENDERING],
        contract.ANNOTATION_LAST_APPLIED: orjson.dumps(changed).decode(),
    }
    labels = {"metadata": {"labels": {OF_BEFORE: "true"}}}
    patch = {"metadata": {"annotations": annotations}, "spec": {"template": labels}}
    api.patch("apps/v1", "Deployment", FRONTEND, patch)


def _with_label(workload: Manifest) -> Manifest:
    template = workload["spec"]["template"]
    metadata = {**template["metadata"], "labels": {**template["metadata"]["labels"], OF_BEFORE: "true"}}
    return {**workload, "spec": {**workload["spec"], "template": {**template, "metadata": metadata}}}


def _frontend(api: ApiClient) -> str:
    services: dict[str, Any] = the_graph(api, NAME)["spec"]["services"]
    return next(name for name, spec in services.items() if spec["componentType"] == "frontend")


def scale(api: ApiClient, replicas: int) -> None:
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {_frontend(api): {"replicas": replicas}}}})


def change_spec(api: ApiClient) -> None:
    envs = [{"name": "CHANGED", "value": "1"}]
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"services": {_frontend(api): {"envs": envs}}}})
    wait_for(lambda: "CHANGED" in str(api.get(DYNAMO, COMPONENT, FRONTEND)), "the component has the change")
