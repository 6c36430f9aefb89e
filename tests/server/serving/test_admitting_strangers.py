"""Which connection is cut off for another one, and whose request is let in first."""

import time
from threading import Thread

import pytest

from hooks.server.serving.strangers import NEW_SECONDS, Entrance, Strangers


def test_oldest_is_cut_off_for_one_more() -> None:
    strangers = Strangers(2, 100)
    assert [strangers.admit(peer) for peer in "abc"] == [[], [], ["a"]]
    assert strangers.all() == ["b", "c"]


def test_peer_that_is_heard_again_is_the_newest() -> None:
    strangers = Strangers(2, 100)
    assert [strangers.admit(peer) for peer in "abac"] == [[], [], [], ["b"]]


def test_peer_whose_call_is_computed_is_not_cut_off() -> None:
    strangers = Strangers(1, 100)
    strangers.admit("a")
    strangers.spare("a")
    assert strangers.admit("b") == []
    assert strangers.admit("a") == ["b"]


def test_peer_that_showed_the_token_is_never_cut_off() -> None:
    strangers = Strangers(1, 100)
    strangers.admit("a")
    strangers.know("a")
    assert [strangers.admit(peer, 1000) for peer in "aba"] == [[], [], []]
    assert strangers.admit("c") == ["b"]
    assert strangers.give_up() == ["c"]
    assert strangers.give_up() == []
    strangers.forget("a")
    assert strangers.all() == []


@pytest.mark.parametrize(
    ("bodies", "cut"),
    [
        ({"a": 60, "b": 40}, []),
        ({"a": 60, "b": 41}, ["a"]),
        ({"a": 1000}, []),
        ({"a": 0, "b": 60, "c": 50}, ["a", "b"]),
    ],
    ids=["together at the bound", "above it", "alone", "oldest first"],
)
def test_bodies_to_come_have_a_bound_together(bodies: dict[str, int], cut: list[str]) -> None:
    strangers = Strangers(10, 100)
    for peer in bodies:
        strangers.admit(peer)
    assert [one for peer, size in bodies.items() for one in strangers.admit(peer, size)] == cut


class Queue:
    """An entrance for one at a time, with threads that wait there; `entered` are those that were let in, in order."""

    def __init__(self) -> None:
        self.now = 100.0
        self.entrance = Entrance(1, lambda: self.now)
        self.entered: list[str] = []

    def answer(self, peer: str) -> None:
        self.entrance.enter(peer)
        self.entrance.leave(peer)

    def wait(self, peer: str) -> Thread:
        """Begin to wait as this peer, who leaves as soon as it is in."""

        def enter() -> None:
            self.entrance.enter(peer)
            self.entered.append(peer)
            self.entrance.leave(peer)

        before = self.entrance.waiting
        thread = Thread(target=enter, daemon=True)
        thread.start()
        while self.entrance.waiting == before:
            time.sleep(0.001)
        return thread


@pytest.mark.parametrize(
    ("passed", "order"),
    [(NEW_SECONDS / 2, ["new", "first", "second"]), (NEW_SECONDS * 2, ["first", "second", "new"])],
    ids=["soon", "later"],
)
def test_new_connection_comes_before_those_that_had_an_answer_a_moment_ago(passed: float, order: list[str]) -> None:
    queue = Queue()
    queue.answer("first")
    queue.now += 0.01
    queue.answer("second")
    queue.entrance.enter("inside")
    queue.now += passed
    threads = [queue.wait(peer) for peer in ("second", "first", "new")]
    queue.entrance.leave("inside")
    for thread in threads:
        thread.join(30)
    assert queue.entered == order


def test_nobody_waits_where_nobody_is_inside() -> None:
    queue = Queue()
    for _ in range(3):
        queue.answer("a")
    queue.entrance.forget("a")
    queue.answer("a")
    assert queue.entrance.waiting == 0
