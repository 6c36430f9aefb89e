"""What becomes of a live child comes out the same from a diff, a migration and a simulation."""

from collections.abc import Callable
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, gvk_of, name_of, plural_of
from hooks.tools.offline.diff.comparing import compare_with_cluster
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.operating.live_world import read_world
from hooks.tools.operating.migration.first_sync import ask, predict
from hooks.wire.metacontroller import controllers, install_files
from hooks.wire.metacontroller.controllers import Strategy
from hooks.wire.world.objects import World
from tests.tools.offline.diff.compared import example, fates, load
from tests.tools.offline.diff.test_simulated import FACTS, SETTLED
from tests.tools.offline.simulator.hooked import URL, build_cluster
from tests.tools.operating.migration.played_cluster import play

AGG = example("vllm-agg")
NAMESPACE = "default"
SERVICE = (contract.COMPONENT, kinds.SERVICE, "vllm-agg-frontend")
BINDING = (contract.GRAPH, kinds.ROLE_BINDING, "vllm-agg-k8s-service-discovery-binding")
PARENTS = {contract.COMPONENT: "vllm-agg-frontend", contract.GRAPH: "vllm-agg"}

Child = tuple[GroupVersionKind, GroupVersionKind, str]
"""The kinds of parent and child, and the child's name."""


class Stage:
    """A graph that ran, and a child that somebody has changed while no controller runs."""

    def __init__(self, child: Child, change: Callable[[SimulatedCluster, Child], object]) -> None:
        self.child = child
        self.cluster = build_cluster()
        self.cluster.create({**AGG[0], "metadata": {"namespace": NAMESPACE, **AGG[0]["metadata"]}})
        self.cluster.run_for(SETTLED)
        for one in _controllers():
            self.cluster.stop_controller(name_of(one))
        self.whole = self.find()
        change(self.cluster, child)
        self.before = self.find()

    def find(self) -> Manifest:
        _, kind, name = self.child
        found = self.cluster.get(kind, name, NAMESPACE)
        assert found is not None
        return found

    def read(self) -> World:
        return read_world(play(self.cluster), [NAMESPACE], FACTS)

    def diff(self) -> str:
        found = fates(compare_with_cluster(self.read(), load(AGG), FACTS))
        return found.get(f"{self.child[1].kind}/{self.child[2]}", "kept")

    def migrate(self) -> str:
        world, parent_kind = self.read(), self.child[0]
        (parent,) = (one for one in world.of_kind(parent_kind) if name_of(one) == PARENTS[parent_kind])
        after = predict(ask(parent, world, FACTS).wanted, parent, world)
        return self.judge(after[self.child[1:]])

    def simulate(self) -> str:
        for one in _controllers():
            self.cluster.start_controller(_with_strategies(one))
        self.cluster.run_for(SETTLED)
        return self.judge(self.find())

    def judge(self, now: Manifest) -> str:
        if now["metadata"].get("uid") != self.before["metadata"]["uid"]:
            assert _content(now) == _content(self.whole)
            return "recreated"
        if _content(now) == _content(self.before):
            return "kept"
        assert _content(now) == _content(self.whole)
        return "changed"


def _controllers() -> list[Manifest]:
    return [one for one in install_files.controllers(URL) if one["kind"] == "CompositeController"]


def _with_strategies(controller: Manifest) -> Manifest:
    """The controller with the strategies that the world knows."""
    spec = controller["spec"]
    (parent,) = (one for one in controllers.OUR_KINDS if plural_of(one) == spec["parentResource"]["resource"])
    rules = [
        {
            "apiVersion": kind.api_version,
            "resource": plural_of(kind),
            "updateStrategy": {"method": controllers.strategy_of(parent, kind)},
        }
        for kind in controllers.declared_by(parent)
    ]
    return {**controller, "spec": {**spec, "childResources": rules}}


def _content(one: Manifest) -> Any:
    return (one.get("spec") or {}).get("ports"), one.get("subjects")


def spoil(cluster: SimulatedCluster, child: Child) -> None:
    _, kind, name = child
    if kind == kinds.SERVICE:
        cluster.patch(kind, name, {"spec": {"ports": [{"name": "http", "port": 8000, "targetPort": "x"}]}}, NAMESPACE)
    else:
        cluster.patch(kind, name, {"subjects": [{"kind": "ServiceAccount", "name": "x"}]}, NAMESPACE)


def delete(cluster: SimulatedCluster, child: Child) -> None:
    """Begin to delete the child; a finalizer holds it."""
    spoil(cluster, child)
    _, kind, name = child
    cluster.patch(kind, name, {"metadata": {"finalizers": ["example.com/hold"]}}, NAMESPACE)
    cluster.delete(kind, name, NAMESPACE)


@pytest.mark.parametrize(
    ("child", "strategy", "fate"),
    [
        (SERVICE, Strategy.IN_PLACE, "changed"),
        (SERVICE, Strategy.ON_DELETE, "kept"),
        (SERVICE, Strategy.RECREATE, "recreated"),
        (BINDING, None, "kept"),
    ],
    ids=["updated in place", "never updated", "recreated", "a RoleBinding by the shipped controller"],
)
def test_child_that_differs(
    child: Child, strategy: Strategy | None, fate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strategy is not None:
        monkeypatch.setitem(controllers.STRATEGIES[child[0]], child[1], strategy)
    stage = Stage(child, spoil)
    assert (stage.diff(), stage.migrate(), stage.simulate()) == (fate, fate, fate)


def test_child_that_is_being_deleted_is_left_alone_and_created_anew_once_it_is_gone() -> None:
    stage = Stage(SERVICE, delete)
    end = stage.diff()
    assert (stage.migrate(), stage.simulate()) == ("kept", "kept")
    stage.cluster.patch(kinds.SERVICE, SERVICE[2], {"metadata": {"finalizers": None}}, NAMESPACE)
    stage.cluster.run_for(SETTLED)
    assert (end, stage.judge(stage.find())) == ("recreated", "recreated")


def test_children_of_a_component_that_is_being_deleted_are_created_anew_with_it() -> None:
    stage = Stage((contract.GRAPH, contract.COMPONENT, "vllm-agg-frontend"), hold_and_delete)
    found = fates(compare_with_cluster(stage.read(), load(AGG), FACTS))
    assert found["DynamoComponentDeployment/vllm-agg-frontend"] == "recreated"
    assert found["Deployment/vllm-agg-frontend"] == "recreated"
    assert "Deployment/vllm-agg-vllmworker" not in found


def hold_and_delete(cluster: SimulatedCluster, child: Child) -> None:
    _, kind, name = child
    cluster.patch(kind, name, {"metadata": {"finalizers": ["example.com/hold"]}}, NAMESPACE)
    cluster.delete(kind, name, NAMESPACE)


def test_orphan_with_a_parents_label_is_adopted() -> None:
    stage = Stage(SERVICE, orphan)
    (parent,) = (one for one in stage.read().of_kind(contract.COMPONENT) if name_of(one) == SERVICE[2])
    assert SERVICE[1:] in {(gvk_of(one), name_of(one)) for one in stage.read().children_of(parent)}
    assert (stage.diff(), stage.migrate(), stage.simulate()) == ("changed", "changed", "changed")


def orphan(cluster: SimulatedCluster, child: Child) -> None:
    spoil(cluster, child)
    cluster.patch(child[1], child[2], {"metadata": {"ownerReferences": None}}, NAMESPACE)
