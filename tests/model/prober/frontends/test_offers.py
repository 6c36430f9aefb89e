"""What a model's hook hears of the frontends that graphs' hooks ask about."""

from collections.abc import Iterator

import pytest

from hooks.model.prober.calls import CallOutcome, EngineAnswer
from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, EngineTarget, FrontendOffer, GraphOffer, LoadReport, LoadRequest
from hooks.server.prober.app import create_prober_app
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.frontend_dispatcher import FrontendDispatcher
from hooks.wire.prober.frontends import QUESTION_SECONDS, FrontendQuestion, FrontendTarget
from hooks.wire.prober.messages import read_message, write_message
from tests.model.prober.frontends.world import REFUSED, World
from tests.model.prober.test_dispatcher import wait_until

KEY = "default/g0"


def offers(world: World, model: str = "a") -> dict[str, bool] | None:
    """By frontend whether it offers the model; None if nothing is known of the graph."""
    found = world.watch.find_offer(KEY, model, world.now)
    return None if found is None else {one.pod: one.is_offered for one in found.frontends}


def asked(world: World) -> World:
    world.ask(world.question())
    world.run(0.1)
    return world


def test_nothing_is_known_of_a_graph_that_nobody_asks_about_or_that_has_not_answered() -> None:
    world = World()
    assert offers(world) is None
    world.frontend.fault = REFUSED
    assert offers(asked(world)) is None


def test_each_frontend_that_answers_counts_and_others_do_not() -> None:
    world = World(3)
    first, second, third = world.frontends.values()
    first.models, second.models, third.fault = {"a", "b"}, {"b"}, REFUSED
    assert offers(asked(world)) == {"f0": True, "f1": False}
    assert offers(world, "b") == {"f0": True, "f1": True}


def test_answer_has_its_age_and_says_how_the_frontends_choose() -> None:
    world = World()
    world.frontend.models = {"a"}
    world.ask(world.question(chooses_by_adapter=True))
    world.run(4)
    found = world.watch.find_offer(KEY, "a", world.now)
    assert found == GraphOffer(
        graph="g0", frontends=(FrontendOffer(pod="f0", is_offered=True, age=4.0),), chooses_by_adapter=True
    )


def test_list_that_is_cut_says_nothing_of_what_it_lacks() -> None:
    world = World()
    world.frontend.fault = FrontendAnswer(outcome=FrontendEnd.OK, models=("a", "b"), has_more=True)
    assert offers(asked(world)) == {"f0": True}
    assert offers(world, "z") is None


def test_frontend_that_lacks_the_adapter_is_asked_again_soon_and_never_more_often() -> None:
    world = asked(World())
    world.frontend.lists.clear()
    world.run(60, lambda: None)
    at_rest = len(world.frontend.lists)
    world.frontend.lists.clear()
    for _ in range(60):
        offers(world)
        world.run(1)
    assert at_rest <= 4 < len(world.frontend.lists) <= 12
    world.frontend.models = {"a"}
    world.run(6)
    assert offers(world) == {"f0": True}


def test_answer_and_question_that_are_too_old_are_none() -> None:
    world = World()
    world.frontend.models = {"a"}
    asked(world)
    world.frontend.fault = REFUSED
    world.run(60)
    assert offers(world) is None
    world.frontend.fault = None
    world.run(120)
    assert offers(world) == {"f0": True}
    world.run(QUESTION_SECONDS)
    assert offers(world) is None


WANTED = LoadRequest(
    namespace="default",
    name="m",
    adapter=Adapter(name="a", uri="s3://b/a"),
    targets=(EngineTarget(address="http://127.0.0.2:9090", pod="w0"),),
    graphs=("g", "unknown"),
)
QUESTION = FrontendQuestion(
    namespace="default", name="g", targets=(FrontendTarget(address="http://127.0.0.2:8000", pod="f0"),)
)


def list_base(_call: FrontendCall) -> FrontendAnswer:
    return FrontendAnswer(outcome=FrontendEnd.OK, models=("base",))


@pytest.fixture
def dispatchers() -> Iterator[tuple[Dispatcher, FrontendDispatcher]]:
    engines = Dispatcher(Limits(), lambda _call: EngineAnswer(outcome=CallOutcome.OK, names=frozenset({"a"})))
    frontends = FrontendDispatcher(list_base, lambda: engines.term, engines.metrics.registry)
    engines.start()
    frontends.start()
    yield engines, frontends
    frontends.stop()
    engines.stop()


def test_report_of_a_model_has_what_its_graphs_frontends_offer(
    dispatchers: tuple[Dispatcher, FrontendDispatcher],
) -> None:
    client = create_prober_app(*dispatchers).test_client()

    def report() -> LoadReport:
        return read_message(client.put("/v1/models/default/m", data=write_message(WANTED)).data, LoadReport)

    assert report().offers == ()
    dispatchers[1].ask(QUESTION)
    wait_until(lambda: bool(report().offers))
    (offer,) = report().offers
    assert (offer.graph, [(one.pod, one.is_offered) for one in offer.frontends]) == ("g", [("f0", False)])
