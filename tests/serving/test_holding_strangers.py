"""Which connection is cut off for another one."""

import pytest

from hooks.serving.strangers import Strangers


def test_oldest_is_cut_off_for_one_more() -> None:
    strangers = Strangers(2, 100)
    assert [strangers.hold(peer) for peer in "abc"] == [[], [], ["a"]]
    assert strangers.all() == ["b", "c"]


def test_peer_that_is_heard_again_is_the_newest() -> None:
    strangers = Strangers(2, 100)
    assert [strangers.hold(peer) for peer in "abac"] == [[], [], [], ["b"]]


def test_peer_whose_call_is_computed_is_not_cut_off() -> None:
    strangers = Strangers(1, 100)
    strangers.hold("a")
    strangers.spare("a")
    assert strangers.hold("b") == []
    assert strangers.hold("a") == ["b"]


def test_peer_that_showed_the_token_is_never_cut_off() -> None:
    strangers = Strangers(1, 100)
    strangers.hold("a")
    strangers.know("a")
    assert [strangers.hold(peer, 1000) for peer in "aba"] == [[], [], []]
    assert strangers.hold("c") == ["b"]
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
        strangers.hold(peer)
    assert [one for peer, size in bodies.items() for one in strangers.hold(peer, size)] == cut
