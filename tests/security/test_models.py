"""Tokens, passwords in URLs, and what engines answer: neither the prober nor the model's hook says them.

An engine may be anything that somebody's EndpointSlice points to, so its answers are not repeated either.
"""

import io
import json
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
import requests
import responses
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from hooks.ground.errors import ProberUnavailable
from hooks.ground.settings import parse_settings
from hooks.model.prober.calls import EngineAction, EngineCall
from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendCall, FrontendEnd
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, EngineTarget, LoadReport, LoadRequest
from hooks.model.prober.reconciler import FIRST_TERM
from hooks.server.clients.etcd import EtcdClient
from hooks.server.clients.prober_client import ProberClient
from hooks.server.prober.app import create_prober_app
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.frontend_dispatcher import FrontendDispatcher
from hooks.server.prober.lora_api import perform
from hooks.server.serving.call_id import CallId
from hooks.wire.metacontroller.effects import Effect, EtcdPrefixDrop
from hooks.wire.prober.messages import write_message
from tests import make
from tests.model import parts
from tests.security.canaries import TEXT, find_canaries, list_lines

ADDRESS = "http://127.0.0.2:9090"
URI = f"s3://key:{TEXT}@bucket/adapter"
_SOURCES = frozenset({"adapters", "endpoints"})
"""Fields of a model's status that repeat the source, which the prober needs after a restart."""
STATUSES = (200, 204, 302, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503)
BODIES: dict[str, bytes] = {
    "text": TEXT.encode(),
    "message": json.dumps({"status": "error", "message": f"RepositoryNotFound: {TEXT}"}).encode(),
    "error": json.dumps({"error": {"detail": TEXT, "token": TEXT}}).encode(),
    "detail": json.dumps({"detail": [{"loc": [TEXT], "msg": f"max_lora_rank {TEXT}"}]}).encode(),
    "unsupported": json.dumps({"message": f"LoRA management not available: {TEXT}"}).encode(),
    "list": json.dumps({"loras": {TEXT: 5, "b": [TEXT]}}).encode(),
    "wrong list": json.dumps({"loras": [{TEXT: TEXT}]}).encode(),
    "page": f"<html>{TEXT}\n\n{TEXT}".encode() * 100,
    "half": json.dumps({"message": TEXT}).encode()[:-3],
}


class Engine(HTTPAdapter):
    """Answers each request with a status, a body, and the canary in headers."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__()
        self.status, self.body = status, body

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        response = requests.Response()
        response.status_code, response.url, response.request = self.status, str(request.url), request
        response.reason = TEXT
        response.headers.update({"Location": f"http://x/{TEXT}", "WWW-Authenticate": TEXT})
        response.raw = HTTPResponse(io.BytesIO(self.body), status=self.status, preload_content=False)
        return response


class Broken(Engine):
    """Breaks the connection with a text of its own."""

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        raise requests.ConnectionError(f"{TEXT} {request.url}")


def call_engine(engine: HTTPAdapter) -> Callable[[EngineCall], Any]:
    return partial(perform, engine, rules=parts.ANY_ENGINE)


def wanted(uri: str = "s3://b/a") -> LoadRequest:
    target = EngineTarget(address=ADDRESS, pod="w0", recorded=uri)
    return LoadRequest(
        namespace="default", name="m", adapter=Adapter(name="a", uri=uri), former=("b",), targets=(target,)
    )


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_answers_of_engines_are_not_repeated(body: bytes) -> None:
    said = []
    for status in STATUSES:
        for action in EngineAction:
            call = EngineCall(address=ADDRESS, pod="w0", action=action, adapter="a", uri=URI, timeout=1.0, started=0.0)
            said.append((f"{action} {status}", call_engine(Engine(status, body))(call).message))
    assert find_canaries(said) == []


def refuse_to_answer(_call: FrontendCall) -> FrontendAnswer:
    return FrontendAnswer(outcome=FrontendEnd.UNREACHABLE)


def test_what_the_prober_logs_counts_and_shows(caplog: pytest.LogCaptureFixture) -> None:
    """A password in a source gets to the engine, and nowhere else."""
    caplog.set_level(logging.DEBUG)
    said: list[tuple[str, Any]] = []
    reports: list[Any] = []
    for engine in (*(Engine(status, body) for status in (200, 404, 500) for body in BODIES.values()), Broken(0, b"")):
        dispatcher = Dispatcher(Limits(), call_engine(engine))
        frontends = FrontendDispatcher(refuse_to_answer, lambda: FIRST_TERM, dispatcher.metrics.registry)
        client = create_prober_app(dispatcher, frontends, token=TEXT).test_client()
        head = {"Authorization": f"Bearer {TEXT}"}
        dispatcher.start()
        try:
            for _ in range(3):
                answer = client.put("/v1/models/default/m", data=write_message(wanted(URI)), headers=head)
                reports.append(answer.json)
            said += [
                ("refusal", client.put("/v1/models/default/m", data=b"x", headers={"Authorization": TEXT}).text),
                ("models", client.get("/v1/models", headers=head).text),
                ("shown", client.get("/v1/models/default/m", headers=head).text),
                ("metrics", client.get("/metrics").text),
            ]
        finally:
            dispatcher.stop()
    assert all(len(report["endpoints"]) == 1 for report in reports)
    said += [("error", entry.get("last_error", "")) for report in reports for entry in report["endpoints"]]
    assert find_canaries([*said, *list_lines(caplog)]) == []


@pytest.mark.parametrize("body", ["", f"Bearer {TEXT}", f"{TEXT} is not a token\n{TEXT}"])
@pytest.mark.parametrize("status", [200, 302, 400, 401, 500])
def test_token_and_password_of_the_prober_are_in_no_error(status: int, body: str) -> None:
    client = ProberClient(f"http://me:{TEXT}@127.0.0.1:9191", token=TEXT)
    with responses.RequestsMock() as mock:
        mock.put("http://me:canary-5f1c@127.0.0.1:9191/v1/models/default/m", status=status, body=body)
        with pytest.raises(ProberUnavailable) as caught:
            client.ask(wanted())
    assert find_canaries([("error", str(caught.value))]) == []


def test_prober_that_is_gone_is_named_without_its_password() -> None:
    with pytest.raises(ProberUnavailable) as caught, responses.RequestsMock():
        ProberClient(f"http://me:{TEXT}@127.0.0.1:9191", token=TEXT).ask(wanted())
    assert find_canaries([("error", str(caught.value))]) == []
    assert "127.0.0.1:9191" in str(caught.value)


def report_loading(request: LoadRequest, _origin: CallId) -> LoadReport:
    return parts.report(request, AdapterPhase.LOADED, AdapterPhase.FAILED, last_error="HTTP 500: the engine failed")


def refuse(_request: LoadRequest, _origin: CallId) -> LoadReport:
    raise ProberUnavailable("the prober cannot be reached")


def lose(_request: LoadRequest, _origin: CallId) -> LoadReport:
    raise KeyError("adapter")


SPECS: dict[str, dict[str, Any]] = {
    "sound": {},
    "wrong type": {"modelType": "wrong"},
    "wrong scheme": {"source": {"uri": f"https://me:{TEXT}@hub/a"}},
    "text as source": {"source": URI},
    "list as source": {"source": {"uri": [URI]}},
}


@pytest.mark.parametrize("ask", [report_loading, refuse, lose])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_hook_of_models(
    ask: Callable[[LoadRequest, CallId], LoadReport],
    spec: Mapping[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    effects: list[Effect] = []

    def keep(given: tuple[Effect, ...], _source: Any) -> list[Any]:
        effects.extend(given)
        return []

    settings = parse_settings({}, {})
    client = parts.app_asking(ask, settings, carry_out=keep).test_client()
    model = parts.model(uri=URI)
    model = {**model, "spec": {**model["spec"], **spec}}
    said: list[tuple[str, Any]] = []
    for call in ("sync", "finalize"):
        request = make.wire_request(model, related=[parts.pods(2)])
        body = {"object": request.pop("parent"), "attachments": request.pop("children"), **request}
        answer = client.post(f"/model/{call}", json=body)
        status = (answer.json or {}).get("status") if answer.is_json else {"error": answer.text}
        said.append(("status", {key: value for key, value in (status or {}).items() if key not in _SOURCES}))
    if not spec:
        said += list_lines(caplog)
    said += [("effects", str(effects)), ("metrics", client.get("/metrics").text), *list_lines(caplog, logging.INFO)]
    assert find_canaries(said) == []


def test_password_of_etcd_is_in_no_fault() -> None:
    client = EtcdClient.at(f"http://root:{TEXT}@127.0.0.1:2379,http://root:{TEXT}@127.0.0.1:2380")
    for answer in (
        {"status": 401, "body": TEXT},
        {"status": 200, "body": TEXT},
        {"body": requests.ConnectionError(TEXT)},
    ):
        with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
            for port in (2379, 2380):
                mock.post(f"http://root:{TEXT}@127.0.0.1:{port}/v3/kv/deleterange", **answer)
            report = client.drop(EtcdPrefixDrop(prefix="v1/instances/x"))
        assert report.fault
        assert find_canaries([("fault", report.fault)]) == []
