"""The line of a call, bodies at DEBUG, effects."""

import logging
import sys
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.settings import parse_settings
from hooks.language.api.model import Model
from hooks.server.app import create_app
from hooks.server.routes import Hook
from hooks.server.serving.logs import JsonFormatter, log_bodies
from hooks.wire.metacontroller.effects import Effect, EffectOutcome, EffectResult, EffectSource, ScalePodClique
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.conditions import reference_of
from tests import make
from tests.hook_client import CONFIG_MAP, GOOD, answering, call, client_with, relating


def logged(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [vars(record)["fields"] for record in caplog.records if record.getMessage() == message]


def test_call_has_one_line_with_everything_about_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    client_with(GOOD).post("/graph/sync", data=call(), headers={"X-Request-Id": "i"})
    (line,) = logged(caplog, "call")
    assert line.pop("duration_ms") > 0
    assert line == {
        "sync_id": "i",
        "hook": "graph",
        "call": "sync",
        "parent": "default/g",
        "uid": "u-g",
        "generation": 1,
        "children": {"ConfigMap": 1},
        "notes": ["why"],
        "outcome": "done",
        "status": 200,
    }


def test_line_of_a_call_in_a_trace_has_the_trace_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for answer, message in ((GOOD, "call"), (KeyError("k"), "the hook failed")):
        client_with(answer).post("/graph/sync", data=call(), headers={"traceparent": trace})
        assert {line["trace_id"] for line in logged(caplog, message)} == {"0af7651916cd43dd8448eb211c80319c"}


def test_answer_with_the_last_good_children_is_told_from_success(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    client_with(SyncAnswer(status={}, problems=make.problems("spec is wrong"))).post("/graph/sync", data=call())
    (line,) = logged(caplog, "call")
    assert (line["outcome"], line["status"], line["problems"]) == ("invalid_spec", 200, ["spec is wrong"])


def test_refused_call_says_why_in_its_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    client_with(InvalidSpec(make.problem("spec is wrong"))).post("/graph/sync", data=call())
    (line,) = logged(caplog, "call")
    assert (line["outcome"], line["status"], line["fault"]) == ("invalid_spec", 422, "spec is wrong")
    assert line["parent"] == "default/g"


def test_bug_is_logged_once_with_its_traceback_and_sync_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    response = client_with(KeyError("k")).post("/graph/sync", data=call(), headers={"X-Request-Id": "i"})
    failures = [record for record in caplog.records if record.exc_info]
    assert len(failures) == 1
    assert vars(failures[0])["fields"]["sync_id"] == "i"
    assert "sync id i" in response.text
    assert [line["outcome"] for line in logged(caplog, "call")] == ["failed"]


def test_probes_and_metrics_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    client = client_with(GOOD)
    assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
    assert logged(caplog, "call") == []


SECRETS = {
    "spec": {"services": {"A": {"envs": [{"name": "A", "value": "hidden-1"}]}}},
    "metadata": {
        **make.graph()["metadata"],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"value":"hidden-2"}'},
    },
}
RELATED_SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "default"},
    "data": {"k": "hidden-3"},
}


def test_bodies_are_logged_only_at_debug_and_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    body = call(parent={**make.graph(), **SECRETS}, related={"Secret.v1": {"default/s": RELATED_SECRET}})
    container = {"name": "main", "env": [{"name": "B", "value": "hidden-4"}]}
    child = {**CONFIG_MAP, "spec": {"containers": [container]}}
    client = client_with(SyncAnswer(children=[child], status={"state": "seen"}))
    caplog.set_level(logging.INFO)
    client.post("/graph/sync", data=body)
    assert logged(caplog, "bodies") == []
    caplog.set_level(logging.DEBUG)
    client.post("/graph/sync", data=body)
    (line,) = logged(caplog, "bodies")
    assert "hidden" not in orjson.dumps(line).decode()
    assert line["answer"]["status"] == {"state": "seen"}
    assert line["answer"]["children"][0]["spec"]["containers"][0]["env"][0]["name"] == "B"
    assert list(line["request"]["related"]["Secret.v1"]["default/s"]["data"]) == ["k"]


def test_request_that_is_no_json_where_no_hook_reads_is_logged_without_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    log_bodies("i", b'{"parent":{"metadata":{"managedFields":"\\ud800"}}}', b'{"status":{}}')
    assert logged(caplog, "bodies") == [{"sync_id": "i", "request": None, "answer": {"status": {}}}]


EFFECT = ScalePodClique(kind="PodClique", namespace="ns", name="a", replicas=2)


def test_effects_without_a_client_are_logged_as_not_carried_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    response = client_with(SyncAnswer(status={}, effects=(EFFECT,))).post("/graph/sync", data=call())
    assert response.status_code == 200
    assert [line["effects"] for line in logged(caplog, "call")] == ["not carried out: ScalePodClique"]


def test_effects_are_handed_on_once_the_answer_is_good() -> None:
    carried: list[Effect] = []
    sources: list[EffectSource] = []

    def carry_out(effects: tuple[Effect, ...], source: EffectSource) -> list[EffectResult]:
        sources.append(source)
        carried.extend(effects)
        return [EffectResult(effect=effect, outcome=EffectOutcome.DONE) for effect in effects]

    good = client_with(SyncAnswer(status={}, effects=(EFFECT,)), carry_out=carry_out)
    bad = client_with(SyncAnswer(effects=(EFFECT,)), carry_out=carry_out)
    assert bad.post("/graph/sync", data=call()).status_code == 500
    assert carried == []
    assert good.post("/graph/sync", data=call()).status_code == 200
    assert carried == [EFFECT]
    parent = make.graph()
    assert sources == [EffectSource(parent=reference_of(parent), generation=1)]


def test_effect_that_is_switched_off_is_not_handed_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hook = Hook(kind=contract.GRAPH, sync=answering(SyncAnswer(status={}, effects=(EFFECT,))), customize=relating)
    settings = parse_settings({}, {"effect_scale": "off"})
    app = create_app(
        settings, lambda: make.NOW, hooks={"graph": hook}, carry_out=lambda effects, _source: pytest.fail(str(effects))
    )
    assert app.test_client().post("/graph/sync", data=call()).status_code == 200
    assert [line.get("effects") for line in logged(caplog, "call")] == [None]


def test_failing_effect_does_not_fail_the_sync(caplog: pytest.LogCaptureFixture) -> None:
    def fail(effects: Any, source: Any) -> None:
        raise ConnectionError("no server")

    caplog.set_level(logging.INFO)
    response = client_with(SyncAnswer(status={}, effects=(EFFECT,)), carry_out=fail).post("/graph/sync", data=call())
    assert response.status_code == 200
    assert [line["effects"] for line in logged(caplog, "call")] == [
        "failed: scale PodClique ns/a to 2: a bug of the hook (ConnectionError)"
    ]


def test_what_came_of_effects_is_in_the_line_of_the_call(caplog: pytest.LogCaptureFixture) -> None:
    other = ScalePodClique(kind="PodClique", namespace="ns", name="b", replicas=3)
    refused = [
        EffectResult(effect=EFFECT, outcome=EffectOutcome.DONE),
        EffectResult(effect=other, outcome=EffectOutcome.FAILED, reason="403 forbidden"),
    ]
    caplog.set_level(logging.INFO)
    unwanted = [EffectResult(effect=EFFECT, outcome=EffectOutcome.REFUSED, reason="nobody asks for it")]
    for results in (refused, refused[:1], unwanted, [*refused, *unwanted]):
        answer = SyncAnswer(status={}, effects=(EFFECT, other))
        client_with(answer, carry_out=lambda _effects, _source, told=results: told).post("/graph/sync", data=call())
    failed, forged = "scale PodClique ns/b to 3: 403 forbidden", "scale PodClique ns/a to 2: nobody asks for it"
    expected = [
        f"failed: {failed}",
        "carried out: ScalePodClique",
        f"refused: {forged}",
        f"failed: {failed}; refused: {forged}",
    ]
    assert [line["effects"] for line in logged(caplog, "call")] == expected


def format_failure(error: Exception) -> dict[str, Any]:
    try:
        raise error
    except type(error):
        record = logging.getLogger("hooks").makeRecord("hooks", 40, "f", 1, "failed", (), sys.exc_info())
    line: dict[str, Any] = orjson.loads(JsonFormatter().format(record))
    return line


def test_traceback_names_error_and_place() -> None:
    line = format_failure(KeyError("k"))
    assert line["level"] == "error"
    assert "test_logs.py" in line["traceback"]
    assert line["traceback"].endswith("KeyError: 'k'")


def test_traceback_goes_back_to_the_first_cause() -> None:
    failure = KeyError("k")
    failure.__cause__ = ValueError("first")
    line = format_failure(failure)
    assert line["traceback"].endswith("KeyError: 'k'\nwhile handling:\nValueError: first")


def test_traceback_of_a_validation_error_does_not_quote_the_input() -> None:
    given = {"metadata": {"name": {"value": "hidden"}}}
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(given)
    line = format_failure(caught.value)
    assert "hidden" not in line["traceback"]
    assert "metadata.name: Input should be a valid string" in line["traceback"]


def test_line_with_text_that_is_no_unicode_is_still_json() -> None:
    record = logging.getLogger("hooks").makeRecord("hooks", 20, "f", 1, "file %s", ("\udcff",), None)
    assert orjson.loads(JsonFormatter().format(record).replace("\\udcff", "?"))["message"] == "file ?"
