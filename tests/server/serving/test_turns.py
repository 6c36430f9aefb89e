"""How many calls are computed at the same time, and what does not wait for them."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from flask import Flask

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec, TooBusy
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.server.app import create_app
from hooks.server.routes import Hook
from hooks.server.serving.turns import AWAY_BYTES, AWAY_CALLS, LARGE_BYTES, WAITING_BYTES, WAITING_CALLS, Turns
from hooks.server.serving.web import ServedBy
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from tests import make
from tests.hook_client import GOOD, call, relating
from tests.waiting import PATIENCE, wait_for


class Gate:
    """A hook that answers when the gate is opened, and says how many calls are in it."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.inside = self.most_inside = 0

    def sync(self, _request: SyncRequest, _facts: Facts) -> SyncAnswer:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.entered.release()
        assert self.opened.wait(PATIENCE)
        self.inside -= 1
        return GOOD


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


def app_of(gate: Gate, at_once: int) -> Flask:
    hooks = {"graph": Hook(kind=contract.GRAPH, sync=gate.sync, customize=relating)}
    return create_app(parse_settings({}), lambda: make.NOW, hooks=hooks, served_by=ServedBy(at_once=at_once))


def test_calls_beyond_the_number_wait_for_their_turn(gate: Gate) -> None:
    app, statuses = app_of(gate, at_once=2), []

    def post() -> None:
        statuses.append(app.test_client().post("/graph/sync", data=call()).status_code)

    threads = [threading.Thread(target=post) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert all(gate.entered.acquire(timeout=PATIENCE) for _ in range(2))
    assert not gate.entered.acquire(timeout=0.2)
    gate.opened.set()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert statuses == [200] * 5
    assert gate.most_inside == 2


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/nowhere"])
def test_other_requests_wait_for_no_call(gate: Gate, path: str) -> None:
    app = app_of(gate, at_once=1)
    thread = threading.Thread(target=lambda: app.test_client().post("/graph/sync", data=call()))
    thread.start()
    assert gate.entered.acquire(timeout=PATIENCE)
    assert app.test_client().get(path).status_code in (200, 404)
    gate.opened.set()
    thread.join(timeout=PATIENCE)


@pytest.mark.parametrize("fault", [InvalidSpec(make.problem("wrong")), KeyError("bug")], ids=["refused", "bug"])
def test_call_that_fails_gives_its_turn_back(fault: Exception) -> None:
    def fail(request: SyncRequest, facts: Facts) -> SyncAnswer:
        raise fault

    hooks = {"graph": Hook(kind=contract.GRAPH, sync=fail, customize=relating)}
    app = create_app(parse_settings({}), lambda: make.NOW, hooks=hooks, served_by=ServedBy(at_once=1))
    statuses = [app.test_client().post("/graph/sync", data=body).status_code for body in (call(), b"no JSON", call())]
    assert statuses[0] == statuses[2] in (422, 500)
    assert statuses[1] == 400


# Which calls wait


def waiting(turns: Turns, sizes: list[int]) -> list[threading.Thread]:
    """Calls that wait for their turn; each gives it back at once."""

    def take(size: int) -> None:
        turns.take(size)
        turns.give_back(size)

    before = turns.waiting
    threads = [threading.Thread(target=take, args=(size,), daemon=True) for size in sizes]
    for number, thread in enumerate(threads, start=before + 1):
        thread.start()
        wait_for(partial(_wait_in, turns, number), "the call waits", poll=0.001)
    return threads


def _wait_in(turns: Turns, number: int) -> bool:
    return turns.waiting >= number


@pytest.mark.parametrize(
    ("sizes", "size", "is_refused"),
    [
        ([1] * (WAITING_CALLS - 1), 1, False),
        ([1] * WAITING_CALLS, 1, True),
        ([WAITING_BYTES // 2] * 2, 1, True),
        ([WAITING_BYTES - 1], 1, False),
        ([], WAITING_BYTES + 1, False),
    ],
    ids=["one more", "too many", "too large together", "large together", "large alone"],
)
def test_call_is_refused_while_too_much_waits(sizes: list[int], size: int, is_refused: bool) -> None:
    turns = Turns(1)
    turns.take(1)
    threads = waiting(turns, sizes)
    if is_refused:
        with pytest.raises(TooBusy, match=f"{len(sizes)} calls wait for their turn already"):
            turns.take(size)
    else:
        threads += waiting(turns, [size])
    turns.give_back(1)
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert turns.waiting == 0
    turns.take(1)


def test_large_calls_are_computed_one_after_the_other_beside_small_ones() -> None:
    turns = Turns(3)
    turns.take(LARGE_BYTES + 1)
    threads = waiting(turns, [LARGE_BYTES + 1])
    turns.take(LARGE_BYTES)
    turns.take(1)
    assert turns.waiting == 1
    turns.give_back(LARGE_BYTES + 1)
    threads[0].join(timeout=PATIENCE)
    assert turns.waiting == 0


def test_call_that_comes_at_a_bad_moment_is_asked_to_come_again(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hooks.server.serving.turns.WAITING_CALLS", 0)
    app = app_of(gate, at_once=1)
    thread = threading.Thread(target=lambda: app.test_client().post("/graph/sync", data=call()))
    thread.start()
    assert gate.entered.acquire(timeout=PATIENCE)
    response = app.test_client().post("/graph/sync", data=call())
    assert (response.status_code, response.headers["Retry-After"]) == (429, "1")
    assert response.text == "0 calls wait for their turn already; call again in a moment\n"
    gate.opened.set()
    thread.join(timeout=PATIENCE)
    assert app.test_client().post("/graph/sync", data=call()).status_code == 200


def test_call_that_waits_for_others_lends_its_turn_and_gets_it_back() -> None:
    turns = Turns(1)
    turns.take(1)
    with turns.lend(1) as is_lent:
        assert is_lent
        turns.take(1)  # would wait for ever if the turn were not free
        threads = waiting(turns, [1])
        turns.give_back(1)
        threads[0].join(PATIENCE)
    assert turns.away == 0
    assert waiting(turns, [1])[0].is_alive(), "the turn is taken again"
    turns.give_back(1)


def test_only_so_many_calls_are_away_at_once() -> None:
    turns = Turns(AWAY_CALLS + 1)
    with ExitStack() as stack:
        for _ in range(AWAY_CALLS + 1):
            turns.take(1)
        lent = [stack.enter_context(turns.lend(1)) for _ in range(AWAY_CALLS + 1)]
    assert lent == [True] * AWAY_CALLS + [False]


def test_bodies_of_calls_that_are_away_have_a_bound_together() -> None:
    turns = Turns(2)
    turns.take(1)
    turns.take(1)
    with turns.lend(AWAY_BYTES + 1) as first, turns.lend(1) as second:
        assert (first, second) == (True, False)


def test_large_call_that_is_away_keeps_other_large_ones_out() -> None:
    turns = Turns(2)
    turns.take(LARGE_BYTES + 1)
    with turns.lend(LARGE_BYTES + 1) as is_lent:
        assert is_lent
        late = waiting(turns, [LARGE_BYTES + 1])
        turns.take(1)
        assert late[0].is_alive()
    turns.give_back(1)
    turns.give_back(LARGE_BYTES + 1)
    late[0].join(PATIENCE)
