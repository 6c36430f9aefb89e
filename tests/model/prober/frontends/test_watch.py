"""When frontends are asked for what, and what is reported."""

import itertools

import pytest
from msgspec.structs import replace

from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendEnd
from hooks.model.prober.frontends.watch import CALLS_OF_NAMESPACE, MOST_CHANGES, MOST_GRAPHS, FrontendWatch
from hooks.model.prober.messages import Term
from hooks.model.prober.reconciler import NO_TERM, NotNow
from hooks.wire.prober.frontends import (
    LONGEST_AWAITED,
    QUESTION_SECONDS,
    ChangedGraph,
    FrontendEntry,
    FrontendQuestion,
    FrontendState,
    MissingModel,
    NamespaceReadiness,
)
from tests.model.prober.frontends.world import REFUSED, World


def rounds(world: World) -> list[float]:
    """Seconds between the lists that the first frontend was asked for."""
    lists = world.frontend.lists
    return [round(after - before, 2) for before, after in itertools.pairwise(lists)]


def test_first_question_asks_at_once_and_reports_what_came() -> None:
    world = World()
    world.frontend.models = {"b", "a"}
    question = world.question()
    assert world.ask(question).entries == (FrontendEntry(address="http://10.0.0.0:8000", pod="f0"),)
    world.run(0.1)
    entry = world.ask(question).entries[0]
    assert (entry.state, entry.models, entry.missing) == (FrontendState.ANSWERED, ("a", "b"), ())


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({}, 15.75),
        ({"expected": ("a",)}, 15.75),
        ({"is_changing": True}, 5.25),
        ({"namespaces": ("ns",)}, 5.25),
        ({"expected": ("x",)}, 5.25),
    ],
    ids=["rests", "all listed", "changes", "rolls", "lacks a model"],
)
def test_rounds_come_soon_while_something_changes(fields: dict[str, object], seconds: float) -> None:
    world = World()
    world.frontend.models = {"a"}
    world.ask(world.question(0, **fields))
    world.run(100)
    assert set(rounds(world)) == {seconds}


def test_questions_that_come_often_do_not_ask_more_often() -> None:
    world = World()
    for _ in range(300):
        world.ask(world.question(is_changing=True))
        world.run(0.2)
    assert min(rounds(world)) >= 5.0


def test_question_that_begins_to_change_is_not_left_for_the_rest() -> None:
    world = World()
    world.ask(world.question())
    world.run(6)
    world.ask(world.question(is_changing=True))
    world.run(0.1)
    assert rounds(world) == [6.0]


def test_a_model_that_goes_is_confirmed_before_it_is_reported() -> None:
    world = World()
    world.frontend.models = {"a", "b"}
    question = world.question()
    world.ask(question)
    world.run(10)
    world.frontend.models = {"a"}
    world.run(6)  # the second round has come
    first = world.ask(question).entries[0]
    assert (first.models, first.is_doubted) == (("a", "b"), True)
    world.run(3)
    assert rounds(world) == [15.75, 3.0]
    second = world.ask(question).entries[0]
    assert (second.models, second.is_doubted) == (("a",), False)


def test_one_no_between_two_yes_is_never_reported() -> None:
    world = World()
    world.frontend.models = {"a"}
    question = world.question()
    world.ask(question)
    world.run(10)
    world.frontend.models = set()
    world.run(6)
    world.frontend.models = {"a"}
    said: set[tuple[str, ...]] = set()
    world.run(30, lambda: said.add(world.entry(question).models))
    assert said == {("a",)}
    assert not world.entry(question).is_doubted


def test_a_frontend_whose_list_flaps_is_not_asked_more_often_for_it() -> None:
    world = World()
    world.ask(world.question())

    def flap() -> None:
        world.frontend.models = {f"m{len(world.frontend.lists)}"}

    world.run(120, flap)
    gaps = rounds(world)
    assert all(min(pair) >= 3.0 and max(pair) >= 5.0 for pair in itertools.pairwise(gaps))


def test_a_missing_model_is_asked_about_once_in_a_while() -> None:
    world = World()
    world.frontend.models = {"a"}
    world.frontend.needs = {"x": ("decode",)}
    question = world.question(expected=("a", "x", "y"))
    world.ask(question)
    world.run(0.1)
    assert world.entry(question).missing == (MissingModel(name="x", needs=("decode",)), MissingModel(name="y"))
    world.run(60)
    for name in ("x", "y"):
        times = [at for at, asked in world.frontend.readies if asked == name]
        assert len(times) > 3
        assert all(after - before >= 15.0 for before, after in itertools.pairwise(times))
    assert {name for _, name in world.frontend.readies} == {"x", "y"}


def test_many_missing_models_are_asked_about_in_turn() -> None:
    world = World()
    names = tuple(f"m{number:02}" for number in range(40))
    world.ask(world.question(expected=names))
    world.run(30)
    assert {name for _, name in world.frontend.readies} == set(names)
    for at in set(world.frontend.lists):
        assert sum(at <= asked < at + 1 for asked, _ in world.frontend.readies) <= 8


def test_namespaces_are_told_of_a_listed_model_in_each_round() -> None:
    world = World()
    world.frontend.models = {"a", "b"}
    world.frontend.ready = {"old": True, "new": False, "other": True}
    question = world.question(expected=("b",), namespaces=("old", "new"))
    world.ask(question)
    world.run(0.1)
    assert world.entry(question).namespaces == (
        NamespaceReadiness(namespace="old", model="b", is_ready=True),
        NamespaceReadiness(namespace="new", model="b", is_ready=False),
    )
    world.frontend.ready["new"] = True
    world.run(6)
    assert [one.is_ready for one in world.entry(question).namespaces] == [True, True]
    assert {name for _, name in world.frontend.readies} == {"b"}


def test_a_release_that_cannot_tell_namespaces_is_asked_seldom() -> None:
    world = World()
    world.frontend.models, world.frontend.has_ready = {"a"}, False
    question = world.question(namespaces=("new",))
    world.ask(question)
    world.run(61)
    assert world.entry(question).namespaces == ()
    assert len(world.frontend.readies) <= 5
    assert len(world.frontend.lists) >= 11


def test_first_failure_is_reported_at_once() -> None:
    world = World()
    world.frontend.fault = REFUSED
    question = world.question()
    world.ask(question)
    world.run(0.1)
    entry = world.entry(question)
    assert (entry.state, entry.error) == (FrontendState.UNANSWERED, "it refuses connections")


@pytest.mark.parametrize(("fields", "seconds"), [({}, 45.0), ({"is_changing": True}, 15.0)], ids=["rests", "changes"])
def test_answer_is_believed_for_three_periods(fields: dict[str, object], seconds: float) -> None:
    world = World()
    world.frontend.models = {"a"}
    question = world.question(0, **fields)
    world.ask(question)
    world.run(0.1)
    world.frontend.fault = REFUSED
    world.run(seconds - 0.2)
    assert world.entry(question).models == ("a",)
    world.run(6)
    entry = world.entry(question)
    assert (entry.state, entry.models, entry.error) == (FrontendState.UNANSWERED, (), "it refuses connections")
    assert world.changes() == (ChangedGraph(namespace="default", name="g0"),)


def test_answer_that_was_too_old_is_not_doubted_by_the_next_one() -> None:
    world = World()
    world.frontend.models = {"a"}
    question = world.question()
    world.ask(question)
    world.run(0.1)
    world.frontend.fault = REFUSED
    world.run(60)
    world.frontend.fault, world.frontend.models = None, {"b"}
    world.run(16)
    assert (world.entry(question).models, world.entry(question).is_doubted) == (("b",), False)


def test_frontend_that_never_answers_is_asked_less_and_less_often() -> None:
    world = World()
    world.frontend.fault = FrontendAnswer(outcome=FrontendEnd.TIMEOUT, error="it did not answer within 2 s")
    world.frontend.seconds = 2.0
    for _ in range(30):
        world.ask(world.question(is_changing=True))
        world.run(30)
    gaps = rounds(world)
    assert (gaps[0], gaps[-1]) == (5.25, 63.0)
    world.frontend.fault, world.frontend.seconds = None, 0.0
    world.run(63)
    assert world.entry(world.question()).state is FrontendState.ANSWERED


def test_frontends_end_to_be_asked_some_time_after_the_last_question() -> None:
    world = World()
    world.ask(world.question())
    world.run(QUESTION_SECONDS + 100)
    assert world.frontend.lists[-1] <= 100.0 + QUESTION_SECONDS
    assert world.watch.keys(world.now) == []
    assert world.watch.next_due(world.now) is None


def test_new_target_is_asked_at_once_and_an_old_one_no_more() -> None:
    world = World(2)
    question = world.question()
    first, second = question.targets
    world.ask(replace(question, targets=(first,)))
    world.run(1)
    world.ask(replace(question, targets=(second,)))
    world.run(60)
    asked = {address: one.lists for address, one in world.frontends.items()}
    assert (asked[first.address], asked[second.address][0]) == ([100.0], 101.0)


@pytest.mark.parametrize("change", [{"pod": "other"}, {"path": "/x/models"}], ids=["pod", "path"])
def test_another_pod_or_path_at_the_address_is_another_target(change: dict[str, str]) -> None:
    world = World()
    world.frontend.models = {"a"}
    question = world.question()
    world.ask(question)
    world.run(1)
    report = world.ask(replace(question, targets=(replace(question.targets[0], **change),)))
    assert report.entries[0].state is FrontendState.UNASKED


def test_another_graph_of_that_name_begins_anew() -> None:
    world = World()
    world.ask(world.question(uid="1"))
    world.run(1)
    assert world.ask(world.question(uid="2")).entries[0].state is FrontendState.UNASKED


def test_changed_graph_is_named_until_it_is_asked_about() -> None:
    world = World()
    question = world.question(uid="u")
    changed = (ChangedGraph(namespace="default", name="g0", uid="u"),)
    world.ask(question)
    assert world.changes() == ()
    world.run(0.1)
    assert world.changes() == changed
    assert world.changes() == ()
    world.run(10)
    assert world.changes() == changed
    world.ask(question)
    world.run(60)
    assert world.changes() == ()


def test_graph_that_is_again_as_it_was_returned_is_not_named() -> None:
    world = World()
    world.frontend.models = {"a"}
    question = world.question()
    world.run(0.1)
    world.ask(question)
    world.run(0.1)
    world.ask(question)
    world.frontend.models = {"a", "b"}
    world.run(16)
    world.frontend.models = {"a"}
    world.run(20)
    assert world.changes() == ()


def test_only_so_many_changed_graphs_are_named_at_one_time() -> None:
    world = World(graphs=100)
    for graph in range(100):
        world.ask(world.question(graph, namespace=f"n{graph}"))
    world.run(1)
    named = [len(world.changes()) for _ in range(3)]
    assert named == [MOST_CHANGES, 100 - MOST_CHANGES, 0]


def test_one_namespace_with_frontends_that_hang_does_not_hold_up_others() -> None:
    world = World(32, graphs=11)
    for address, frontend in world.frontends.items():
        if not address.startswith("http://10.10."):
            frontend.seconds = 2.0
            frontend.fault = FrontendAnswer(outcome=FrontendEnd.TIMEOUT, error="it did not answer within 2 s")
    for graph in range(10):
        world.ask(world.question(graph, is_changing=True))
    world.run(1)
    assert world.most_calls == CALLS_OF_NAMESPACE
    world.ask(world.question(10, namespace="other"))
    world.run(2)
    assert all(frontend.lists for address, frontend in world.frontends.items() if address.startswith("http://10.10."))


def test_only_so_many_graphs_are_remembered() -> None:
    watch = FrontendWatch()
    for number in range(MOST_GRAPHS + 2):
        watch.ask(FrontendQuestion(namespace="default", name=f"g{number}"), 1.0)
        watch.ask(FrontendQuestion(namespace="default", name="g0"), 1.0)
    keys = watch.keys(1.0)
    assert len(keys) == MOST_GRAPHS
    assert "default/g0" in keys
    assert "default/g1" not in keys


def test_prober_asks_only_during_its_term_and_forgets_what_was_before() -> None:
    world = World()
    world.frontend.models = {"a"}
    world.watch.set_term(NO_TERM)
    with pytest.raises(NotNow):
        world.ask(world.question())
    world.watch.set_term(Term(number=1, until=200.0))
    world.ask(world.question())
    world.run(150)
    assert world.frontend.lists[-1] < 200.0
    with pytest.raises(NotNow):
        world.ask(world.question())
    assert world.changes() == ()
    world.watch.set_term(Term(number=2, until=400.0))
    assert world.ask(world.question()).entries[0].state is FrontendState.UNASKED


def test_renewed_term_keeps_what_is_known() -> None:
    world = World()
    world.watch.set_term(Term(number=1, until=200.0))
    world.ask(world.question())
    world.run(1)
    world.watch.set_term(Term(number=1, until=300.0))
    assert world.ask(world.question()).entries[0].state is FrontendState.ANSWERED


def test_awaited_answer_is_asked_for_very_often_for_a_moment_only() -> None:
    world = World()
    world.ask(world.question(expected=("m",)))
    world.run(1)
    question = world.question(expected=("m",), is_awaited=True)
    world.ask(question)
    world.run(LONGEST_AWAITED - 1)
    eager = len(world.frontend.lists)
    assert 14 <= eager <= 21, "about one a second"
    world.run(100)
    assert len(world.frontend.lists) - eager <= 22, "then once in five seconds"
    world.ask(question)
    world.run(10)
    assert len(world.frontend.lists) - eager <= 24, "it has begun to be awaited long ago"


def test_awaited_answer_that_has_come_is_asked_for_as_seldom_as_others() -> None:
    world = World()
    world.frontend.models = {"m"}
    world.ask(world.question(expected=("m",), is_awaited=True))
    world.run(16)
    assert len(world.frontend.lists) <= 3


def test_change_after_a_question_is_named_although_one_before_was() -> None:
    world = World()
    question = world.question(is_awaited=True)
    world.ask(question)
    world.run(0.1)
    assert world.changes(), "the first answer"
    world.ask(question)
    world.frontend.models = {"m"}
    world.run(2)
    assert world.changes()


def test_lists_of_a_graphs_frontends_are_compared_only_if_they_are_of_one_time() -> None:
    """An adapter is loaded: at rest, one frontend would be asked 15 s after the other."""
    world = World(frontends=2, jitter=0.9)
    first, second = world.frontends.values()
    first.models = second.models = {"m"}
    question = world.question(expected=("m",))
    world.ask(question)
    world.run(20)
    first.models = {"m", "adapter"}
    differed: list[float] = []

    def look() -> None:
        found = world.watch.look_up(question.key, world.now)
        assert found is not None
        one, other = found[1].entries
        if one.models != other.models:
            second.models = {"m", "adapter"}  # since a moment ago, as its list is older
            differed.append(world.now)
            assert other.is_doubted

    world.run(40, look)
    assert differed
    assert differed[-1] - differed[0] < 3, "the other one is asked soon"
    assert not any(one.is_doubted for one in world.ask(question).entries)


def test_frontend_that_keeps_another_list_is_no_longer_doubted_once_it_was_asked_again() -> None:
    world = World(frontends=2)
    first, second = world.frontends.values()
    first.models = second.models = {"m"}
    question = world.question(expected=("m",))
    world.ask(question)
    world.run(20)
    first.models = {"m", "other"}
    world.run(20)
    one, other = world.ask(question).entries
    assert (one.models, other.models) == (("m", "other"), ("m",))
    assert not one.is_doubted
    assert not other.is_doubted
