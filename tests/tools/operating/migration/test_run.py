"""The whole command against a simulated cluster: killed at every write, run again, early and late."""

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import name_of
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.migration.execution import carry_out
from hooks.tools.operating.migration.reading import WEBHOOKS, read_found
from tests.tools.operating.migration.left_behind import NAMESPACE, entries, one_set, stand_in
from tests.tools.operating.migration.moved import FACTS, Moved, moved
from tests.tools.operating.migration.played_cluster import play
from tests.tools.operating.migration.test_upstream import webhooks

GRAPH = "llm"
MULTINODE = "test3-vllm-dsr1"


def check_taken_over(world: Moved, name: str = GRAPH, reason: str = "all_resources_are_ready") -> None:
    """Nothing is left to do, the graph has all its children, and all goes with it."""
    assert world.plan().steps == ()
    conditions = world.graph(name)["status"]["conditions"]
    assert (find_condition(conditions, "Ready") or {})["reason"] == reason
    assert (find_condition(conditions, "Applied") or {})["reason"] == "AsWanted"
    world.simulated.delete(contract.GRAPH, name, NAMESPACE)
    world.simulated.run_for(60)
    assert world.names() == []


def count_writes() -> int:
    world = moved([stand_in()])
    cluster = play(world.simulated)
    world.apply_by(cluster)
    return len(cluster.writes)


def test_command_writes_nothing_without_work() -> None:
    world = moved([stand_in()])
    world.apply()
    cluster = play(world.simulated)
    world.apply_by(cluster)
    assert cluster.writes == []


@pytest.mark.parametrize("write", range(1, 11))
def test_command_killed_before_our_controllers_start_is_run_again(write: int) -> None:
    world = moved([stand_in()])
    pods, templates = world.pods(), world.templates()
    assert not world.apply(killed_at=write)
    assert world.apply()
    world.start()
    assert world.pods() == pods
    assert world.templates() == templates
    check_taken_over(world)


@pytest.mark.parametrize("write", range(1, 11))
def test_our_controllers_start_after_the_command_was_killed(write: int) -> None:
    world = moved([stand_in()])
    pods, templates = world.pods(), world.templates()
    assert not world.apply(killed_at=write)
    world.start()
    assert world.apply()
    world.simulated.run_for(600)
    assert world.pods() == pods
    assert world.templates() == templates
    check_taken_over(world)


@pytest.mark.parametrize("write", range(1, 11))
def test_our_controllers_were_there_first(write: int) -> None:
    world = moved([stand_in()])
    pods, templates = world.pods(), world.templates()
    world.start()
    deployment = world.simulated.get(kinds.DEPLOYMENT, "llm-frontend", NAMESPACE)
    assert deployment is not None
    assert not deployment["metadata"].get("ownerReferences")
    assert not world.apply(killed_at=write)
    world.simulated.run_for(60)
    assert world.apply()
    world.simulated.run_for(600)
    assert world.pods() == pods
    assert world.templates() == templates
    check_taken_over(world)


def test_every_write_was_a_place_to_be_killed_at() -> None:
    assert count_writes() == 10


def take_over_unchanged(world: Moved, *, late: bool) -> None:
    """Start the controllers after the move, or before (`late`): pods and their templates stay as they are."""
    pods, templates = world.pods(), world.templates()
    if late:
        world.start()
    assert world.apply()
    if not late:
        world.start()
    world.simulated.run_for(600)
    assert world.pods() == pods
    assert world.templates() == templates


@pytest.mark.skipif(len(entries()) == 1, reason="the corpus is not in ../shared/corpus")
@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
def test_leader_worker_sets_are_taken_over(late: bool) -> None:
    (entry,) = (one for one in entries() if one["operator"]["name"] == MULTINODE)
    world = moved([entry])
    take_over_unchanged(world, late=late)
    # Its claim is the user's, who did not create one here.
    check_taken_over(world, MULTINODE, reason="some_resources_are_not_ready")


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
def test_one_set_of_all_replicas_is_taken_over_and_scaled_as_one(late: bool) -> None:
    world = moved([one_set()])
    pods = world.pods()
    assert len(pods) == 6
    take_over_unchanged(world, late=late)
    world.simulated.patch(contract.GRAPH, GRAPH, {"spec": {"services": {"Worker": {"replicas": 4}}}}, NAMESPACE)
    world.simulated.run_for(120)
    assert pods.items() <= world.pods().items()
    assert len(world.pods()) == 8
    assert [name for name in world.names() if name.startswith(("LeaderWorkerSet", "PodGroup"))] == [
        "LeaderWorkerSet llm-worker-0"
    ]
    check_taken_over(world)


def test_change_of_the_spec_ends_the_hold() -> None:
    world = moved([stand_in()])
    world.apply()
    world.start()
    pods = world.pods()
    service = {"extraPodSpec": {"mainContainer": {"image": "example.com/vllm-runtime:2"}}}
    world.simulated.patch(contract.GRAPH, GRAPH, {"spec": {"services": {"Frontend": service}}}, NAMESPACE)
    world.simulated.run_for(120)
    assert world.pods().keys().isdisjoint(pods)
    deployment = world.simulated.get(kinds.DEPLOYMENT, "llm-frontend", NAMESPACE)
    assert deployment is not None
    mark = deployment["metadata"]["annotations"][contract.ANNOTATION_RENDERING]
    assert not mark.startswith("0.")
    check_taken_over(world)


def test_scaling_does_not_end_the_hold() -> None:
    world = moved([stand_in()])
    world.apply()
    world.start()
    pods = world.pods()
    change = {"spec": {"services": {"Frontend": {"replicas": 2}}}}
    world.simulated.patch(contract.GRAPH, GRAPH, change, NAMESPACE)
    world.simulated.run_for(120)
    assert len(world.pods()) == 2
    assert pods.items() <= world.pods().items()


def test_object_that_is_gone_since_the_plan_is_told() -> None:
    world = moved([stand_in()])
    plan = world.plan()
    world.simulated.delete(kinds.SERVICE, "llm-frontend", NAMESPACE)
    told: dict[str, str] = {}
    is_whole = carry_out(
        plan, play(world.simulated), lambda step, why: told.update({step.title: why}), world.simulated.run_for
    )
    assert not is_whole
    assert told["Service default/llm-frontend"] == "it was deleted since the plan was made"
    assert told["DynamoGraphDeployment default/llm"] == ""


def test_component_whose_workload_is_ready_must_say_so_first() -> None:
    world = moved([stand_in()])
    plan = world.plan()
    world.simulated.patch_status(
        contract.COMPONENT, "llm-frontend", {"status": {"conditions": [], "service": None}}, NAMESPACE
    )
    told: dict[str, str] = {}
    is_whole = carry_out(
        plan, play(world.simulated), lambda step, why: told.update({step.title: why}), world.simulated.run_for
    )
    assert not is_whole
    assert [step.title for step in plan.steps if step.awaits_pods] == ["DynamoComponentDeployment default/llm-frontend"]
    live = world.simulated.get(contract.COMPONENT, "llm-frontend", NAMESPACE)
    assert live is not None
    assert "controller-uid" not in live["metadata"]["labels"]


def test_old_webhooks_go_first() -> None:
    world = moved([stand_in()])
    play(world.simulated)
    kind = WEBHOOKS[0]
    found = {**webhooks("dynamo-operator-webhook-service"), "apiVersion": kind.api_version, "kind": kind.kind}
    world.simulated.create(found)
    cluster = play(world.simulated)
    world.apply_by(cluster)
    assert cluster.writes[0] == "DELETE validatingwebhookconfigurations /x"
    assert world.simulated.list_kind(kind) == []


def test_what_a_user_may_not_read_is_a_warning() -> None:
    world = moved([stand_in()])
    forbidden = frozenset({"validatingwebhookconfigurations", "secrets"})
    found = read_found(play(world.simulated, forbidden=forbidden), "", FACTS)
    assert any(one.startswith("you may not read webhook configurations: ") for one in found.world.unread)
    assert len(found.world.of_kind(kinds.SERVICE)) == 3


def test_parents_that_cannot_be_read_end_the_command() -> None:
    world = moved([stand_in()])
    with pytest.raises(Refused, match="dynamographdeployments is forbidden"):
        read_found(play(world.simulated, forbidden=frozenset({"dynamographdeployments"})), "", FACTS)


def test_other_namespace_is_not_touched() -> None:
    world = moved([stand_in()])
    found = read_found(play(world.simulated), "other", FACTS)
    assert found.world.objects == {}
    assert contract.GO_FINALIZER in world.graph(GRAPH)["metadata"]["finalizers"]
    assert name_of(world.graph(GRAPH)) == GRAPH
