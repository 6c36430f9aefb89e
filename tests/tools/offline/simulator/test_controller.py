"""What the contract cases cannot ask of a real Metacontroller: crashes, hot loops, refusals, other orders."""

import random
from itertools import pairwise
from typing import Any

import orjson
import pytest

from hooks.ground.k8s import kinds
from hooks.tools.offline.simulator.cluster import NeverSettles, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.controller_spec import ControllerNotStarted
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer, MetacontrollerWouldCrash
from tests.contract.parts import CONFIG_MAPS, CONTROLLER, WIDGETS, composite, decorator
from tests.tools.offline.simulator.worlds import THING, answering, world

PARENT = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "t", "namespace": "default"},
    "spec": {},
}


def _start(controller: Any, hook: Any, **setup: Any) -> SimulatedCluster:
    cluster = world(hook=hook, **setup)
    cluster.create(PARENT)
    cluster.start_controller(controller)
    return cluster


@pytest.mark.parametrize(
    ("controller", "body"),
    [
        (composite(CONFIG_MAPS), {"children": [None]}),
        (decorator(CONFIG_MAPS), {"attachments": [None]}),
        (composite(CONFIG_MAPS, stages=("sync", "customize")), {"relatedResources": [None]}),
    ],
    ids=["children", "attachments", "relatedResources"],
)
def test_null_in_a_list_of_objects_would_crash_metacontroller(controller: Any, body: Any) -> None:
    cluster = _start(controller, answering(body))
    with pytest.raises(MetacontrollerWouldCrash):
        cluster.settle()


@pytest.mark.parametrize(
    "headers", [{}, {"Retry-After": "0"}, {"Retry-After": "soon"}], ids=["missing", "zero", "no-number"]
)
def test_429_without_a_delay_is_a_hot_loop(headers: dict[str, str]) -> None:
    cluster = _start(composite(CONFIG_MAPS), lambda _path, _body: (429, headers, b""))
    with pytest.raises(NeverSettles):
        cluster.settle(max_steps=200)


def test_a_retry_after_may_be_a_date() -> None:
    calls: list[float] = []

    def hook(_path: str, _body: bytes) -> HookAnswer:
        calls.append(cluster.clock.seconds)
        return 429, {"Retry-After": "Thu, 01 Jan 2026 00:00:07 GMT"}, b""

    cluster = _start(composite(CONFIG_MAPS), hook)
    cluster.run_until(lambda: len(calls) == 2, 60)
    assert calls == [0.0, 7.0]


def test_the_back_off_doubles_with_every_failure() -> None:
    calls: list[float] = []

    def hook(_path: str, _body: bytes) -> HookAnswer:
        calls.append(cluster.clock.seconds)
        return 500, {}, b"no"

    cluster = _start(composite(CONFIG_MAPS), hook)
    cluster.run_until(lambda: len(calls) == 6, 60)
    gaps = [round(later - earlier, 3) for earlier, later in pairwise(calls)]
    assert gaps == [0.005, 0.01, 0.02, 0.04, 0.08]


def test_a_status_that_always_differs_never_settles() -> None:
    def hook(_path: str, body: bytes) -> HookAnswer:
        count = orjson.loads(body)["parent"].get("status", {}).get("count", 0)
        return 200, {}, orjson.dumps({"children": [], "status": {"count": count + 1}})

    with pytest.raises(NeverSettles):
        _start(composite(CONFIG_MAPS), hook).settle(max_steps=500)


def _without(controller: Any, *path: str) -> Any:
    copied = orjson.loads(orjson.dumps(controller))
    target = copied
    for key in path[:-1]:
        target = target[key]
    del target[path[-1]]
    return copied


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (composite(("absent.example.com/v1", "ghosts", "InPlace")), "can't find resource"),
        (composite(parent={"apiVersion": "apps/v1", "resource": "deployments"}), "must be a CRD"),
        (composite(("v1", "configmaps", "RollingInPlace")), "RollingInPlace"),
        (_without(composite(CONFIG_MAPS), "spec", "childResources"), "childResources"),
        (_without(composite(CONFIG_MAPS), "spec", "hooks", "sync", "version"), "not of version v2"),
    ],
    ids=["child-not-installed", "built-in-parent", "rolling", "no-children", "v1"],
)
def test_a_controller_that_would_not_work_is_refused(controller: Any, message: str) -> None:
    with pytest.raises(ControllerNotStarted, match=message):
        world().start_controller(controller)


def test_a_webhook_may_be_a_service_and_a_path() -> None:
    controller = composite(CONFIG_MAPS)
    controller["spec"]["hooks"]["sync"]["webhook"] = {
        "service": {"name": "hooks", "namespace": "dynamo"},
        "path": "/sync",
    }
    paths: list[str] = []

    def hook(path: str, body: bytes) -> HookAnswer:
        paths.append(path)
        return answering({"children": []})(path, body)

    _start(controller, hook).settle()
    assert set(paths) == {"/sync"}


def test_customize_answers_are_forgotten_after_twenty_minutes() -> None:
    asked: list[float] = []

    def hook(path: str, body: bytes) -> HookAnswer:
        if path == "/customize":
            asked.append(cluster.clock.seconds)
            return answering({"relatedResources": []})(path, body)
        return answering({"children": []})(path, body)

    cluster = _start(composite(CONFIG_MAPS, stages=("sync", "customize"), resyncPeriodSeconds=60), hook)
    cluster.run_for(45 * 60)
    assert [round(seconds) for seconds in asked] == [0, 1200, 2400]


def _replicate(_path: str, body: bytes) -> HookAnswer:
    """As many ConfigMaps and Widgets as the parent wants, and how many there are."""
    request = orjson.loads(body)
    count = request["parent"]["spec"]["count"]
    observed = sum(len(found) for found in request["children"].values())
    children = [
        {"apiVersion": version, "kind": kind, "metadata": {"name": f"c{number}"}, key: {"of": str(count)}}
        for version, kind, key in (("v1", "ConfigMap", "data"), ("example.com/v1", "Widget", "spec"))
        for number in range(count)
    ]
    return 200, {}, orjson.dumps({"children": children, "status": {"observed": observed}})


def _run_in_order(choose: Any) -> list[Any]:
    setup = {"choose": choose} if choose else {}
    cluster = world(hook=_replicate, **setup)
    for name in ("a", "b"):
        namespace = f"ns-{name}"
        cluster.create_namespace(namespace)
        cluster.create({**PARENT, "metadata": {"name": name, "namespace": namespace}, "spec": {"count": 3}})
    cluster.start_controller(composite(CONFIG_MAPS, WIDGETS))
    cluster.settle()
    cluster.patch(THING, "a", {"spec": {"count": 1}}, "ns-a")
    cluster.delete(THING, "b", "ns-b")
    cluster.settle()
    return [
        (
            obj["kind"],
            obj["metadata"]["namespace"],
            obj["metadata"]["name"],
            obj.get("data"),
            obj.get("spec"),
            obj.get("status"),
        )
        for obj in cluster.everything()
        if "namespace" in obj["metadata"]
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_work_does_not_change_the_outcome(seed: int) -> None:
    chance = random.Random(seed)
    assert _run_in_order(chance.randrange) == _run_in_order(None)


def test_two_runs_are_the_same_to_the_last_write() -> None:
    def run() -> list[Any]:
        cluster = _start(composite(CONFIG_MAPS), answering({"children": [], "status": {"a": 1}}))
        cluster.settle()
        return [*cluster.writes, *cluster.everything()]

    assert run() == run()


def test_a_stopped_controller_acts_no_more_and_leaves_its_finalizer() -> None:
    cluster = _start(composite(CONFIG_MAPS, stages=("sync", "finalize")), answering({"children": []}))
    cluster.settle()
    cluster.stop_controller(CONTROLLER)
    cluster.delete(THING, "t", "default")
    cluster.settle()
    parent = cluster.get(THING, "t", "default")
    assert parent is not None
    assert parent["metadata"]["finalizers"] == [f"metacontroller.io/compositecontroller-{CONTROLLER}"]


def test_an_unserved_optional_kind_is_served_when_installed() -> None:
    kind = kinds.VIRTUAL_SERVICE
    obj = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "v", "namespace": "default"},
        "spec": {},
    }
    assert world(optional=frozenset({"istio"})).create(obj)["metadata"]["generation"] == 1
