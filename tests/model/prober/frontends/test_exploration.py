"""Frontends that change, fail and hang at random, and questions that do: what holds at each step."""

import random
from itertools import pairwise

import pytest

from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendEnd
from hooks.model.prober.frontends.record import AGREEING_SECONDS
from hooks.model.prober.frontends.watch import CALLS_OF_NAMESPACE
from hooks.wire.prober.frontends import SETTLED_SECONDS, FrontendQuestion, FrontendState
from tests.model.prober.frontends.world import REFUSED, World

NAMES = ("a", "b", "c", "lora")
LATE = FrontendAnswer(outcome=FrontendEnd.TIMEOUT, error="it did not answer within 2 s")
FAULTS = (None, None, None, REFUSED, LATE)


class Explored:
    """A world in which everything changes at random; `truths` are what each frontend listed, and since when."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = World(2, graphs=2, jitter=self.random.random())
        self.truths: dict[str, list[tuple[float, frozenset[str] | None]]] = {one: [] for one in self.world.frontends}
        self.questions = [self.world.question(graph) for graph in range(2)]

    def step(self) -> None:
        draw, world = self.random, self.world
        for frontend in world.frontends.values():
            if draw.random() < 0.3:
                frontend.models = {name for name in NAMES if draw.random() < 0.6}
                frontend.fault = draw.choice(FAULTS)
                frontend.seconds = 2.0 if frontend.fault is LATE else draw.choice((0.0, 0.1, 1.0))
                frontend.needs = {
                    name: ("decode",) for name in NAMES if name not in frontend.models and draw.random() < 0.5
                }
        for address, frontend in world.frontends.items():
            listed = frozenset(frontend.models) if frontend.fault is None else None
            self.truths[address].append((world.now, listed))
        if draw.random() < 0.5:
            graph = draw.randrange(2)
            expected = tuple(name for name in NAMES if draw.random() < 0.5)
            fields = {"expected": expected, "is_changing": draw.random() < 0.3}
            self.questions[graph] = world.question(graph, **fields)
            world.ask(self.questions[graph])
        world.run(draw.choice((0.5, 2.0, 7.0)), self.check)

    def check(self) -> None:
        assert self.world.most_calls <= CALLS_OF_NAMESPACE
        for question in self.questions:
            self._check_report(question)

    def _check_report(self, question: FrontendQuestion) -> None:
        found = self.world.watch.look_up(question.key, self.world.now)
        if found is None:
            return
        for entry in found[1].entries:
            if entry.state is not FrontendState.ANSWERED:
                assert (entry.models, entry.missing, entry.namespaces) == ((), (), ())
                assert bool(entry.error) is (entry.state is FrontendState.UNANSWERED)
                continue
            assert entry.models == tuple(sorted(set(entry.models)))
            assert {one.name for one in entry.missing} == set(question.expected) - set(entry.models)
            for name in entry.models:
                assert self._was_listed(entry.address, name), "a model is reported that was not listed for a long time"

    def _was_listed(self, address: str, name: str) -> bool:
        """Whether it was listed lately: in three periods at rest, and in three short ones while that is doubted."""
        since = self.world.now - 3 * 15.0 - 3 * 5.0 - 17.0 - SETTLED_SECONDS
        times = self.truths[address]
        return any(
            listed is not None and name in listed
            for (_, listed), (end, _) in pairwise([*times, (self.world.now, None)])
            if end >= since
        )


@pytest.mark.parametrize("seed", range(12))
def test_reports_hold_whatever_frontends_do(seed: int) -> None:
    explored = Explored(seed)
    for _ in range(120):
        explored.step()
    for frontend in explored.world.frontends.values():
        gaps = [round(after - before, 6) for before, after in pairwise(frontend.lists)]
        assert all(gap >= AGREEING_SECONDS for gap in gaps)
        assert all(sum(gaps[at : at + 6]) >= 10.0 for at in range(len(gaps) - 5)), "six in ten seconds at most"
        for name in NAMES:
            times = [at for at, asked in frontend.readies if asked == name]
            assert all(after - before >= 15.0 - 1e-6 for before, after in pairwise(times))


def test_settled_world_is_reported_as_it_is_and_not_named_again() -> None:
    explored = Explored(99)
    for _ in range(60):
        explored.step()
    world = explored.world
    for frontend in world.frontends.values():
        frontend.models, frontend.fault, frontend.seconds = {"a", "b"}, None, 0.0
    for _ in range(8):
        reports = [world.ask(world.question(graph, expected=("a",))) for graph in range(2)]
        world.run(20)
    for report in reports:
        assert {(one.models, one.missing, one.is_doubted) for one in report.entries} == {(("a", "b"), (), False)}
    world.run(60)
    assert world.changes() == ()
