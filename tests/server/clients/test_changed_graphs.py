"""Graphs of which the frontends say something else are written, so that they are synced."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from hooks.ground import contract
from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.server.clients.changed_graphs import ChangedGraphWriter
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.prober_lease import LeaseState
from hooks.wire.prober.frontends import ChangedGraph
from tests import make
from tests.played_api_server import PlayedApiServer, played_api_server

FOLDER = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments"


@dataclass
class Prober:
    """A prober with changes; `told` is what it was told about the last ones."""

    changes: tuple[ChangedGraph, ...] = ()
    fault: Exception | None = None
    told: list[bool | None] = field(default_factory=list)

    def take_changes(self, could_write: bool | None) -> tuple[ChangedGraph, ...]:
        self.told.append(could_write)
        if self.fault is not None:
            raise self.fault
        return self.changes


@dataclass
class Turns:
    state: LeaseState = LeaseState(is_own=True)  # noqa: RUF009 - frozen

    def find_state(self) -> LeaseState:
        return self.state

    def renew(self, _is_draining: object) -> None:
        """Keep it."""


@dataclass
class Writing:
    played: PlayedApiServer
    prober: Prober
    turns: Turns
    writer: ChangedGraphWriter

    def annotation(self, name: str) -> str | None:
        annotations = self.played.objects[f"{FOLDER}/{name}"]["metadata"].get("annotations") or {}
        return cast("str | None", annotations.get(contract.ANNOTATION_SERVING_CHANGED))


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[Writing]:
    with played_api_server(tmp_path) as played:
        for name in ("a", "b", "c"):
            played.put(f"{FOLDER}/{name}", {"metadata": {"name": name, "uid": f"u-{name}"}, "spec": {"x": 1}})
        prober, turns = Prober(), Turns()
        writer = ChangedGraphWriter(
            server=played.server, own=cast("ProberClient", prober), turns=turns, now=lambda: make.NOW
        )
        yield Writing(played, prober, turns, writer)


def changed(*names: str) -> tuple[ChangedGraph, ...]:
    return tuple(ChangedGraph(namespace="default", name=name, uid=f"u-{name}") for name in names)


def test_changed_graphs_get_the_time_and_nothing_else(writing: Writing) -> None:
    writing.prober.changes = changed("a", "b")
    writing.writer.push()
    assert [writing.annotation(name) for name in "abc"] == [
        "2026-03-01T12:00:00.000+00:00",
        "2026-03-01T12:00:00.000+00:00",
        None,
    ]
    assert writing.played.objects[f"{FOLDER}/a"]["spec"] == {"x": 1}
    assert [method for method, _ in writing.played.asked] == ["PATCH", "PATCH"]
    writing.prober.changes = ()
    writing.writer.push()
    writing.writer.push()
    assert writing.prober.told == [None, True, None]


def test_graph_that_is_gone_or_another_one_is_left_and_the_rest_is_written(writing: Writing) -> None:
    other = ChangedGraph(namespace="default", name="a", uid="former")
    writing.prober.changes = (other, *changed("gone", "c"))
    writing.writer.push()
    assert (writing.annotation("a"), writing.annotation("c")) == (None, "2026-03-01T12:00:00.000+00:00")


@pytest.mark.parametrize("state", [LeaseState(), LeaseState(url="http://10.0.0.9:8080")], ids=["nobody", "another"])
def test_only_the_pod_whose_prober_acts_writes(writing: Writing, state: LeaseState) -> None:
    writing.turns.state, writing.prober.changes = state, changed("a")
    writing.writer.push()
    assert (writing.prober.told, writing.played.asked) == ([], [])


@pytest.mark.parametrize("fault", [ProberUnavailable("x"), LeaveAlone("x", retry_after=1)])
def test_prober_that_does_not_answer_is_asked_again_later(writing: Writing, fault: Exception) -> None:
    writing.prober.fault = fault
    writing.writer.push()
    assert writing.played.asked == []


def test_missing_right_is_logged_once_and_told_to_the_prober(
    writing: Writing, caplog: pytest.LogCaptureFixture
) -> None:
    writing.played.before = lambda _method, _path: 403
    writing.prober.changes = changed("a", "b", "c")
    for _ in range(3):
        writing.writer.push()
    assert len(writing.played.asked) == 3 + 1 + 1  # one attempt shows whether the right is there by now
    assert [one.message for one in caplog.records if "seen late" in one.message] == [caplog.records[0].message]
    assert "403" in caplog.records[0].message
    writing.played.before = lambda _method, _path: None
    for _ in range(2):
        writing.writer.push()
    assert writing.prober.told == [None, False, False, False, True]
    assert writing.annotation("c") is not None


def test_one_graph_that_may_not_be_written_does_not_hold_up_others(writing: Writing) -> None:
    writing.played.before = lambda _method, path: 403 if path.startswith(f"{FOLDER}/a") else None
    writing.prober.changes = changed("a", "b", "c")
    for _ in range(2):
        writing.writer.push()
    assert writing.annotation("c") is not None
    assert writing.prober.told == [None, True]


def test_name_of_no_object_asks_for_nothing(writing: Writing) -> None:
    writing.prober.changes = (ChangedGraph(namespace="default", name="a/status?x=", uid="u"),)
    writing.writer.push()
    assert writing.played.asked == []
