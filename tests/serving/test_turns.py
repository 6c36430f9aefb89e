"""How many calls are computed at the same time, and what does not wait for them."""

import threading
from collections.abc import Iterator

import pytest
from flask import Flask

from hooks import contract
from hooks.app import Hook, create_app
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.serving.web import ServedBy
from hooks.settings import parse_settings
from tests import make
from tests.hook_client import GOOD, call, relating


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
        assert self.opened.wait(30)
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
    assert all(gate.entered.acquire(timeout=30) for _ in range(2))
    assert not gate.entered.acquire(timeout=0.2)
    gate.opened.set()
    for thread in threads:
        thread.join(timeout=30)
    assert statuses == [200] * 5
    assert gate.most_inside == 2


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/nowhere"])
def test_other_requests_wait_for_no_call(gate: Gate, path: str) -> None:
    app = app_of(gate, at_once=1)
    thread = threading.Thread(target=lambda: app.test_client().post("/graph/sync", data=call()))
    thread.start()
    assert gate.entered.acquire(timeout=30)
    assert app.test_client().get(path).status_code in (200, 404)
    gate.opened.set()
    thread.join(timeout=30)


@pytest.mark.parametrize("fault", [InvalidSpec(make.problem("wrong")), KeyError("bug")], ids=["refused", "bug"])
def test_call_that_fails_gives_its_turn_back(fault: Exception) -> None:
    def fail(request: SyncRequest, facts: Facts) -> SyncAnswer:
        raise fault

    hooks = {"graph": Hook(kind=contract.GRAPH, sync=fail, customize=relating)}
    app = create_app(parse_settings({}), lambda: make.NOW, hooks=hooks, served_by=ServedBy(at_once=1))
    statuses = [app.test_client().post("/graph/sync", data=body).status_code for body in (call(), b"no JSON", call())]
    assert statuses[0] == statuses[2] in (422, 500)
    assert statuses[1] == 400
