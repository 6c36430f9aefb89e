"""Edits, scaling, restarts and failures of pods as hypothesis chooses them; what fails is shrunk to what matters.

The invariants are those of the seeded sequences. `--steps` gives more examples here too.
"""

from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from hooks.ground import contract
from hooks.tools.offline.simulator.workloads.pods import PodFault
from tests.sequences import disturbances
from tests.sequences.invariants import INVARIANTS
from tests.sequences.rest import check_nothing_left, check_rest, come_to_rest
from tests.sequences.sequence import delete_graph
from tests.sequences.test_lies import say_ready, teach
from tests.sequences.wishes import MAX_REPLICAS, ROADS
from tests.sequences.world import NAMESPACE, Violation, World

STEPS_OF_EXAMPLE = 2_500
"""About so many steps of the seeded sequences go with one example of the machine."""

BOUNDS = settings(
    stateful_step_count=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
CHANCES = st.integers(0, 3).map(Random)
GLOBS = st.sampled_from(["g-*", "*frontend*", "*worker*"])
INNOCENT = st.sampled_from(
    [
        disturbances.repeat_events,
        disturbances.break_watches,
        disturbances.restart_hooks,
        disturbances.restart_metacontroller,
        disturbances.lose_calls,
        disturbances.lose_effects,
        disturbances.lose_node,
        disturbances.wait,
        disturbances.wipe_status,
        disturbances.change_registry_secrets,
    ]
)


class Cluster(RuleBasedStateMachine):
    """A graph in a cluster; every rule is one disturbance, or work for a while in an order of hypothesis' choice."""

    world: World

    @initialize(road=st.sampled_from(sorted(ROADS)))
    def begin(self, road: str) -> None:
        self.world = World(ROADS[road], 0, INVARIANTS)
        self.world.choose = partial(_take, 0)
        self.prepare()
        self.world.disturb("creation", disturbances.write_graph)

    def prepare(self) -> None:
        """Change the world before anything happens."""

    @rule(order=st.lists(st.integers(0, 11), min_size=1, max_size=40))
    def work(self, order: list[int]) -> None:
        for number in order:
            self.world.choose = partial(_take, number)
            self.world.step()

    @rule()
    def settle(self) -> None:
        """Until nothing is to be done now; what fails or waits may still be so."""
        while self.world.work():
            pass

    @precondition(lambda self: self.world.is_valid)
    @rule(data=st.data(), rng=CHANCES)
    def edit(self, data: st.DataObject, rng: Random) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.road.edits)))
        self.do(lambda world: disturbances.edit_graph(world, name), rng)

    @precondition(lambda self: self.world.is_valid)
    @rule(data=st.data(), rng=CHANCES)
    def make_mistake(self, data: st.DataObject, rng: Random) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.road.breaks)))
        self.do(lambda world: disturbances.break_graph(world, name), rng)

    @precondition(lambda self: not self.world.is_valid)
    @rule()
    def mend(self) -> None:
        self.world.disturb("mend", disturbances.mend_graph)

    @precondition(lambda self: self.world.list_kind(contract.SCALING_ADAPTER))
    @rule(replicas=st.integers(0, MAX_REPLICAS))
    def scale(self, replicas: int) -> None:
        name = self.world.list_kind(contract.SCALING_ADAPTER)[0]["metadata"]["name"]

        def act(world: World) -> str:
            world.cluster.patch(contract.SCALING_ADAPTER, name, {"spec": {"replicas": replicas}}, NAMESPACE)
            return f"{name} to {replicas}"

        self.world.disturb("autoscaler", act)

    @rule(glob=GLOBS, fault=st.sampled_from(sorted(PodFault)))
    def break_pods(self, glob: str, fault: PodFault) -> None:
        self.world.disturb("failing-pods", lambda world: disturbances.give_fault(world, glob, fault))

    @precondition(lambda self: self.world.broken)
    @rule(rng=CHANCES)
    def cure(self, rng: Random) -> None:
        self.do(disturbances.cure_pods, rng)

    @rule(act=INNOCENT, rng=CHANCES)
    def disturb(self, act: Callable[[World], str], rng: Random) -> None:
        self.do(act, rng)

    def do(self, act: Callable[[World], str], rng: Random) -> None:
        """Have a disturbance draw from these numbers, which shrink as all of an example does."""
        self.world.rng = rng
        self.world.disturb(getattr(act, "__name__", "edit"), act)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.world.choose = Random(0).randrange
        disturbances.calm(self.world)
        come_to_rest(self.world)
        check_rest(self.world)
        self.world.disturb("deletion", delete_graph)
        come_to_rest(self.world)
        check_nothing_left(self.world)


def test_invariants_hold_in_whatever_hypothesis_thinks_of(request: pytest.FixtureRequest) -> None:
    steps: int = request.config.getoption("--steps")
    run_state_machine_as_test(Cluster, settings=settings(BOUNDS, max_examples=max(5, steps // STEPS_OF_EXAMPLE)))


def test_machine_objects_to_a_graph_that_is_always_ready() -> None:
    class Lying(Cluster):
        def prepare(self) -> None:
            teach(self.world, "graph", say_ready)

    with pytest.raises(Violation, match="Ready"):
        run_state_machine_as_test(Lying, settings=settings(BOUNDS, max_examples=20, phases=(Phase.generate,)))


def _take(number: int, count: int) -> int:
    return number % count
