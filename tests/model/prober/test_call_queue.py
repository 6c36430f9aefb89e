from hooks.model.prober.call_queue import CallQueue, RunningCalls, Timetable
from hooks.model.prober.calls import EngineAction, EngineCall


def call(address: str, started: float, timeout: float = 1.0) -> EngineCall:
    return EngineCall(action=EngineAction.LIST, address=address, pod="w", timeout=timeout, started=started)


def test_earliest_address_comes_first_and_only_at_its_last_time() -> None:
    timetable = Timetable()
    timetable.set("a", 5.0)
    timetable.set("b", 3.0)
    timetable.set("b", 7.0)
    assert timetable.first() == (5.0, "a")
    timetable.drop("a")
    assert timetable.first() == (7.0, "b")
    timetable.drop("b")
    assert timetable.first() is None


def test_address_set_back_to_an_earlier_time_is_due_once() -> None:
    timetable = Timetable()
    for time in (5.0, 3.0, 5.0):
        timetable.set("a", time)
    assert timetable.first() == (5.0, "a")
    timetable.drop("a")
    assert timetable.first() is None


def test_next_call_starts_when_another_outlives_its_grace() -> None:
    running = RunningCalls[EngineCall](concurrency=2, grace=10.0, limit=3)
    running.add(call("a", 0.0))
    assert running.next_start(1.0) == 1.0
    running.add(call("b", 1.0))
    assert running.next_start(2.0) == 10.0
    assert running.next_start(10.0) == 10.0
    running.add(call("c", 10.0))
    assert running.next_start(50.0) is None


def test_call_is_removed_once_and_not_in_place_of_its_successor() -> None:
    running = RunningCalls[EngineCall](concurrency=1, grace=10.0, limit=10)
    first, second = call("a", 0.0), call("a", 9.0)
    running.add(first)
    assert running.remove(first)
    assert not running.remove(first)
    running.add(second)
    assert not running.remove(first)
    assert running.get("a") is second


def test_call_is_overdue_some_time_after_its_timeout() -> None:
    running = RunningCalls[EngineCall](concurrency=1, grace=10.0, limit=10)
    running.add(call("a", 0.0, timeout=4.0))
    assert list(running.overdue(6.9)) == []
    assert [late.address for late in running.overdue(7.0)] == ["a"]


def test_queue_gives_addresses_as_long_as_calls_may_start() -> None:
    queue = CallQueue[EngineCall](concurrency=2, grace=10.0, limit=3)
    for time, address in ((1.0, "a"), (2.0, "b"), (3.0, "c"), (99.0, "d")):
        queue.waiting.set(address, time)
    taken = []
    for address in queue.take(5.0):
        queue.running.add(call(address, 5.0))
        taken.append(address)
    assert taken == ["a", "b"]
    assert queue.next_due(5.0) == 15.0
    assert list(queue.take(14.0)) == []
    assert list(queue.take(15.0)) == ["c"]
    assert queue.next_due(15.0) == 99.0
