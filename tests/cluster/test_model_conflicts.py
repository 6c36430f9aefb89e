"""A model's status that a real Metacontroller could not write, because somebody else wrote it at the same moment."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from werkzeug.serving import make_server

from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.server.app import create_app
from hooks.server.routes import served_hooks
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, MODEL, condition, running_controllers
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest
from tests.model import parts
from tests.waiting import stretch

NAME = "m"


class Rival:
    """Writes a model's status while the hook computes another one, a few times."""

    def __init__(self) -> None:
        self.api: ApiClient | None = None
        self.left = 0
        self.written = 0

    def write(self) -> None:
        if self.api is not None and self.left:
            self.left -= 1
            self.written += 1
            # Of the status alone, so Metacontroller starts no sync for it.
            self.api.patch(DYNAMO, MODEL, NAME, {"status": {"unsupportedEndpoints": self.written}}, sub="status")


@pytest.fixture(scope="module")
def rival() -> Rival:
    return Rival()


@pytest.fixture(scope="module", autouse=True)
def controllers(admin: ApiClient, metacontroller: HttpServer, rival: Rival) -> Iterator[None]:
    settings = parse_settings({})
    table = served_hooks(settings)
    honest = table["model"]

    def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
        answer = honest.sync(request, facts)
        rival.write()
        return answer

    app = create_app(settings, lambda: datetime.now(UTC), hooks={**table, "model": replace(honest, sync=sync)})
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with running_controllers(admin, f"http://127.0.0.1:{server.server_port}"):
        yield
    server.shutdown()
    thread.join()
    server.server_close()


def test_status_that_met_a_conflict_is_written_long_before_the_resync(api: ApiClient, rival: Rival) -> None:
    model = parts.model(NAME, model_type="base", uri=None)
    own = {"name": NAME, "namespace": api.namespace}
    api.create({**model, "metadata": own})
    wait_for(lambda: reason(api) == "NoEndpoints", "the model has a status")
    rival.api, rival.left = api, 1
    slices = parts.pods(2)
    api.create({**slices, "metadata": {**slices["metadata"], "namespace": api.namespace}})
    wait_for(lambda: rival.written == 1, "the model's status is written by somebody else")
    wait_for(
        lambda: condition(found(api), "Ready").get("status") == "True", "the model says what was found", stretch(30)
    )
    assert "unsupportedEndpoints" not in found(api)["status"]


def found(api: ApiClient) -> Manifest:
    stored = api.get(DYNAMO, MODEL, NAME)
    assert stored is not None
    return stored


def reason(api: ApiClient) -> str:
    return str(condition(found(api), "Ready").get("reason"))
