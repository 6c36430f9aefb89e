"""Recorded calls: what is kept of them, and that their answers are those of the calls themselves."""

import base64
import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings, parse_settings
from hooks.model.prober.messages import AdapterPhase, LoadReport, LoadRequest, write_message
from hooks.server.app import create_app
from hooks.server.recording.answering import Heard, record_call, replay_call
from hooks.server.recording.blanking import Blanks, blank, find_plain_values
from hooks.server.recording.calls import Answered, RecordedCall, write_call
from hooks.server.recording.keeping import Keeper, make_room, read_calls
from hooks.server.serving.origin import CallOrigin
from hooks.server.serving.web import ServedBy
from hooks.tools.offline.diff.fields import compare_objects
from hooks.tools.offline.replay.answers import compare_answers
from hooks.tools.offline.replay.asked import wanted_of
from hooks.wire.metacontroller.queries import write_answers
from tests import make
from tests.faults.stage import Stage
from tests.model import parts
from tests.sequences.calls import Call, forget
from tests.sequences.rest import come_to_rest
from tests.sequences.wishes import ROADS

SECRET = "hunter2-x"
SETTINGS = parse_settings({}, {})
BLANKS = Blanks(b"k")


@pytest.fixture(scope="module", params=["components", "lws", "grove"])
def calls(request: pytest.FixtureRequest) -> list[Call]:
    """All calls of a graph's way to Ready, and of a resync; its pods have a variable."""
    stage = Stage(ROADS[request.param])
    heard: list[Call] = []
    take = stage.server.take_calls

    def keep() -> list[Call]:
        found = take()
        heard.extend(found)
        return found

    stage.server.take_calls = keep  # type: ignore[method-assign]
    stage.valid["spec"]["envs"] = [{"name": "USER_0", "value": SECRET}]
    stage.write(stage.valid, is_valid=True)
    stage.record("a user writes the graph")
    come_to_rest(stage)
    return [call for call in heard if call.said]


def record(path: str, body: bytes, answer: bytes, settings: Settings = SETTINGS) -> RecordedCall:
    call = record_call(Heard(path, body, answer), now=make.NOW, settings=settings, key=BLANKS.key)
    assert call is not None
    return call


def recorded(call: Call) -> RecordedCall:
    heard = Heard(call.path, call.body, call.answer, found=write_answers(call.found) if call.found else b"")
    found = record_call(heard, now=call.now, settings=SETTINGS, key=BLANKS.key)
    assert found is not None
    return found


def test_answer_to_a_call_without_secrets_is_the_one_that_was_given(calls: list[Call]) -> None:
    assert len(calls) > 5
    for call in calls:
        found = recorded(call)
        known = frozenset(find_plain_values(found.answered.answer))
        given = Answered(code=200, answer=blank(call.said, Blanks(BLANKS.key, known)))
        assert not compare_answers(given, found.answered)
        pairs = zip(wanted_of(given) or (), wanted_of(found.answered) or (), strict=True)
        assert [change for old, new in pairs for change in compare_objects(old, new)] == []
        assert replay_call(found, {}) == found.answered
        assert SECRET not in write_call(found).decode()


@pytest.fixture(autouse=True)
def _fresh_memory() -> Any:
    yield
    forget()


@pytest.mark.parametrize("value", [SECRET, 748159, 0.25, {SECRET: SECRET}, [SECRET]], ids=repr)
def test_value_of_a_variable_keeps_its_type_and_nothing_else(value: Any) -> None:
    found = blank({"envs": [{"name": "P", "value": value}]}, BLANKS)["envs"][0]["value"]
    assert type(found) is type(value)
    assert found != value
    assert SECRET not in json.dumps(found)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"spec": {"envs": [{"name": "P", "value": SECRET}]}}),
        f"spec:\n  envs:\n  - name: P\n    value: {SECRET}\n",
        f"env: [{SECRET}",
    ],
    ids=["JSON", "YAML", "neither"],
)
def test_values_in_texts_are_blanked_too(text: str) -> None:
    bodies = [
        {"kind": "ConfigMap", "data": {"a": text}},
        {"metadata": {"annotations": {contract.ANNOTATION_LAST_APPLIED: text}}},
    ]
    assert [body for body in bodies if SECRET in json.dumps(blank(body, BLANKS))] == []


def test_equal_values_stay_equal_and_others_stay_what_they_are() -> None:
    body = {"a": {"env": [{"name": "P", "value": "x"}]}, "b": {"envs": [{"name": "Q", "value": "x"}]}, "c": "x"}
    found = blank(body, BLANKS)
    assert found["a"]["env"][0]["value"] == found["b"]["envs"][0]["value"] == BLANKS.text("x")
    assert found["c"] == "x"
    assert Blanks(b"other").text("x") != BLANKS.text("x")


def test_registry_secret_keeps_its_hosts() -> None:
    secret = make.pull_secret("s", "nvcr.io")
    found = blank({**secret, "stringData": {"a": SECRET}}, BLANKS)
    (data,) = found["data"].values()
    assert list(orjson.loads(base64.b64decode(data))["auths"]) == ["nvcr.io"]
    assert SECRET not in json.dumps(found)
    assert found["data"] != secret["data"]


def graph() -> Manifest:
    found = make.graph({"Frontend": make.service("frontend", envs=[{"name": "P", "value": SECRET}])})
    metadata = {"namespace": "default", "uid": "u", "generation": 1, **found["metadata"]}
    return {**found, "metadata": {**metadata, "creationTimestamp": "2026-03-01T11:00:00Z"}}


def serve(directory: Path, **settings: str) -> Any:
    given = parse_settings({}, settings)
    keeper = Keeper(directory, given, lambda: make.NOW)
    served_by = ServedBy(record=lambda *heard: keeper.keep(Heard(*heard)))
    return create_app(given, lambda: make.NOW, served_by=served_by).test_client()


def test_server_keeps_calls_for_its_owner_alone_and_the_same_call_once(tmp_path: Path) -> None:
    client = serve(tmp_path / "calls", nats_address="nats://me:pass-x@nats:4222")
    for _ in range(2):
        assert client.post("/graph/sync", json=make.wire_request(graph())).status_code == 200
    assert client.post("/graph/sync", data=b"no JSON").status_code == 400
    (file,) = (tmp_path / "calls").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert SECRET not in file.read_text()
    assert "pass-x" not in file.read_text()
    ((_, call),) = read_calls(tmp_path / "calls")
    assert (call.path, call.parent, call.answered.code) == ("/graph/sync", "DynamoGraphDeployment default/g", 200)


def test_directory_that_cannot_be_written_fails_no_call_and_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    client = serve(tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        codes = {client.post("/graph/sync", json=make.wire_request(graph())).status_code for _ in range(3)}
    assert codes == {200}
    assert [record.getMessage() for record in caplog.records] == ["calls cannot be recorded"]


def test_oldest_calls_make_room(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"{number}.call.json"
        path.write_bytes(b"12345")
        os.utime(path, (number, number))
    make_room(tmp_path, max_calls=3, max_bytes=100)
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["2", "3", "4"]
    make_room(tmp_path, max_calls=3, max_bytes=11)
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["3", "4"]


def test_call_of_a_model_is_kept_with_what_the_prober_said(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, SETTINGS, lambda: make.NOW)
    served_by = ServedBy(record=lambda *heard: keeper.keep(Heard(*heard)))
    given: list[LoadReport] = []

    def ask(wanted: LoadRequest, _origin: CallOrigin) -> LoadReport:
        given.append(parts.report(wanted, AdapterPhase.LOADED, AdapterPhase.FAILED))
        return given[-1]

    client = parts.app_asking(ask, SETTINGS, served_by=served_by).test_client()
    request = make.wire_request(parts.model(), related=[parts.pods(2)])
    decorated = {"object": request.pop("parent"), "attachments": request.pop("children"), **request}
    answer = client.post("/model/sync", json=decorated)
    ((_, kept),) = read_calls(tmp_path)
    assert kept.report == json.loads(write_message(given[0]))
    assert replay_call(kept, {}) == kept.answered == Answered(code=200, answer=answer.json)
    assert [one["phase"] for one in kept.answered.answer["status"]["endpoints"]] == ["Loaded", "Failed"]
    assert replay_call(replace(kept, report=None), {}).code == 503
    assert [named[3] for named, _ in kept.verdicts] == ["10.0.0.1", "10.0.0.2"]
    unchecked = replay_call(replace(kept, verdicts=None), {}).answer["status"]
    assert [one["phase"] for one in unchecked["endpoints"]] == ["Pending", "Pending"]


def component() -> Manifest:
    found = make.component(componentType="frontend", dynamoNamespace="d")
    metadata = {"namespace": "default", "uid": "u", "generation": 1, **found["metadata"]}
    return {**found, "metadata": {**metadata, "creationTimestamp": "2026-03-01T11:00:00Z"}}
