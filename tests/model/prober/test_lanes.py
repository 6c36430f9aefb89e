from hooks.model.prober.calls import Action, Call
from hooks.model.prober.lanes import Agenda, Lane, Track


def call(address: str, started: float, timeout: float = 1.0) -> Call:
    return Call(action=Action.LIST, address=address, pod="w", timeout=timeout, started=started)


def test_earliest_address_comes_first_and_only_at_its_last_time() -> None:
    agenda = Agenda()
    agenda.set("a", 5.0)
    agenda.set("b", 3.0)
    agenda.set("b", 7.0)
    assert agenda.first() == (5.0, "a")
    agenda.drop("a")
    assert agenda.first() == (7.0, "b")
    agenda.drop("b")
    assert agenda.first() is None


def test_address_set_back_to_an_earlier_time_is_due_once() -> None:
    agenda = Agenda()
    for time in (5.0, 3.0, 5.0):
        agenda.set("a", time)
    assert agenda.first() == (5.0, "a")
    agenda.drop("a")
    assert agenda.first() is None


def test_lane_opens_when_a_call_outlives_its_grace() -> None:
    lane = Lane(concurrency=2, grace=10.0, most=3)
    lane.enter(call("a", 0.0))
    assert lane.opens_at(1.0) == 1.0
    lane.enter(call("b", 1.0))
    assert lane.opens_at(2.0) == 10.0
    assert lane.opens_at(10.0) == 10.0
    lane.enter(call("c", 10.0))
    assert lane.opens_at(50.0) is None


def test_call_leaves_once_and_not_for_its_successor() -> None:
    lane = Lane(concurrency=1, grace=10.0, most=10)
    first, second = call("a", 0.0), call("a", 9.0)
    lane.enter(first)
    assert lane.leave(first)
    assert not lane.leave(first)
    lane.enter(second)
    assert not lane.leave(first)
    assert lane.get("a") is second


def test_call_is_overdue_some_time_after_its_timeout() -> None:
    lane = Lane(concurrency=1, grace=10.0, most=10)
    lane.enter(call("a", 0.0, timeout=4.0))
    assert list(lane.overdue(6.9)) == []
    assert [late.address for late in lane.overdue(7.0)] == ["a"]


def test_track_gives_turns_as_long_as_there_is_room() -> None:
    track = Track(concurrency=2, grace=10.0, most=3)
    for time, address in ((1.0, "a"), (2.0, "b"), (3.0, "c"), (99.0, "d")):
        track.agenda.set(address, time)
    taken = []
    for address in track.take(5.0):
        track.lane.enter(call(address, 5.0))
        taken.append(address)
    assert taken == ["a", "b"]
    assert track.next_due(5.0) == 15.0
    assert list(track.take(14.0)) == []
    assert list(track.take(15.0)) == ["c"]
    assert track.next_due(15.0) == 99.0
