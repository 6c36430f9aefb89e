"""The prober's decisions on a made-up clock: sequences of requests, lists, loads, losses and unloads."""

import msgspec
import pytest

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, Term
from hooks.model.prober.reconciler import NO_TERM, NotNow, Reconciler
from tests.model.prober.world import LIMITS, A, B, World

OTHER = Adapter(name="b", uri="s3://b/b")
DOWN = EngineAnswer(outcome=CallOutcome.UNREACHABLE, message="Connection refused")
SLOW = EngineAnswer(outcome=CallOutcome.TIMEOUT, message="no answer within 3 s")
FAILED = EngineAnswer(outcome=CallOutcome.FAILED, message="HTTP 500: boom")
NOT_FOUND = EngineAnswer(outcome=CallOutcome.TERMINAL, message="HTTP 404: no such source")
NO_LORA = EngineAnswer(outcome=CallOutcome.UNSUPPORTED, message="LoRA management not available")
NO_LIST = EngineAnswer(outcome=CallOutcome.NO_LIST)


def test_first_report_is_unknown_and_starting() -> None:
    report = World(2).ask(World(2).request())
    assert report.starting
    assert [entry.phase for entry in report.endpoints] == [AdapterPhase.UNKNOWN, AdapterPhase.UNKNOWN]


def test_missing_adapter_is_loaded_and_verified() -> None:
    world = World()
    world.ask(world.request())
    world.run(1)
    entry = world.one(world.request())
    assert (entry.phase, entry.attempts, entry.source, entry.last_error) == (AdapterPhase.LOADED, 1, A.uri, "")
    assert world.engine.asked == {EngineAction.LIST: 2, EngineAction.LOAD: 1}
    assert not world.ask(world.request()).starting


def test_adapter_that_is_there_by_the_status_is_not_loaded_again() -> None:
    world = World()
    world.engine.held["a"] = A.uri
    world.run_asking(60, world.request(recorded=A.uri))
    assert world.one(world.request()).phase is AdapterPhase.LOADED
    assert world.engine.asked[EngineAction.LOAD] == 0
    assert 10 <= world.engine.asked[EngineAction.LIST] <= 14


@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.999])
def test_lost_adapter_is_back_within_ten_seconds(jitter: float) -> None:
    world = World(jitter=jitter)
    world.run_asking(20, world.request())
    world.engine.held.clear()
    entry = world.run_asking(10, world.request())
    assert entry.phase is AdapterPhase.LOADED
    assert world.engine.held == {"a": A.uri}
    losses = [change for change in world.changes if change.is_loss]
    assert len(losses) == 1
    assert losses[0].seconds <= 6


@pytest.mark.parametrize("jitter", [0.0, 0.5, 0.999])
def test_restarted_engine_has_its_adapter_back_within_ten_seconds(jitter: float) -> None:
    world = World(jitter=jitter)
    world.run_asking(20, world.request())
    world.engine.held.clear()
    world.engine.answers = dict.fromkeys(EngineAction, DOWN)
    entry = world.run_asking(60, world.request())
    assert (entry.phase, entry.last_error) == (AdapterPhase.RETRYING, "Connection refused")
    world.engine.answers = {}
    assert world.run_asking(10, world.request()).phase is AdapterPhase.LOADED


def test_engine_that_keeps_dropping_an_adapter_is_reloaded_less_often() -> None:
    """Two adapters and room for one: each load drives the other out."""
    world = World(jitter=0.999)
    world.engine.room = 1
    requests = [world.request(), world.request(OTHER, name="n")]
    for _ in range(600):
        for request in requests:
            world.ask(request)
        world.run(1)
    assert world.engine.asked[EngineAction.LOAD] < 40
    worst = max((world.one(request) for request in requests), key=lambda entry: entry.last_error)
    assert "dropped the adapter" in worst.last_error
    world.engine.room = 2
    for _ in range(130):
        for request in requests:
            world.ask(request)
        world.run(1)
    assert [world.one(request).phase for request in requests] == [AdapterPhase.LOADED, AdapterPhase.LOADED]


def test_engine_that_listed_before_is_not_believed_without_a_list() -> None:
    world = World()
    world.run_asking(20, world.request())
    world.engine.answers, world.engine.held = {EngineAction.LIST: NO_LIST}, {}
    entry = world.run_asking(30, world.request())
    assert (entry.phase, entry.last_error) == (
        AdapterPhase.RETRYING,
        "the engine listed its adapters before and does not now",
    )
    world.engine.answers = {}
    assert world.run_asking(10, world.request()).phase is AdapterPhase.LOADED
    assert world.engine.held == {"a": A.uri}


def test_one_failed_list_does_not_make_an_adapter_unready() -> None:
    world = World()
    world.run_asking(20, world.request())
    world.engine.answers = {EngineAction.LIST: FAILED}
    world.run(5)
    assert world.one(world.request()).phase is AdapterPhase.LOADED
    assert world.run_asking(15, world.request()).phase is AdapterPhase.RETRYING


def test_engine_that_says_success_and_does_not_list_is_not_ready() -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: EngineAnswer(outcome=CallOutcome.OK)}
    entry = world.run_asking(60, world.request())
    assert entry.phase is AdapterPhase.RETRYING
    assert entry.last_error == "the engine accepted the load and does not list the adapter"
    assert 3 <= entry.attempts <= 8


def test_passing_failure_is_tried_again_with_growing_pauses() -> None:
    world = World(jitter=0.999)
    world.engine.answers = {EngineAction.LOAD: FAILED}
    counts = []
    for _ in range(10):
        world.run_asking(60, world.request())
        counts.append(world.engine.asked[EngineAction.LOAD])
    assert counts[0] >= 5
    assert counts[9] - counts[5] <= 4
    assert world.one(world.request()).last_error == "HTTP 500: boom"
    world.engine.answers = {}
    assert world.run_asking(125, world.request()).phase is AdapterPhase.LOADED


@pytest.mark.parametrize(
    ("answers", "phase", "attempts"),
    [
        ({EngineAction.LOAD: NOT_FOUND}, AdapterPhase.FAILED, 1),
        ({EngineAction.LOAD: NO_LORA, EngineAction.LIST: NO_LIST}, AdapterPhase.UNSUPPORTED, 1),
        ({EngineAction.LOAD: NO_LORA}, AdapterPhase.UNSUPPORTED, 6),
    ],
    ids=["no source", "no LoRA", "a list and no LoRA"],
)
def test_final_failure_waits_for_a_new_spec(
    answers: dict[EngineAction, EngineAnswer], phase: AdapterPhase, attempts: int
) -> None:
    world = World()
    world.engine.answers = dict(answers)
    entry = world.run_asking(300, world.request())
    assert (entry.phase, entry.last_error, entry.attempts) == (phase, answers[EngineAction.LOAD].message, attempts)
    assert world.engine.asked[EngineAction.LOAD] == attempts
    world.engine.answers = {}
    assert world.run_asking(10, world.request(generation=2)).phase is AdapterPhase.LOADED


def test_refused_load_is_tried_again_rarely_and_succeeds_once_the_source_is_there() -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: NOT_FOUND}
    world.run_asking(1000, world.request())
    assert world.engine.asked[EngineAction.LOAD] == 4
    assert world.phases() == [AdapterPhase.PENDING, AdapterPhase.FAILED] * 4
    world.engine.answers = {}
    assert world.run_asking(320, world.request()).phase is AdapterPhase.LOADED


def test_restarted_prober_tries_a_refused_load_again_only_after_the_pause() -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: NOT_FOUND}
    for _ in range(4):
        world.run_asking(100, world.request(failed="HTTP 404: no such source"))
        world.restart_prober()
    assert world.engine.asked[EngineAction.LOAD] == 0
    world.run_asking(310, world.request(failed="HTTP 404: no such source"))
    assert world.engine.asked[EngineAction.LOAD] == 1


def test_restarted_prober_knows_a_final_failure_from_the_status() -> None:
    world = World()
    entry = world.run_asking(60, world.request(failed="HTTP 404: no such source"))
    assert (entry.phase, entry.last_error) == (AdapterPhase.FAILED, "HTTP 404: no such source")
    assert world.engine.asked[EngineAction.LOAD] == 0
    assert world.run_asking(10, world.request(generation=2)).phase is AdapterPhase.LOADED


def test_engine_that_registers_its_handlers_one_by_one_is_retried() -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: NO_LORA}
    entry = world.run_asking(5, world.request())
    assert entry.phase is AdapterPhase.RETRYING
    assert entry.last_error == "LoRA management not available; the engine may be starting"
    world.engine.answers = {}
    assert world.run_asking(30, world.request()).phase is AdapterPhase.LOADED


def test_worker_without_lora_is_not_asked_to_load_until_it_has() -> None:
    world = World()
    world.engine.answers = {EngineAction.LIST: NO_LORA}
    entry = world.run_asking(60, world.request())
    assert (entry.phase, entry.last_error) == (AdapterPhase.UNSUPPORTED, NO_LORA.message)
    assert world.engine.asked[EngineAction.LOAD] == 0
    world.engine.answers = {}
    assert world.run_asking(10, world.request()).phase is AdapterPhase.LOADED


def test_engine_that_cannot_list_is_believed_and_marked() -> None:
    world = World()
    world.engine.answers = {EngineAction.LIST: NO_LIST}
    entry = world.run_asking(60, world.request())
    assert (entry.phase, entry.source) == (AdapterPhase.UNVERIFIED, A.uri)
    assert world.engine.asked[EngineAction.LOAD] == 1


def test_restarted_prober_believes_the_status_about_an_engine_that_cannot_list() -> None:
    world = World()
    world.engine.answers = {EngineAction.LIST: NO_LIST}
    entry = world.run_asking(20, world.request(recorded=A.uri))
    assert (entry.phase, world.engine.asked[EngineAction.LOAD]) == (AdapterPhase.UNVERIFIED, 0)


def test_engine_that_cannot_list_is_loaded_again_after_it_was_down() -> None:
    world = World()
    world.engine.answers = {EngineAction.LIST: NO_LIST}
    world.run_asking(10, world.request())
    world.engine.answers = dict.fromkeys(EngineAction, DOWN)
    assert world.run_asking(30, world.request()).phase is AdapterPhase.RETRYING
    world.engine.answers = {EngineAction.LIST: NO_LIST}
    assert world.run_asking(10, world.request()).phase is AdapterPhase.UNVERIFIED
    assert world.engine.asked[EngineAction.LOAD] == 2


def test_new_source_unloads_the_old_adapter_first() -> None:
    world = World()
    world.run_asking(10, world.request(A))
    entry = world.run_asking(10, world.request(B, generation=2))
    assert (entry.phase, entry.source) == (AdapterPhase.LOADED, B.uri)
    assert world.engine.held == {"a": B.uri}


def test_restarted_prober_knows_the_old_source_from_the_status() -> None:
    world = World()
    world.engine.held["a"] = A.uri
    world.run_asking(10, world.request(B, recorded=A.uri))
    assert world.engine.held == {"a": B.uri}


def test_adapter_of_unknown_source_is_a_strangers_and_loaded_anew() -> None:
    world = World()
    world.engine.held["a"] = A.uri
    assert world.run_asking(10, world.request(B)).phase is AdapterPhase.LOADED
    assert world.engine.held == {"a": B.uri}
    assert (world.engine.asked[EngineAction.UNLOAD], world.engine.asked[EngineAction.LOAD]) == (1, 1)


def test_adapter_that_comes_back_by_another_hand_is_a_strangers_too() -> None:
    world = World()
    world.run_asking(10, world.request(B))
    world.engine.held.clear()
    world.engine.answers = {EngineAction.LOAD: NOT_FOUND}
    world.run_asking(10, world.request(B))
    world.engine.held["a"] = A.uri
    entry = world.run_asking(20, world.request(B))
    assert (entry.phase, entry.last_error) == (AdapterPhase.FAILED, NOT_FOUND.message)


def test_load_that_another_prober_may_have_sent_counts_as_the_wanted_one() -> None:
    world = World()
    world.engine.held["a"] = A.uri
    assert world.run_asking(10, world.request(A, loading=A.uri)).phase is AdapterPhase.LOADED
    assert world.engine.asked[EngineAction.LOAD] == 0


def test_what_the_status_says_counts_only_while_the_prober_knows_nothing() -> None:
    world = World()
    world.run_asking(10, world.request(B))
    world.engine.held.clear()
    world.run(5)
    world.run_asking(10, world.request(B, generation=2, recorded=A.uri, failed="HTTP 404", loading=A.uri))
    assert (world.engine.held, world.engine.asked[EngineAction.LOAD]) == ({"a": B.uri}, 2)


def test_adapter_is_loaded_only_once_the_status_names_it() -> None:
    world = World()
    ahead = msgspec.structs.replace(world.request(), is_recorded=False)
    assert world.run_asking(20, ahead).phase is AdapterPhase.PENDING
    assert world.engine.asked[EngineAction.LOAD] == 0
    assert world.engine.asked[EngineAction.LIST] > 1
    assert world.run_asking(1, world.request(), every=1).phase is AdapterPhase.LOADED


def test_old_adapter_is_unloaded_only_once_the_status_names_the_new_one() -> None:
    world = World()
    world.run_asking(10, world.request(A))
    ahead = msgspec.structs.replace(world.request(B, generation=2), is_recorded=False)
    assert world.run_asking(10, ahead).phase is AdapterPhase.PENDING
    assert world.engine.held == {"a": A.uri}


def test_outdated_request_is_refused_and_changes_nothing() -> None:
    world = World()
    world.run_asking(10, world.request(B, generation=2))
    with pytest.raises(NotNow, match="generation 1 is outdated: the prober knows generation 2"):
        world.ask(world.request(A, generation=1))
    world.run(10)
    assert world.engine.held == {"a": B.uri}
    assert world.run_asking(10, world.request(A, generation=1, uid="another object")).phase is AdapterPhase.LOADED


def test_prober_acts_only_during_its_term() -> None:
    world = World()
    prober = world.probers[0] = Reconciler(LIMITS, NO_TERM)
    with pytest.raises(NotNow, match="does not act now"):
        world.ask(world.request())
    prober.set_term(Term(number=5, until=world.now + 10))
    world.run_asking(9, world.request(), every=3)
    world.engine.held.clear()
    world.run(20)
    asked = dict(world.engine.asked)
    assert world.engine.held == {}, "the term was over when the loss could be noticed"
    assert prober.next_due(world.now) is None
    prober.set_term(Term(number=5, until=world.now + 12))
    assert world.run_asking(10, world.request()).phase is AdapterPhase.LOADED
    assert world.engine.asked[EngineAction.LOAD] == asked[EngineAction.LOAD] + 1


def test_term_that_ended_never_begins_again() -> None:
    world = World()
    prober = world.probers[0] = Reconciler(LIMITS, NO_TERM)
    prober.set_term(Term(number=5, until=world.now + 100))
    world.ask(world.request())
    prober.set_term(Term(number=5))
    assert not prober.is_acting(world.now)
    for number in (4, 5):
        with pytest.raises(NotNow, match=f"term {number} of this prober has ended"):
            prober.set_term(Term(number=number, until=world.now + 100))
    prober.set_term(Term(number=6, until=world.now + 100))
    assert prober.keys(world.now) == [], "what was learnt in another term is forgotten"


def test_answer_to_a_call_of_another_term_changes_nothing() -> None:
    world = World()
    prober = world.probers[0] = Reconciler(LIMITS, NO_TERM)
    prober.set_term(Term(number=1, until=1e9))
    world.engine.seconds[EngineAction.LOAD] = 5
    world.run_asking(1, world.request(A), every=1)
    prober.set_term(Term(number=1))
    prober.set_term(Term(number=3, until=1e9))
    world.engine.seconds[EngineAction.LOAD] = 0.01
    entry = world.run_asking(20, world.request(B, generation=2, loading=A.uri))
    assert (entry.phase, world.engine.held) == (AdapterPhase.LOADED, {"a": B.uri})


def test_engine_that_lists_another_name_is_not_asked_for_ever() -> None:
    world = World()
    world.engine.renames = {"a": "A-1"}
    entry = world.run_asking(700, world.request())
    assert (entry.phase, entry.attempts) == (AdapterPhase.FAILED, 1)
    assert entry.last_error.startswith("after the load the engine lists another name than spec.modelName")
    assert world.engine.asked[EngineAction.LOAD] == 1
    assert world.engine.held == {}, "the other name is unloaded again"
    assert world.run_asking(10, world.request(None, former=("a",))).phase is AdapterPhase.UNLOADED


def test_source_that_changes_during_a_load_wins_in_the_end() -> None:
    world = World()
    world.engine.seconds[EngineAction.LOAD] = 20
    world.ask(world.request(A))
    world.run(5)
    world.run_asking(60, world.request(B, generation=2))
    assert world.engine.held == {"a": B.uri}
    assert world.engine.most_at_once == 1


@pytest.mark.parametrize("listed_at", ["late", "never"])
def test_load_that_outlives_its_call_is_not_taken_for_the_new_source(listed_at: str) -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: SLOW}
    world.run_asking(5, world.request())
    if listed_at == "late":
        world.engine.held = {"a": A.uri}  # the engine went on with the load after the call had ended
    world.engine.answers = {}
    entry = world.run_asking(20, world.request(B, generation=2))
    assert (entry.phase, entry.source) == (AdapterPhase.LOADED, B.uri)
    assert world.engine.held == {"a": B.uri}


def test_old_load_is_not_forgotten_where_the_new_one_outlives_its_call_too() -> None:
    world = World(limits=Limits(load_timeout=3))
    world.engine.seconds, world.engine.answers = {EngineAction.LOAD: 3}, {EngineAction.LOAD: SLOW}
    world.run_asking(2, world.request(), every=1)
    world.run_asking(4, world.request(B, generation=2), every=1)
    assert world.engine.asked[EngineAction.LOAD] == 2
    world.engine.held = {"a": A.uri}
    world.engine.seconds, world.engine.answers = {}, {}
    entry = world.run_asking(20, world.request(B, generation=2))
    assert (entry.phase, world.engine.held) == (AdapterPhase.LOADED, {"a": B.uri})


def test_load_that_arrives_beside_the_new_one_is_undone() -> None:
    """The old load ends before the next list, and the engine keeps the first source."""
    world = World()
    world.engine.answers = {EngineAction.LOAD: SLOW}
    world.run_asking(5, world.request())
    world.engine.answers, world.engine.held = {EngineAction.LIST: EngineAnswer(outcome=CallOutcome.OK)}, {"a": A.uri}
    world.run_asking(1, world.request(B, generation=2), every=1)
    world.engine.answers = {}
    entry = world.run_asking(30, world.request(B, generation=2))
    assert (entry.phase, world.engine.held) == (AdapterPhase.LOADED, {"a": B.uri})


def test_second_late_load_after_the_unload_is_not_taken_for_the_new_source() -> None:
    """Two probers before this one had sent a load of the old source; the second comes between unload and new load."""
    world = World()
    world.engine.held = {"a": A.uri}
    world.engine.seconds = {EngineAction.LOAD: 3}
    world.run_asking(1, world.request(B, loading=A.uri), every=1)
    assert (world.engine.held, world.engine.under_way) == ({}, 1)
    world.engine.held = {"a": A.uri}
    entry = world.run_asking(20, world.request(B))
    assert (entry.phase, world.engine.held) == (AdapterPhase.LOADED, {"a": B.uri})


def test_second_late_load_of_the_listed_source_is_not_taken_for_a_new_one() -> None:
    """Two probers before this one had sent a load of the same source; the second comes after the source changed."""
    world = World()
    world.engine.held = {"a": A.uri}
    entry = world.run_asking(2, world.request(loading=A.uri), every=1)
    assert (entry.phase, entry.source) == (AdapterPhase.LOADED, "")  # the next prober must not take it for settled
    world.engine.seconds = {EngineAction.LOAD: 3}
    world.run_asking(1, world.request(B, generation=2), every=1)
    assert world.engine.held == {}
    world.engine.held = {"a": A.uri}
    entry = world.run_asking(20, world.request(B, generation=2))
    assert (entry.phase, entry.source, world.engine.held) == (AdapterPhase.LOADED, B.uri, {"a": B.uri})


def test_source_is_reported_once_no_late_load_can_come() -> None:
    world = World(limits=Limits(load_timeout=10))
    world.engine.held = {"a": A.uri}
    request = world.request(loading=A.uri)
    assert world.run_asking(15, request).source == ""
    assert world.run_asking(10, request).source == A.uri
    assert world.engine.asked[EngineAction.LOAD] == world.engine.asked[EngineAction.UNLOAD] == 0


def test_load_of_a_dead_prober_is_known_from_the_status() -> None:
    world = World()
    world.ask(world.request(B, loading=A.uri))
    world.run(0.015)  # listed, and called to load the new source
    world.engine.held = {"a": A.uri}
    entry = world.run_asking(20, world.request(B, loading=A.uri))
    assert (entry.phase, world.engine.held) == (AdapterPhase.LOADED, {"a": B.uri})


@pytest.mark.parametrize("gone", ["deleted", "renamed"])
def test_adapter_whose_load_may_still_arrive_is_not_called_gone(gone: str) -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: SLOW}
    world.run_asking(5, world.request())
    world.engine.answers = {}
    request = world.request(None if gone == "deleted" else OTHER, former=("a",))
    entry = world.run_asking(30, request)
    assert entry.left == ("a",)
    world.engine.held["a"] = A.uri
    entry = world.run_asking(10, request)
    assert entry.left == ()
    assert "a" not in world.engine.held


def test_load_that_never_arrives_is_not_awaited_for_ever() -> None:
    world = World(limits=Limits(load_timeout=30))
    world.engine.answers = {EngineAction.LOAD: SLOW}
    world.run_asking(5, world.request())
    gone = world.request(None, former=("a",))
    assert world.run_asking(40, gone).phase is AdapterPhase.UNLOADING
    assert world.run_asking(30, gone).phase is AdapterPhase.UNLOADED
    assert world.engine.asked[EngineAction.UNLOAD] == 0


def test_deletion_waits_for_the_load_of_another_prober() -> None:
    world = World(probers=2)
    world.engine.seconds = {EngineAction.LOAD: 40}
    world.ask(world.request())
    world.run(2)
    gone = world.request(None, former=("a",), loading=A.uri)
    assert world.run_asking(35, gone, prober=1).phase is AdapterPhase.UNLOADING
    assert world.run_asking(20, gone, prober=1).phase is AdapterPhase.UNLOADED
    assert world.engine.held == {}


def test_renamed_adapter_leaves_no_old_one_behind() -> None:
    world = World()
    world.run_asking(10, world.request(A))
    renamed = world.request(OTHER, former=("a",), generation=2)
    assert world.one(renamed).left == ("a",)
    entry = world.run_asking(10, renamed)
    assert (entry.phase, entry.left) == (AdapterPhase.LOADED, ())
    assert world.engine.held == {"b": OTHER.uri}


def test_renamed_adapter_is_unloaded_from_the_memory_of_the_prober() -> None:
    world = World()
    world.run_asking(10, world.request(A))
    world.run_asking(10, world.request(OTHER, generation=2))
    assert world.engine.held == {"b": OTHER.uri}


def test_adapters_that_no_model_loaded_are_never_touched() -> None:
    world = World()
    world.engine.held["by-hand"] = "s3://b/hand"
    world.run_asking(10, world.request(A))
    world.run_asking(10, world.request(None, former=("a",)))
    assert world.engine.held == {"by-hand": "s3://b/hand"}


def test_finalize_unloads_and_reports_how_long_the_adapter_is_gone() -> None:
    world = World()
    world.run_asking(10, world.request(A))
    gone = world.request(None, former=("a",))
    assert world.one(gone).phase is AdapterPhase.UNLOADING
    entry = world.run_asking(20, gone)
    assert (entry.phase, entry.left) == (AdapterPhase.UNLOADED, ())
    assert 19 <= entry.age <= 20


def test_restarted_prober_lists_before_it_reports_an_adapter_as_gone() -> None:
    world = World()
    world.engine.held["a"] = A.uri
    gone = world.request(None, former=("a",))
    assert world.one(gone).phase is AdapterPhase.UNKNOWN
    assert world.run_asking(5, gone).phase is AdapterPhase.UNLOADED
    assert world.engine.held == {}


@pytest.mark.parametrize("answer", [DOWN, FAILED, SLOW], ids=["down", "failing", "slow"])
def test_engine_that_does_not_answer_is_not_called_unloaded(answer: EngineAnswer) -> None:
    world = World()
    world.engine.held["a"] = A.uri
    world.engine.answers = dict.fromkeys(EngineAction, answer)
    entry = world.run_asking(30, world.request(None, former=("a",)))
    assert (entry.phase, entry.left, entry.last_error) == (AdapterPhase.RETRYING, ("a",), answer.message)


def test_unload_of_an_unknown_name_ends_with_the_list() -> None:
    world = World()
    world.engine.answers = {EngineAction.UNLOAD: FAILED}
    assert world.run_asking(5, world.request(None, former=("a",))).phase is AdapterPhase.UNLOADED


def test_engine_that_accepts_an_unload_and_goes_on_listing_is_asked_again() -> None:
    world = World()
    world.engine.held["a"] = A.uri
    world.engine.answers = {EngineAction.UNLOAD: EngineAnswer(outcome=CallOutcome.OK)}
    entry = world.run_asking(30, world.request(None, former=("a",)))
    assert (entry.phase, entry.last_error) == (
        AdapterPhase.RETRYING,
        "the engine still lists the adapter after it was unloaded",
    )
    assert world.engine.asked[EngineAction.UNLOAD] > 1


def test_prober_that_is_no_longer_asked_never_reloads() -> None:
    world = World(probers=2)
    for prober in (0, 1):
        world.run_asking(5, world.request(A), prober=prober)
    world.run(LIMITS.mandate)
    loads = world.engine.asked[EngineAction.LOAD]
    world.engine.held.clear()
    lists = world.engine.asked[EngineAction.LIST]
    world.run(300)
    assert world.engine.asked[EngineAction.LOAD] == loads
    assert world.engine.asked[EngineAction.LIST] == lists
    assert world.probers[0].next_due(world.now) is None


def test_mandate_starts_at_the_last_request() -> None:
    world = World()
    world.ask(world.request())
    world.run(LIMITS.mandate - 0.1)
    assert world.probers[0].keys(world.now) == ["default/m"]
    assert world.probers[0].look_up("default/m", world.now) is not None
    world.run(0.2)
    assert world.probers[0].keys(world.now) == []
    assert world.probers[0].look_up("default/m", world.now) is None


def test_restarted_prober_rebuilds_from_the_engines_without_loading() -> None:
    world = World(3)
    world.run_asking(10, world.request())
    loads = sum(e.asked[EngineAction.LOAD] for e in world.engines.values())
    world.restart_prober()
    assert world.ask(world.request(recorded=A.uri)).starting
    world.run(LIMITS.verify_interval)
    report = world.ask(world.request(recorded=A.uri))
    assert not report.starting
    assert {entry.phase for entry in report.endpoints} == {AdapterPhase.LOADED}
    assert sum(e.asked[EngineAction.LOAD] for e in world.engines.values()) == loads


def test_load_that_was_withdrawn_is_undone_when_it_ends_after_the_mandate() -> None:
    world = World()
    world.engine.seconds[EngineAction.LOAD] = 200
    world.ask(world.request(A))
    world.run(5)
    world.run_asking(60, world.request(None, former=("a",)))
    world.run(400)
    assert world.engine.asked[EngineAction.UNLOAD] == 1
    assert world.engine.held == {}
    assert world.probers[0].next_due(world.now) is None


def test_pod_at_a_used_address_is_a_new_engine() -> None:
    world = World()
    world.engine.answers = {EngineAction.LOAD: NOT_FOUND}
    world.run_asking(10, world.request(pod="old"))
    world.engine.answers = {}
    assert world.one(world.request(pod="new")).phase is AdapterPhase.UNKNOWN
    assert world.run_asking(10, world.request(pod="new")).phase is AdapterPhase.LOADED


def test_engine_is_listed_at_once_when_its_pod_becomes_ready() -> None:
    world = World(jitter=0.999)
    world.engine.answers = dict.fromkeys(EngineAction, SLOW)
    world.run_asking(120, world.request(ready=False))
    world.engine.answers = {}
    world.ask(world.request(ready=True))
    world.run(0.5)
    assert world.one(world.request()).phase is AdapterPhase.LOADED


def test_endpoint_that_left_is_forgotten_without_a_call() -> None:
    world = World(2)
    world.run_asking(10, world.request())
    fewer = msgspec.structs.replace(world.request(), targets=world.request().targets[:1])
    left = world.engines[world.request().targets[1].address]
    lists = left.asked[EngineAction.LIST]
    world.run_asking(30, fewer)
    assert left.asked[EngineAction.LIST] == lists
    assert left.held == {"a": A.uri}


def test_two_models_of_one_name_do_not_fight() -> None:
    world = World()
    for _ in range(12):
        world.ask(world.request(A, name="first"))
        world.ask(world.request(B, name="second"))
        world.run(5)
    assert world.engine.held == {"a": A.uri}
    assert world.engine.asked[EngineAction.UNLOAD] == 0
    entry = world.one(world.request(B, name="second"))
    assert (entry.phase, entry.last_error) == (
        AdapterPhase.PENDING,
        "DynamoModel default/first has an adapter of this name on the engine",
    )


def test_repeated_request_is_applied_again_where_an_engine_was_replaced() -> None:
    """An equal request is usually not applied again, but here the request of another model replaced the engine."""
    world = World()
    mine = world.request()
    world.run_asking(10, mine)
    assert world.one(mine).phase is AdapterPhase.LOADED
    world.ask(world.request(OTHER, name="n", pod="newer"))  # another pod is at the address now
    world.ask(mine)
    world.run(5)
    assert world.one(mine).phase is AdapterPhase.LOADED
    gone = world.request(None, former=("a",))
    assert world.run_asking(10, gone).phase is AdapterPhase.UNLOADED
    assert world.run_asking(10, mine).phase is AdapterPhase.LOADED


def test_name_that_one_model_gives_up_is_reloaded_for_the_next() -> None:
    world = World()
    world.run_asking(10, world.request(A, name="first"))
    world.run_asking(10, world.request(None, name="first", former=("a",)))
    assert world.run_asking(10, world.request(B, name="second")).phase is AdapterPhase.LOADED
    assert world.engine.held == {"a": B.uri}


def test_loads_run_ten_at_a_time_and_one_per_engine() -> None:
    world = World(100)
    for engine in world.engines.values():
        engine.seconds[EngineAction.LOAD] = 1.0
    for name in ("a", "b", "c"):
        world.ask(world.request(Adapter(name=name, uri=f"s3://b/{name}"), name=name))
    world.run(25)
    assert world.most_changes == 10
    assert max(engine.most_at_once for engine in world.engines.values()) == 1


def test_hundred_loads_of_a_second_take_ten_seconds() -> None:
    world = World(100)
    for engine in world.engines.values():
        engine.seconds[EngineAction.LOAD] = 1.0
    world.ask(world.request())
    world.run(11)
    assert all(entry.phase is AdapterPhase.LOADED for entry in world.ask(world.request()).endpoints)


@pytest.mark.parametrize("bad", [5, 15, 60])
def test_hanging_loads_do_not_delay_the_others(bad: int) -> None:
    world = World(bad + 20)
    for engine in list(world.engines.values())[:bad]:
        engine.seconds[EngineAction.LOAD] = 10_000
    rounds = bad // LIMITS.concurrency + 1
    world.run_asking(LIMITS.change_grace * rounds + 10, world.request(), every=1)
    phases = [entry.phase for entry in world.ask(world.request()).endpoints]
    assert phases[bad:] == [AdapterPhase.LOADED] * 20


def test_hanging_loads_do_not_delay_the_reload_of_a_lost_adapter() -> None:
    world = World(31)
    lost, *bad = world.engines.values()
    for engine in bad:
        engine.held, engine.seconds = {"a": A.uri}, {EngineAction.LOAD: 10_000}
    world.run_asking(20, world.request(recorded=A.uri), every=1)
    for engine in bad:
        engine.answers = {EngineAction.LIST: DOWN}
    world.run_asking(60, world.request(), every=1)
    for engine in bad:
        engine.held, engine.answers = {}, {}
    world.run_asking(4, world.request(), every=1)
    assert sum(engine.under_way for engine in bad) == LIMITS.concurrency, "every slot is taken by an engine that hangs"
    lost.held.clear()
    assert world.run_asking(6, world.request(), every=1).phase is AdapterPhase.LOADED


def test_report_is_starting_until_every_engine_was_listed() -> None:
    world = World(2000)
    for engine in world.engines.values():
        engine.held, engine.seconds = {"a": A.uri}, {EngineAction.LIST: 0.1}
    reports = []
    for _ in range(25):
        reports.append(world.ask(world.request(recorded=A.uri)))
        world.run(1)
    assert not reports[-1].starting
    heard = [all(e.phase is AdapterPhase.LOADED for e in report.endpoints) for report in reports if not report.starting]
    assert all(heard)


def test_engines_that_hang_on_lists_do_not_delay_the_detection_of_a_loss() -> None:
    world = World(60)
    engines = list(world.engines.values())
    for engine in engines[:40]:
        engine.seconds[EngineAction.LIST] = 3.0
        engine.answers = dict.fromkeys(EngineAction, SLOW)
    world.run_asking(120, world.request())
    for engine in engines[40:]:
        engine.held.clear()
    world.run_asking(10, world.request())
    assert all(engine.held for engine in engines[40:])


def test_call_that_never_ends_is_given_up_and_its_late_answer_ignored() -> None:
    world = World(limits=Limits(load_timeout=20))
    world.engine.seconds[EngineAction.LOAD] = 100_000
    world.run_asking(60, world.request())
    assert world.engine.asked[EngineAction.LOAD] >= 2


def test_counts_are_of_wanted_adapters_only() -> None:
    world = World(2)
    world.run_asking(10, world.request(A))
    world.ask(world.request(OTHER, former=("a",), generation=2))
    counts = world.probers[0].count_phases()
    assert sum(counts.values()) == 2
    world.run(5)
    assert world.probers[0].count_phases()[AdapterPhase.LOADED] == 2
