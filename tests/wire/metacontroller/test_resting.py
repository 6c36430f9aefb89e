"""Whole answers that are remembered: which, for how long, and that nothing can tell them from computed ones."""

import logging
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from hooks.graph import sync as graph
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import build_manifest, build_metadata
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.model.prober.messages import LoadReport
from hooks.server.app import create_app
from hooks.server.clients.frontend_questions import FrontendQuestions
from hooks.server.clients.namespace_locks import NamespaceClaim
from hooks.server.routes import Hook, respect_locks
from hooks.server.serving.call_id import CallId
from hooks.server.serving.web import ServedBy
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer, SyncRequest
from hooks.wire.metacontroller.resting import Resting, RestingAnswers, is_at_rest
from hooks.wire.prober.frontends import FrontendEntry, FrontendOutcome, FrontendQuestion, FrontendReport
from tests import make
from tests.hook_client import CONFIG_MAP, call, relating
from tests.tools.offline.simulator.hooked import build_switchable

EXAMPLES = Path(__file__).parents[3] / "examples"
PATHS = {contract.GRAPH.kind: "/graph/sync", contract.COMPONENT.kind: "/component/sync"}
SETTINGS = parse_settings({})
STATUS = {"state": "successful", "conditions": [{"type": "Ready", "status": "True"}]}
QUERY = ObjectQuery(kinds.POD, "default", labels=(("a", "b"),))
REST = SyncAnswer(status=STATUS)
SECRET = build_manifest(kinds.SECRET, build_metadata("s", "default"))


def request(status: dict[str, Any] | None = None) -> SyncRequest:
    parent = make.component("c", "g")
    return make.sync_request({**parent, "status": STATUS if status is None else status})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (SyncAnswer(status=STATUS, resync_after_seconds=5), "a deadline"),
        (SyncAnswer(status=STATUS, queries=(QUERY,)), "something is read"),
        (SyncAnswer(status=STATUS, later=(QUERY,)), "something is read later"),
        (SyncAnswer(status={**STATUS, "state": "pending"}), "a status that changes has the time of now"),
        (SyncAnswer(status=STATUS, children=(SECRET,)), "values of Secrets"),
        (SyncAnswer(), "no status"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_answer_that_something_else_enters_is_not_at_rest(answer: SyncAnswer, why: str) -> None:
    assert why
    assert is_at_rest(request(), REST)
    assert not is_at_rest(request(), answer)


def test_rest_has_the_status_that_is_stored_and_nothing_that_was_read() -> None:
    assert is_at_rest(request({**STATUS, "observedGeneration": 3}), REST)
    assert not is_at_rest(request({}), REST)
    assert not is_at_rest(request().with_answers({QUERY: QueryAnswer(fault="no")}), REST)


def test_answer_is_remembered_when_it_comes_for_the_second_time() -> None:
    memory = RestingAnswers()
    key = memory.make_key("/component/sync?", b"body")
    for is_known in (False, True, True):
        memory.remember(key, request(), REST, b"text")
        assert (memory.find(key) is not None) is is_known
    found = memory.find(key)
    assert found is not None
    assert found.unpack() == b"text"
    others = [("/component/sync?", b"other"), ("/graph/sync?", b"body"), ("/component/sync?revision=2", b"body")]
    assert [memory.find(memory.make_key(*one)) for one in others] == [None] * 3


def test_memory_is_bounded_and_drops_what_was_used_least_lately() -> None:
    memory = RestingAnswers(max_bytes=3000)
    first, second, third = (memory.make_key("/graph/sync?", bytes([n])) for n in range(3))

    def keep(key: bytes) -> None:
        for _ in range(2):
            memory.remember(key, request(), REST, b"text")

    keep(first)
    keep(second)
    memory.find(first)
    keep(third)
    assert [memory.find(key) is not None for key in (first, second, third)] == [True, False, True]
    assert 0 < memory.kept_bytes <= 3000


def test_server_that_is_to_remember_nothing_remembers_nothing() -> None:
    memory = RestingAnswers(max_bytes=0)
    key = memory.make_key("/graph/sync?", b"body")
    for _ in range(3):
        memory.remember(key, request(), REST, b"text")
    assert memory.find(key) is None


def ask_nobody(*_anything: object) -> LoadReport:
    raise AssertionError("a prober was asked")


def calls_until_rest(example: str, installed: tuple[str, ...]) -> tuple[list[tuple[str, bytes]], datetime]:
    """Paths and bodies of the sync calls until an example is ready and was synced again, and the time then."""
    bodies: list[bytes] = []
    cluster = build_switchable(installed, {}, note=bodies.append)
    for manifest in yaml.safe_load_all((EXAMPLES / f"{example}.yaml").read_text()):
        cluster.create({**manifest, "metadata": {**manifest["metadata"], "namespace": "default"}})
    cluster.run_for(1000)
    calls = [(orjson.loads(body), body) for body in bodies]
    return [(PATHS[call["parent"]["kind"]], body) for call, body in calls if "children" in call], cluster.clock.now


@pytest.mark.parametrize(
    ("example", "installed"),
    [("vllm-disagg", ()), ("trtllm-disagg-multinode", ("lws", "volcano")), ("vllm-disagg", ("grove",))],
    ids=["components", "LeaderWorkerSets", "Grove"],
)
def test_what_is_answered_from_memory_equals_what_is_computed_at_any_time(
    monkeypatch: pytest.MonkeyPatch, example: str, installed: tuple[str, ...]
) -> None:
    calls, then = calls_until_rest(example, installed)
    now, recalled = [then], set[str]()

    class Noting(RestingAnswers):
        def find(self, key: bytes) -> Resting | None:
            if found := super().find(key):
                recalled.add(found.parent["metadata"]["uid"])
            return found

    monkeypatch.setattr("hooks.server.app.RestingAnswers", Noting)
    remembering, computing = (
        create_app(SETTINGS, lambda: now[0], ask_nobody, served_by=ServedBy(resting_bytes=size)) for size in (2**24, 0)
    )
    for _ in range(3):
        now[0] += timedelta(hours=7)
        for path, body in calls:
            given, wanted = (app.test_client().post(path, data=body) for app in (remembering, computing))
            assert (given.status_code, given.data) == (wanted.status_code, wanted.data)
    assert recalled == {orjson.loads(body)["parent"]["metadata"]["uid"] for _, body in calls}


def resting(look: Any = None) -> tuple[Any, bytes, list[int]]:
    """A client of a hook whose answer is at rest, the body of a call, and a list that grows with each computed call."""
    computed: list[int] = []

    def sync(given: SyncRequest, _facts: Facts) -> SyncAnswer:
        computed.append(1)
        return SyncAnswer(status=STATUS, children=[CONFIG_MAP], notes=("why",))

    hooks = {"graph": Hook(kind=contract.GRAPH, sync=sync, customize=relating, rests=True)}
    app = create_app(SETTINGS, lambda: make.NOW, hooks=respect_locks(hooks, look) if look else hooks)
    return app.test_client(), call(parent=make.graph(status=STATUS)), computed


def test_call_that_is_remembered_is_counted_and_logged_as_any_other(caplog: pytest.LogCaptureFixture) -> None:
    client, body, computed = resting()
    with caplog.at_level(logging.INFO):
        answers = [client.post("/graph/sync", data=body).data for _ in range(4)]
    assert len(computed) == 2
    assert len(set(answers)) == 1
    lines = [
        {key: value for key, value in record.fields.items() if key not in {"sync_id", "duration_ms"}}  # type: ignore[attr-defined]
        for record in caplog.records
        if record.message == "call"
    ]
    assert len(lines) == 4
    assert lines[1:] == lines[:1] * 3
    assert lines[0]["notes"] == ["why"]
    (counted,) = [
        line for line in client.get("/metrics").text.splitlines() if line.startswith("dynamo_hooks_calls_total{")
    ]
    assert counted.endswith(" 4.0")


def test_parent_whose_namespace_is_locked_since_is_left_alone_though_its_answer_is_remembered() -> None:
    held: list[NamespaceClaim] = []
    client, body, _ = resting(lambda _namespace: held[0] if held else None)
    assert [client.post("/graph/sync", data=body).status_code for _ in range(3)] == [200] * 3
    held.append(NamespaceClaim(reason="namespace default is locked"))
    assert client.post("/graph/sync", data=body).status_code == 429
    held.clear()
    assert client.post("/graph/sync", data=body).status_code == 200


def test_remembered_answer_is_given_only_while_frontends_say_the_same() -> None:
    said, finished = [FrontendReport()], list[FrontendOutcome]()
    asked: list[FrontendQuestion] = []

    def ask(question: FrontendQuestion, _call_id: CallId) -> FrontendReport:
        asked.append(question)
        return said[0]

    def finish(outcome: FrontendOutcome) -> SyncAnswer:
        finished.append(outcome)
        return SyncAnswer(status=STATUS, children=[CONFIG_MAP])

    question = FrontendQuestion(namespace="default", name="g")
    questions = FrontendQuestions(ask=ask, check=lambda _addresses: {})
    hook = Hook(
        kind=contract.GRAPH,
        sync=questions.between(lambda _request, _facts: graph.Prepared(finish=finish, question=question)),
        customize=relating,
        rests=True,
        still_holds=questions.still_holds,
    )
    client = create_app(SETTINGS, lambda: make.NOW, hooks={"graph": hook}).test_client()
    body = call(parent=make.graph(status=STATUS))

    def post(times: int) -> int:
        before = len(finished)
        for _ in range(times):
            assert client.post("/graph/sync", data=body).status_code == 200
        return len(finished) - before

    assert post(4) == 2
    assert asked == [question] * 4
    said[0] = FrontendReport(entries=(FrontendEntry(address="http://10.0.0.1:8000", pod="f0", models=("a",)),))
    assert post(4) == 2
    assert finished[-1].report == said[0]
    assert len(asked) > 8


def test_remembered_answer_of_another_revision_is_not_given() -> None:
    client, body, computed = resting()
    for _ in range(3):
        client.post("/graph/sync", data=body)
    before = len(computed)
    client.post("/graph/sync?revision=new", data=body)
    assert len(computed) == before + 1
