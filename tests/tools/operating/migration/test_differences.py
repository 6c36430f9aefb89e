"""Workloads of a Go operator from 1.0 on that differ from ours in one field: what ends is what the plan says."""

from collections import Counter
from collections.abc import Mapping

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import name_of
from hooks.tools.operating.migration.steps import Action, Plan
from tests.effort import choose_cases
from tests.tools.operating.migration.differences import (
    FIELDS,
    OF_SET,
    RELEASES,
    ROLES,
    WAYS,
    Difference,
    announced,
    left_with,
    replaced,
    workloads_of,
)
from tests.tools.operating.migration.left_behind import NAMESPACE
from tests.tools.operating.migration.moved import Moved
from tests.tools.operating.migration.test_planner import the_step

ORDERS = ("controllers later", "components' controller first", "controllers first")
"""When our controllers start; Metacontroller may call the hook of components before that of graphs, or after it."""
ONE_OF_EACH = [Difference(field=field, way=way) for field in FIELDS for way in WAYS if field != "default"]
ALL = [*ONE_OF_EACH, Difference(field="default", way="added")]
Case = tuple[str, str, int]


def cases() -> list[Case]:
    """Each difference with a release and an order, which go through all pairs: both, and the difference's number."""
    found = []
    for number in range(len(ALL)):
        release, order = number % len(RELEASES), (number + number // len(RELEASES)) % len(ORDERS)
        found.append(((RELEASES[release], ORDERS[order], number), (release, order)))
    return choose_cases(found)


def of_roles(number: int) -> dict[str, Difference]:
    """Another difference for each role; over all numbers, each role has each. Variables and labels change in turn."""
    found = {}
    for place, role in enumerate(ROLES):
        one = ALL[(number + 5 * place) % len(ALL)]
        index = number if one.field in {"variable", "label", "port"} else 0
        found[role] = Difference(field=one.field, way=one.way, index=index)
    return found


def take_over(world: Moved, order: str, down: str = "") -> tuple[Plan, Counter[str]]:
    """Move the graph; the plan, and how many pods of each workload were replaced. Pods of `down` get ready then."""
    pods, workloads = world.pods(), workloads_of(world)
    assert pods
    plan = world.plan()
    if order == "controllers first":
        world.start()
    assert world.apply(), world.told
    if order == "components' controller first":
        world.controllers.sort(key=lambda one: name_of(one) != "dynamo-component")
    if order != "controllers first":
        world.start()
    if down:
        world.simulated.release(f"llm-{down.lower()}-*")
    world.simulated.run_for(120)
    return plan, replaced(pods, world.pods(), workloads)


def check_moved(world: Moved, differences: Mapping[str, Difference]) -> None:
    """Nothing is left to do. The graph is ready, unless Services may select none of the pods for want of a label."""
    assert world.plan().steps == ()
    conditions = world.graph("llm")["status"]["conditions"]
    assert (find_condition(conditions, "Applied") or {})["reason"] == "AsWanted"
    if not any(one.field == "label" and one.way != "added" for one in differences.values()):
        assert (find_condition(conditions, "Ready") or {})["status"] == "True"


@pytest.mark.parametrize(("release", "order", "number"), cases())
def test_workloads_with_one_difference_each_are_held(release: str, order: str, number: int) -> None:
    differences = of_roles(number)
    world = left_with(release, differences)
    plan, gone = take_over(world, order)
    assert (announced(plan), gone, plan.starts) == (Counter(), Counter(), 0)
    check_moved(world, differences)


@pytest.mark.parametrize(("release", "order", "number"), cases())
def test_set_with_one_difference_is_held(release: str, order: str, number: int) -> None:
    differences = {OF_SET: ALL[number]}
    world = left_with(release, differences, grove=True)
    plan, gone = take_over(world, order)
    assert (announced(plan), gone, plan.starts) == (Counter(), Counter(), 0)
    check_moved(world, differences)


def cases_of_down() -> list[tuple[int, int, bool]]:
    """Each role, on both paths, in each order; places of the role and the order."""
    found = [(place, order, grove) for place in range(len(ROLES)) for order in range(len(ORDERS)) for grove in (0, 1)]
    return choose_cases([((place, order, bool(grove)), (place, order, grove)) for place, order, grove in found])


@pytest.mark.parametrize(("place", "order_at", "grove"), cases_of_down())
def test_pods_that_were_never_ready_are_replaced_as_announced(place: int, order_at: int, grove: bool) -> None:
    down, order, number = ROLES[place], ORDERS[order_at], 5 * place + order_at
    differences = {OF_SET: ALL[number]} if grove else of_roles(number)
    world = left_with(RELEASES[number % len(RELEASES)], differences, grove=grove, down=down)
    plan, gone = take_over(world, order, down)
    assert gone == announced(plan)
    check_moved(world, differences)


def test_workload_without_a_ready_pod_is_announced_alone() -> None:
    lacking = Difference(field="annotation", way="removed")
    world = left_with("1.5.0", dict.fromkeys(ROLES, lacking), down="Frontend")
    plan, gone = take_over(world, "controllers later", "Frontend")
    assert announced(plan) == gone == {"llm-frontend": 1}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("role", ["Frontend", "Worker"])
def test_workload_without_our_annotation_is_held_while_its_graph_changes_its_component(role: str, order: str) -> None:
    world = left_with("1.5.0", {role: Difference(field="annotation", way="removed")})
    before = world.simulated.get(contract.COMPONENT, "llm-frontend", NAMESPACE)
    plan, gone = take_over(world, order)
    after = world.simulated.get(contract.COMPONENT, "llm-frontend", NAMESPACE)
    assert before is not None
    assert after is not None
    assert after["spec"] != before["spec"]
    assert (announced(plan), gone) == (Counter(), Counter())


@pytest.mark.parametrize("order", ORDERS)
def test_frontend_that_lacks_what_its_component_gets_from_its_graph_is_held(order: str) -> None:
    """Until its graph has changed the component, the pods are as the hook of components renders them."""
    world = left_with("1.0.2", {"Frontend": Difference(field="variable", way="removed", name="DYN_NAMESPACE_PREFIX")})
    plan, gone = take_over(world, order)
    assert the_step(plan, kinds.DEPLOYMENT, "llm-frontend").action is Action.HOLD
    assert (announced(plan), gone) == (Counter(), Counter())


def test_hold_ends_with_a_change_of_the_spec() -> None:
    world = left_with("1.5.0", {"Frontend": Difference(field="annotation", way="removed")})
    take_over(world, "controllers first")
    pods = world.pods()
    main = {"extraPodSpec": {"mainContainer": {"args": ["--changed"]}}}
    world.simulated.patch(contract.GRAPH, "llm", {"spec": {"services": {"Frontend": main}}}, NAMESPACE)
    world.simulated.run_for(120)
    assert replaced(pods, world.pods(), workloads_of(world)) == {"llm-frontend": 1}
    assert world.plan().steps == ()


def test_workload_as_we_render_it_is_neither_held_nor_announced() -> None:
    """The API server has filled in the templates of Deployments, and none of LeaderWorkerSets."""
    plan = left_with("1.5.0", {}).plan()
    assert {step.action for step in plan.steps if step.kind in {kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET}} == {
        Action.ADOPT
    }
    assert (plan.restarts, plan.starts, plan.stops) == (0, 0, 0)


@pytest.mark.parametrize(("kind", "action"), [(kinds.DEPLOYMENT, Action.ADOPT), (kinds.LEADER_WORKER_SET, Action.HOLD)])
def test_default_that_is_written_out_counts_where_nothing_fills_it_in(kind: object, action: Action) -> None:
    written = Difference(field="default", way="added")
    plan = left_with("1.5.0", {"Worker": written, "Group": written}).plan()
    named = [step for step in plan.steps if step.kind == kind and ("worker" in step.name or "group" in step.name)]
    assert named
    assert {step.action for step in named} == {action}
