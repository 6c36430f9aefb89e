"""The token of callers, from the chart's Secret through a real Metacontroller with the chart's rights to the hooks."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from hooks.server.serving.callers import NOT_ACCEPTED, NOT_SHOWN
from hooks.wire.metacontroller.install_files import SecretKey
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import CHART_ACCOUNT
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    RELEASE,
    load_example,
    running_controllers,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, hooks_server
from tests.ports import free_port
from tests.waiting import PATIENCE

SECRET = f"{RELEASE}-callers"
EXAMPLE = "vllm-agg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """The Secret of the chart, and the file as which the hooks mount it."""

    api: ApiClient
    file: Path

    def change(self, token: str) -> None:
        self.api.patch("v1", "Secret", SECRET, {"data": {"token": base64.b64encode(token.encode()).decode()}})
        self.mount()

    def mount(self) -> None:
        secret = self.api.get("v1", "Secret", SECRET)
        assert secret is not None
        fresh = self.file.with_name("fresh")
        fresh.write_bytes(base64.b64decode(secret["data"]["token"]))
        fresh.replace(self.file)


@pytest.fixture
def mounted(release: str, admin: ApiClient, tmp_path: Path) -> Mounted:
    found = Mounted(api=admin.within(release), file=tmp_path / "token")
    found.mount()
    return found


@pytest.fixture
def guarded(mounted: Mounted, tmp_path: Path) -> Iterator[HttpServer]:
    with running(hooks_server(tmp_path, free_port(), token_file=mounted.file)) as server:
        assert isinstance(server, HttpServer)
        yield server


def create_graph(api: ApiClient, name: str) -> None:
    example = load_example(EXAMPLE)
    api.create({**example, "metadata": {"name": name}}, strict=True)


def warnings_about(api: ApiClient, name: str) -> str:
    events = api.list("v1", "Event", fieldSelector=f"involvedObject.name={name},type=Warning")
    return "\n".join(event["message"] for event in events)


def test_metacontroller_is_known_and_nobody_else(
    mounted: Mounted,
    guarded: HttpServer,
    api: ApiClient,
    admin: ApiClient,
    release: str,
    start_metacontroller: Callable[[str], Server],
) -> None:
    secret = SecretKey(namespace=release, name=SECRET)
    metacontroller = start_metacontroller(CHART_ACCOUNT)
    with running(metacontroller), running_controllers(admin, guarded.url, token_secret=secret):
        create_graph(api, "first")
        wait_until_ready(api, "first")
        stranger = requests.post(f"{guarded.url}/graph/sync", data=b"{}", timeout=PATIENCE)
        assert (stranger.status_code, stranger.text) == (401, f"{NOT_SHOWN}\n")
        assert requests.get(f"{guarded.url}/readyz", timeout=PATIENCE).ok

        mounted.change("another-token")  # Metacontroller still shows the one before
        create_graph(api, "second")
        wait_until_ready(api, "second")

        guarded.stop()
        guarded.start()  # knows only the new one
        create_graph(api, "third")
        wait_for(lambda: NOT_ACCEPTED in warnings_about(api, "third"), "the graph's Events say why")

        metacontroller.stop()
        metacontroller.start()  # reads the Secret
        wait_until_ready(api, "third")
        for name in ("first", "second", "third"):
            api.delete(DYNAMO, GRAPH, name)
        wait_until_nothing_is_left(api)


def test_controllers_without_the_token_are_refused_with_what_to_do(
    guarded: HttpServer, api: ApiClient, admin: ApiClient, start_metacontroller: Callable[[str], Server]
) -> None:
    with running(start_metacontroller(CHART_ACCOUNT)), running_controllers(admin, guarded.url):
        create_graph(api, "g")
        wait_for(lambda: NOT_SHOWN in warnings_about(api, "g"), "the graph's Events say why")
        assert api.list(DYNAMO, "DynamoComponentDeployment") == []
        api.delete(DYNAMO, GRAPH, "g")
