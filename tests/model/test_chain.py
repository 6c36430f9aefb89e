"""Hook, prober and engines together: Metacontroller's calls in, requests on real sockets out."""

import functools
import json
import logging
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from flask.testing import FlaskClient

from hooks.ground.settings import parse_settings
from hooks.model.prober.limits import Limits
from hooks.server.app import create_app
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.lora_api import open_transport, perform
from tests.model import parts
from tests.model.prober.engines import EngineState, RunningEngine, run_engine
from tests.waiting import wait_for

LIMITS = Limits(verify_interval=0.1, list_timeout=0.5, first_backoff=0.02, longest_backoff=0.2)


@pytest.fixture
def engine() -> Iterator[RunningEngine]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        port = probe.getsockname()[1]
    with run_engine(EngineState(), port=port) as engine:
        yield engine


@pytest.fixture
def client(engine: RunningEngine) -> Iterator[FlaskClient]:
    dispatcher = Dispatcher(LIMITS, functools.partial(perform, open_transport(), rules=parts.ANY_ENGINE))
    dispatcher.start()
    port = engine.target.address.rpartition(":")[2]
    settings = parse_settings({}, {"engine_port": port, "engine_addresses": "any"})
    yield create_app(
        settings, lambda: datetime.now(UTC), lambda request, origin: dispatcher.ask(request, origin.traceparent)
    ).test_client()
    dispatcher.stop()


class Metacontroller:
    """Calls the model hook again and again, writing each status back, as the decorator controller does."""

    def __init__(self, client: FlaskClient, parent: Any, *related: Any) -> None:
        self.client, self.parent, self.related = client, parent, related
        self.headers: dict[str, str] = {}

    def call(self, name: str, *, finalizing: bool = False) -> Any:
        groups: dict[str, dict[str, Any]] = {}
        for one in self.related:
            kind = f"{one['kind']}.{one['apiVersion']}"
            groups.setdefault(kind, {})[f"{one['metadata']['namespace']}/{one['metadata']['name']}"] = one
        body = {"object": self.parent, "attachments": {}, "related": groups, "finalizing": finalizing}
        answer = self.client.post(f"/model/{name}", data=json.dumps(body), headers=self.headers)
        if answer.status_code == 429:
            return {}
        assert answer.status_code == 200, answer.text
        document = answer.get_json()
        if document.get("status") is not None:
            self.parent = {**self.parent, "status": document["status"]}
        return document

    def until(self, name: str, is_done: Callable[[Any], bool], *, finalizing: bool = False) -> Any:
        document: Any = None

        def is_as_wanted() -> bool:
            nonlocal document
            document = self.call(name, finalizing=finalizing)
            return is_done(document)

        wait_for(is_as_wanted, lambda: document)
        return document

    def until_ready(self) -> Any:
        return self.until("sync", lambda answer: parts.condition(answer["status"], "Ready")["status"] == "True")[
            "status"
        ]


def test_model_is_loaded_changed_renamed_and_unloaded(client: FlaskClient, engine: RunningEngine) -> None:
    slices = parts.endpoint_slice(endpoints=[parts.endpoint("w0", "127.0.0.2", ready=True)])
    controller = Metacontroller(client, parts.model(adapter="org/a"), slices)
    status = controller.until_ready()
    assert engine.state.held == {"org/a": parts.URI}
    assert (status["readyEndpoints"], status["totalEndpoints"]) == (1, 1)

    changed = parts.model(adapter="org/a", uri="s3://bucket/new", generation=2, status=status)
    controller.parent = changed
    controller.until_ready()
    assert engine.state.held == {"org/a": "s3://bucket/new"}

    renamed = parts.model(adapter="b", uri="s3://bucket/new", generation=3, status=controller.parent["status"])
    controller.parent = renamed
    controller.until("sync", lambda answer: [a["name"] for a in answer["status"]["adapters"]] == ["b"])
    controller.until_ready()
    assert engine.state.held == {"b": "s3://bucket/new"}

    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {**controller.parent["metadata"], "deletionTimestamp": now}
    controller.parent = {**controller.parent, "metadata": metadata}
    controller.until("finalize", lambda answer: answer.get("finalized", False), finalizing=True)
    assert engine.state.held == {}


def test_trace_of_the_caller_reaches_log_and_engine(
    client: FlaskClient, engine: RunningEngine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    trace, identity = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"
    slices = parts.endpoint_slice(endpoints=[parts.endpoint("w0", "127.0.0.2", ready=True)])
    controller = Metacontroller(client, parts.model(adapter="org/a"), slices)
    controller.headers = {"traceparent": trace}
    controller.call("sync")
    controller.headers = {}  # asked again without it, the load is still that of the first caller
    controller.until_ready()
    assert {(method, found) for method, found in engine.state.traces if method != "GET"} == {("POST", trace)}
    fields = [vars(record)["fields"] for record in caplog.records if record.getMessage() in {"call", "engine call"}]
    assert [line["trace_id"] for line in fields if "trace_id" in line] == [identity, identity]

    controller.parent = parts.model(
        adapter="org/a", uri="s3://bucket/new", generation=2, status=controller.parent["status"]
    )
    controller.until_ready()
    assert ("POST", "") in engine.state.traces, "another spec is not the first caller's"
