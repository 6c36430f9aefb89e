"""What is read from a running cluster: pods of what is not ready, within bounds; and rights that a user lacks."""

from datetime import UTC, datetime

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import annotations_of, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.operating.upgrade import running_world
from hooks.tools.operating.upgrade.plan import UpgradePlan, plan_upgrade
from hooks.tools.operating.upgrade.running_world import read_hooks, read_running
from hooks.tools.world.settling import Grounds
from hooks.wire.world.objects import World
from tests.tools.operating.migration.played_cluster import play
from tests.tools.operating.upgrade.played import run_graphs
from tests.tools.operating.upgrade.test_command import hooks_with


def facts_of(cluster: SimulatedCluster) -> Facts:
    return Facts(now=cluster.clock.now, settings=parse_settings({}))


def plan_of(world: World, facts: Facts) -> UpgradePlan:
    return plan_upgrade(world, Grounds(facts=facts, world=world))


def test_graph_that_is_not_ready_is_judged_with_its_pods() -> None:
    cluster = run_graphs("vllm-agg")
    cluster.block("vllm-agg-frontend*")
    for pod in cluster.list_kind(kinds.POD):
        if "frontend" in pod["metadata"]["name"]:
            cluster.delete(kinds.POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
    cluster.run_for(240)
    facts = facts_of(cluster)
    world = read_running(play(cluster), "", facts)
    assert world.of_kind(kinds.POD)
    assert plan_of(world, facts).is_empty


def test_ready_graphs_are_judged_without_their_pods() -> None:
    cluster = run_graphs("vllm-agg")
    facts = facts_of(cluster)
    world = read_running(play(cluster), "", facts)
    assert world.of_kind(kinds.POD) == ()
    assert (plan_of(world, facts).is_empty, world.unread) == (True, ())


def test_questions_on_demand_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = run_graphs("vllm-agg")
    cluster.block("*")
    for pod in cluster.list_kind(kinds.POD):
        cluster.delete(kinds.POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
    cluster.run_for(240)
    monkeypatch.setattr(running_world, "MOST_READS", 1)
    world = read_running(play(cluster), "", facts_of(cluster))
    assert any("ask for their pods; those of the others are not read" in one for one in world.unread)


def test_what_the_user_may_not_read_is_said() -> None:
    cluster = run_graphs("vllm-agg")
    facts = Facts(now=datetime.now(UTC), settings=parse_settings({}))
    world = read_running(play(cluster, forbidden=frozenset({"services"})), "", facts)
    assert any(one.startswith("you may not read Service objects") for one in plan_of(world, facts).unread)


def test_settings_are_read_from_the_deployment_of_the_installation() -> None:
    cluster = run_graphs("vllm-agg")
    cluster.create_namespace("dynamo-system")
    cluster.create_namespace("team-a")
    cluster.create(hooks_with(kai_queue="all"))
    team = hooks_with(installation="team-a", kai_queue="theirs")
    cluster.create({**team, "metadata": {"name": "dynamo-hooks", "namespace": "team-a"}})
    for installation, namespace in (("", "dynamo-system"), ("team-a", "team-a")):
        found, unread = read_hooks(play(cluster), installation)
        assert found is not None
        assert (found["metadata"]["namespace"], unread) == (namespace, ())
    assert read_hooks(play(cluster), "team-b") == (None, ())
    nothing, unread = read_hooks(play(cluster, forbidden=frozenset({"deployments"})), "")
    assert nothing is None
    assert "so the settings of the hooks that run are not known" in unread[0]


def test_rollout_in_the_middle_is_no_change_by_an_upgrade() -> None:
    cluster = run_graphs("vllm-disagg")
    (graph,) = cluster.list_kind(contract.GRAPH)
    cluster.block("*vllmdecodeworker*")
    main = {"extraPodSpec": {"mainContainer": {"image": "a:1.6.2"}}}
    change = {"spec": {"services": {"VllmPrefillWorker": main}}}
    cluster.patch(contract.GRAPH, name_of(graph), change, graph["metadata"]["namespace"])
    cluster.run_for(240)
    assert any(contract.ANNOTATION_PACE in annotations_of(one) for one in cluster.list_kind(contract.COMPONENT))
    facts = facts_of(cluster)
    assert plan_of(read_running(play(cluster), "", facts), facts).is_empty
