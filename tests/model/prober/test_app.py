import time
from collections.abc import Iterator

import msgspec
import pytest
from flask.testing import FlaskClient

from hooks.model.prober.calls import CallOutcome, EngineAnswer
from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, EngineTarget, LoadReport, LoadRequest, Term
from hooks.model.prober.reconciler import FIRST_TERM
from hooks.server.prober.app import create_prober_app
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.frontend_dispatcher import FrontendDispatcher
from hooks.wire.prober.frontends import FrontendQuestion, FrontendReport, FrontendTarget
from hooks.wire.prober.messages import read_message, write_message
from tests.model.prober.test_dispatcher import wait_until

PATH = "/v1/models/default/m"
WANTED = LoadRequest(
    namespace="default",
    name="m",
    adapter=Adapter(name="a", uri="s3://b/a"),
    targets=(EngineTarget(address="http://127.0.0.2:9090", pod="w0"),),
)


@pytest.fixture
def dispatcher() -> Iterator[Dispatcher]:
    """A dispatcher whose engines all hold the adapter."""
    dispatcher = Dispatcher(Limits(), lambda _call: EngineAnswer(outcome=CallOutcome.OK, names=frozenset({"a"})))
    dispatcher.start()
    yield dispatcher
    dispatcher.stop()


@pytest.fixture
def frontends(dispatcher: Dispatcher) -> Iterator[FrontendDispatcher]:
    """What asks frontends, which all refuse connections."""
    frontends = FrontendDispatcher(refuse_connection, lambda: dispatcher.term, dispatcher.metrics.registry)
    frontends.start()
    yield frontends
    frontends.stop()


def refuse_connection(_call: FrontendCall) -> FrontendAnswer:
    return FrontendAnswer(outcome=FrontendEnd.UNREACHABLE, error="it refuses connections")


@pytest.fixture
def client(dispatcher: Dispatcher, frontends: FrontendDispatcher) -> FlaskClient:
    return create_prober_app(dispatcher, frontends).test_client()


def test_request_is_answered_at_once_with_what_is_known(client: FlaskClient) -> None:
    answer = client.put(PATH, data=write_message(WANTED))
    report = read_message(answer.data, LoadReport)
    assert report.starting
    assert report.endpoints[0].phase is AdapterPhase.UNKNOWN


def test_get_shows_request_and_report_and_does_not_renew_the_mandate(client: FlaskClient) -> None:
    assert client.get(PATH).status_code == 404
    client.put(PATH, data=write_message(WANTED))
    shown = client.get(PATH).get_json()
    assert shown["request"]["adapter"] == {"name": "a", "uri": "s3://b/a"}
    assert shown["report"]["endpoints"][0]["address"] == "http://127.0.0.2:9090"
    assert client.get("/v1/models").get_json() == {"models": ["default/m"]}


@pytest.mark.parametrize("name", ["y" * 70_000, "[" * 3_000, "a\n\u202eb"], ids=["long", "brackets", "lines"])
def test_answer_about_a_wrong_name_is_one_short_line(name: str, client: FlaskClient) -> None:
    answer = client.put(PATH, data=write_message(msgspec.structs.replace(WANTED, name=name)))
    assert answer.status_code == 400
    assert answer.text.startswith("the body names the model default/")
    assert len(answer.text) < 1100
    assert answer.text.strip().isprintable()


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("{", "the body is not a valid load request: "),
        ("{}", "the body is not a valid load request: Object missing required field `namespace`"),
        ('{"namespace": "default", "name": "x"}', "the body names the model default/x, the path default/m"),
        (
            write_message(WANTED).decode().replace("127.0.0.2:9090", "evil.example/x"),
            "the body is not a valid load request: Expected `str` matching regex",
        ),
        (
            write_message(WANTED).decode().replace('"name":"a"', '"name":""'),
            "the body is not a valid load request: Expected `str` of length >= 1 - at `$.adapter.name`",
        ),
    ],
    ids=["no json", "empty", "another model", "no address", "no name"],
)
def test_invalid_body_is_refused_in_one_line(client: FlaskClient, body: str, line: str) -> None:
    answer = client.put(PATH, data=body)
    assert answer.status_code == 400
    assert answer.text.startswith(line)
    assert answer.text.count("\n") == 1


def test_models_need_the_token(
    dispatcher: Dispatcher, frontends: FrontendDispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    client = create_prober_app(dispatcher, frontends, token="secret").test_client()
    peer = {"REMOTE_ADDR": "192.0.2.7"}
    assert client.put(PATH, data=write_message(WANTED), environ_base=peer).status_code == 401
    assert [vars(one)["fields"] for one in caplog.records if one.message == "refused"] == [{"peer": "192.0.2.7"}]
    wrong = client.get("/v1/models", headers={"Authorization": "Bearer wröng"})
    assert (wrong.status_code, wrong.text.count("\n")) == (401, 1)
    right = {"Authorization": "Bearer secret"}
    assert client.put(PATH, data=write_message(WANTED), headers=right).status_code == 200
    assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200, 200, 200]


def test_prober_outside_its_term_takes_no_request(dispatcher: Dispatcher, frontends: FrontendDispatcher) -> None:
    client = create_prober_app(dispatcher, frontends).test_client()
    ended = client.put("/v1/term", data=write_message(Term(number=2)))
    assert ended.status_code == 200
    refused = client.put(PATH, data=write_message(WANTED))
    assert (refused.status_code, refused.text.count("\n")) == (409, 1)
    late = client.put("/v1/term", data=write_message(Term(number=1, until=time.monotonic() + 60)))
    assert late.status_code == 409
    assert client.put("/v1/term", data=b"{").status_code == 400
    assert read_message(client.get("/v1/term").data, Term) == Term(number=2)
    client.put("/v1/term", data=write_message(Term(number=3, until=time.monotonic() + 60)))
    assert client.put(PATH, data=write_message(WANTED)).status_code == 200


def test_term_needs_the_token(dispatcher: Dispatcher, frontends: FrontendDispatcher) -> None:
    client = create_prober_app(dispatcher, frontends, token="secret").test_client()
    body = write_message(Term(number=2, until=time.monotonic() + 60))
    assert client.put("/v1/term", data=body).status_code == 401
    assert client.put("/v1/term", data=body, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_prober_whose_thread_has_ended_shows_no_term(dispatcher: Dispatcher, frontends: FrontendDispatcher) -> None:
    client = create_prober_app(dispatcher, frontends).test_client()
    assert read_message(client.get("/v1/term").data, Term) == FIRST_TERM
    dispatcher.stop()
    assert (client.get("/v1/term").status_code, client.get("/v1/models").status_code) == (503, 200)


def test_metrics_page_has_what_dashboards_need(client: FlaskClient) -> None:
    client.put(PATH, data=write_message(WANTED))
    page = client.get("/metrics").text
    for name in (
        "dynamo_prober_adapters_wanted 1.0",
        "dynamo_prober_adapters_loaded",
        "dynamo_prober_adapters_failed 0.0",
        "dynamo_prober_load_seconds_bucket",
        "dynamo_prober_loss_detection_seconds_bucket",
        "process_resident_memory_bytes",
        "dynamo_hooks_build_info{",
    ):
        assert name in page


def test_health_ends_with_the_dispatcher(
    dispatcher: Dispatcher, frontends: FrontendDispatcher, client: FlaskClient
) -> None:
    dispatcher.stop()
    assert client.get("/healthz").status_code == 503


def test_unknown_path_is_one_line(client: FlaskClient) -> None:
    answer = client.get("/v2")
    assert (answer.status_code, answer.text.count("\n")) == (404, 1)


QUESTION = FrontendQuestion(
    namespace="default", name="g", targets=(FrontendTarget(address="http://127.0.0.2:8000", pod="f0"),)
)


def test_question_about_frontends_is_answered_with_what_is_known(client: FlaskClient) -> None:
    path = "/v1/frontends/default/g"
    assert client.get(path).status_code == 404
    first = read_message(client.put(path, data=write_message(QUESTION)).data, FrontendReport)
    assert [one.pod for one in first.entries] == ["f0"]
    wait_until(lambda: client.get(path).get_json()["report"]["entries"][0].get("error") == "it refuses connections")
    assert client.get("/v1/frontends").get_json() == {"graphs": ["default/g"]}
    changed = client.post("/v1/frontends/changes", data=b"{}").get_json()
    assert changed == {"graphs": [{"namespace": "default", "name": "g"}]}
    assert client.post("/v1/frontends/changes", data=b"{}").get_json() == {}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("[]", "the body is not a valid question: "),
        ('{"namespace": "default", "name": "x"}', "the body names the graph default/x, the path default/g"),
        (
            write_message(QUESTION).decode().replace("127.0.0.2:8000", "evil.example:80"),
            "the body is not a valid question: Expected `str` matching regex",
        ),
        (
            write_message(QUESTION).decode().replace('"pod"', '"path":"/a?b","pod"'),
            "the body is not a valid question: Expected `str` matching regex",
        ),
    ],
    ids=["no question", "another graph", "no address", "no path"],
)
def test_invalid_question_is_refused_in_one_line(client: FlaskClient, body: str, line: str) -> None:
    answer = client.put("/v1/frontends/default/g", data=body)
    assert answer.status_code == 400
    assert answer.text.startswith(line)
    assert answer.text.count("\n") == 1


def test_prober_outside_its_term_asks_no_frontend(client: FlaskClient) -> None:
    client.put("/v1/term", data=write_message(Term(number=2)))
    answer = client.put("/v1/frontends/default/g", data=write_message(QUESTION))
    assert (answer.status_code, answer.text.count("\n")) == (409, 1)
    assert client.post("/v1/frontends/changes", data=b"{}").get_json() == {}
