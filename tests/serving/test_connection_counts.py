"""Which worker leaves a new connection to another, and for how long."""

import os

from hooks.serving.connection_counts import ConnectionCounts, FairAccept


def test_worker_with_more_connections_than_another_leaves_the_next_to_it() -> None:
    counts = ConnectionCounts()
    counts.publish(1, 3)
    counts.publish(2, 2)
    assert FairAccept(counts).yields_next(3)
    assert not FairAccept(counts).yields_next(2)


def test_worker_alone_takes_all() -> None:
    counts = ConnectionCounts()
    counts.publish(1, 50)
    assert not FairAccept(counts).yields_next(50)


def test_worker_that_ended_is_not_counted_and_its_successor_is() -> None:
    counts = ConnectionCounts()
    counts.publish(1, 5)
    counts.publish(2, 0)
    counts.forget(2)
    assert not counts.is_above_least(5)
    counts.publish(300, 4)
    assert counts.is_above_least(5)


def test_waiting_ends_and_starts_again_with_the_next_connection() -> None:
    counts = ConnectionCounts()
    counts.publish(2, 0)
    fair_accept = FairAccept(counts)
    for _ in range(2):
        assert [fair_accept.yields_next(1) for _ in range(11)] == [True] * 10 + [False]


def test_counts_are_seen_by_processes_forked_later() -> None:
    counts = ConnectionCounts()
    child = os.fork()
    if child == 0:
        counts.publish(7, 0)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert counts.is_above_least(1)
