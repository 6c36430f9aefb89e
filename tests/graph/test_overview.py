"""The fields of a graph's status that `kubectl get` shows: the worst reason, what runs the pods, their GPUs."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest, name_of
from tests import make
from tests.graph import test_explain as pods
from tests.graph import test_grove as grove
from tests.graph import world

TWO_GPUS: dict[str, Any] = {"resources": {"limits": {"gpu": "2"}}}


def status_of(graph: Manifest, reasons: dict[str, str]) -> dict[str, Any]:
    """The status of a graph whose components say that they are not ready, by name and reason; others are ready."""
    children = world.run(world.apply((), world.ask(graph).children))
    for child in children:
        if reason := reasons.get(name_of(child)):
            ready = {"type": "Ready", "status": "False", "reason": reason, "message": "why"}
            child["status"]["conditions"].append(ready)
    status = world.ask(graph, children).status
    assert status is not None
    return dict(status)


@pytest.mark.parametrize(
    ("reasons", "worst"),
    [
        ({}, None),
        ({"g-worker": "Progressing"}, "Progressing"),
        ({"g-worker": "RollingOut", "g-frontend": "ImagePull"}, "ImagePull"),
        ({"g-worker": "ValidationFailed", "g-frontend": "Unschedulable"}, "ValidationFailed"),
    ],
    ids=["ready", "one", "worst of two", "refused component"],
)
def test_worst_reason_of_all_components_is_that_of_the_graph(reasons: dict[str, str], worst: str | None) -> None:
    status = status_of(make.graph(), reasons)
    assert status.get("notReadyReason") == worst
    assert (status["state"] == "successful") is (worst is None)


def test_new_graph_makes_progress() -> None:
    status = world.ask(make.graph()).status
    assert status is not None
    assert status["notReadyReason"] == "Progressing"


def test_changed_component_is_rolling_out() -> None:
    graph = make.graph({"Worker": make.service()})
    children = world.run(world.apply((), world.ask(graph).children))
    changed = make.graph({"Worker": make.service(image="img:2")})
    answer = world.ask(changed, world.apply(children, world.ask(changed, children).children))
    assert answer.status is not None
    assert answer.status["notReadyReason"] == "RollingOut"


def test_missing_claim_is_waited_for() -> None:
    status = status_of(make.graph(pvcs=[{"name": "cache"}]), {})
    assert status["notReadyReason"] == "WaitingForDependency"


def test_pods_under_grove_say_the_worst_reason() -> None:
    graph = make.graph(grove.TWO)
    crashing = pods.pod("g-0-frontend-a", "Frontend", **pods.CRASH)
    status = grove.ask(graph, grove.settled(graph), [*pods.SHORT, crashing]).status
    assert status is not None
    assert (status["notReadyReason"], status["path"]) == ("CrashLoop", "Grove")


def test_refused_graph_keeps_path_and_gpus() -> None:
    graph = make.graph({"Worker": make.service(replicas=-1)})
    request = {**graph, "status": {"path": "Deployments", "gpus": 4}}
    status = world.ask(request).status
    assert status is not None
    assert (status["notReadyReason"], status["path"], status["gpus"]) == ("ValidationFailed", "Deployments", 4)


def test_gpus_are_those_of_all_replicas_and_nodes() -> None:
    services = {
        "Frontend": make.service("frontend"),
        "Worker": make.service(replicas=3, **TWO_GPUS),
        "Wide": grove.multinode(nodes=2, replicas=2),
    }
    status = world.ask(make.graph(services), installed=["lws", "volcano"]).status
    assert status is not None
    assert (status["gpus"], status["path"]) == (3 * 2 + 2 * 2 * 2, "Deployments,LWS")
    only_wide = world.ask(make.graph({"w": grove.multinode()}), installed=["lws", "volcano"]).status
    assert only_wide is not None
    assert only_wide["path"] == "LWS"


def test_gpus_are_as_many_as_the_status_can_hold() -> None:
    worker = make.service(replicas=2**31 - 1, resources={"limits": {"gpu": "9E"}})
    status = world.ask(make.graph({"Worker": worker})).status
    assert status is not None
    assert status["gpus"] == 2**63 - 1


def test_refused_graph_keeps_no_null() -> None:
    entry = {"componentKind": "Deployment", "componentName": None, "replicas": 1}
    request = {**make.graph({"Worker": make.service(replicas=-1)}), "status": {"services": {"Worker": entry}}}
    status = world.ask(request).status
    assert status is not None
    assert status["services"] == {"Worker": {"componentKind": "Deployment", "replicas": 1}}


def test_replicas_of_a_scaling_adapter_count() -> None:
    graph = make.graph({"Worker": make.service(scalingAdapter={"enabled": True}, **TWO_GPUS)})
    children = world.apply((), world.ask(graph).children)
    adapter = world.child(children, "DynamoGraphDeploymentScalingAdapter", "g-worker")
    adapter["spec"]["replicas"] = 4
    status = world.ask(graph, children).status
    assert status is not None
    assert status["gpus"] == 8
