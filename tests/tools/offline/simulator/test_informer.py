"""Late news: a controller goes by what it knows, learns in order, and comes right in the end."""

from typing import Any

import orjson

from hooks.ground.k8s import kinds
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import Hook, HookAnswer
from tests.contract.backend import GROUP_VERSION
from tests.tools.offline.simulator.worlds import WIDGET, answering, config_map, widget, world

CONTROLLER = {
    "apiVersion": "metacontroller.k8s.io/v1alpha1",
    "kind": "CompositeController",
    "metadata": {"name": "widgets"},
    "spec": {
        "generateSelector": True,
        "parentResource": {"apiVersion": GROUP_VERSION, "resource": "widgets"},
        "childResources": [{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}],
        "hooks": {"sync": {"version": "v2", "webhook": {"url": "http://127.0.0.1:1/sync"}}},
    },
}


class Listener:
    """A hook that wants one ConfigMap with the parent's size, and remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[int, list[str]]] = []

    def __call__(self, _path: str, body: bytes) -> HookAnswer:
        request = orjson.loads(body)
        size, children = request["parent"]["spec"]["size"], request["children"]["ConfigMap.v1"]
        self.shown.append((size, [child["data"]["a"] for child in children.values()]))
        child = {**config_map(), "data": {"a": str(size)}}
        del child["metadata"]["namespace"]
        return 200, {}, orjson.dumps({"children": [child], "status": {}})


def late(hook: Hook, **setup: Any) -> SimulatedCluster:
    return world(controllers=[CONTROLLER], hook=hook, late=(WIDGET, kinds.CONFIG_MAP), **setup)


def changed_twice() -> tuple[Listener, SimulatedCluster]:
    """A settled cluster in which the parent was then changed twice, which the controller has not heard of."""
    listener = Listener()
    cluster = late(listener)
    cluster.create(widget())
    cluster.settle()
    listener.shown.clear()
    for size in (2, 3):
        cluster.patch(WIDGET, "w", {"spec": {"size": size}}, "default")
    return listener, cluster


def step_until(cluster: SimulatedCluster, beginning: str) -> None:
    """Go on until a step begins so."""
    while not cluster.step().startswith(beginning):
        assert len(cluster.writes) < 100


def test_controller_that_has_not_heard_of_its_child_makes_it_again_and_is_refused() -> None:
    listener = Listener()
    news = {"last": True}
    cluster = late(listener, choose=lambda count: count - 1 if news["last"] else 0)
    cluster.create(widget())
    step_until(cluster, "widgets syncs")
    cluster.sync_again()
    step_until(cluster, "widgets syncs")
    assert listener.shown == [(1, []), (1, [])]
    assert [write.code for write in cluster.writes if write.resource == "configmaps"] == [201, 409]
    news["last"] = False
    cluster.settle()
    assert listener.shown[-1] == (1, ["1"])


def test_changes_of_a_kind_arrive_one_by_one_and_in_their_order() -> None:
    listener, cluster = changed_twice()
    assert cluster.step() == "see a change of a Widget"
    cluster.sync_again()
    assert cluster.step() == "see a change of a Widget"
    cluster.settle()
    assert listener.shown[0] == (3, ["1"])
    assert listener.shown[-1] == (3, ["3"])


def test_of_changes_lost_with_a_watch_the_last_state_arrives() -> None:
    listener, cluster = changed_twice()
    cluster.break_watches()
    assert cluster.step() == "widgets syncs Widget default/w"
    assert listener.shown == [(3, ["1"])]


def test_news_that_is_held_back_arrives_when_it_is_let_through_or_the_watch_breaks() -> None:
    listener, cluster = changed_twice()
    cluster.delay_news(WIDGET)
    cluster.sync_again()
    cluster.settle()
    assert listener.shown == [(1, ["1"])]
    cluster.break_watches()
    cluster.settle()
    assert listener.shown[-1] == (3, ["3"])
    cluster.patch(WIDGET, "w", {"spec": {"size": 4}}, "default")
    cluster.settle()
    assert listener.shown[-1] == (3, ["3"])
    cluster.delay_news()
    cluster.settle()
    assert listener.shown[-1] == (4, ["4"])


def test_metacontroller_that_starts_anew_knows_everything_and_syncs_everything() -> None:
    listener = Listener()
    cluster = late(listener)
    cluster.create(widget())
    cluster.settle()
    listener.shown.clear()
    cluster.patch(WIDGET, "w", {"spec": {"size": 2}}, "default")
    cluster.restart_metacontroller()
    assert cluster.step() == "widgets syncs Widget default/w"
    assert listener.shown == [(2, ["1"])]


def test_kinds_that_are_not_late_are_known_at_once() -> None:
    listener = Listener()
    cluster = world(controllers=[CONTROLLER], hook=listener)
    cluster.create(widget())
    assert cluster.step() == "widgets syncs Widget default/w"
    cluster.settle()
    assert listener.shown[-1] == (1, ["1"])


def test_failed_sync_counts_as_to_be_retried_until_it_succeeds() -> None:
    codes = iter([500])
    hook = answering({"children": [], "status": {}})
    cluster = world(controllers=[CONTROLLER], hook=lambda path, body: (next(codes, 200), *hook(path, body)[1:]))
    cluster.create(widget())
    cluster.step()
    assert cluster.has_retries
    cluster.run_for(1)
    assert not cluster.has_retries
