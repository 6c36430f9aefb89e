"""Keys in etcd are deleted for a component that the API server says is being deleted, and for no other body."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import requests
import responses

from hooks.ground.k8s.types import Manifest
from hooks.server.app import create_app
from hooks.server.clients.etcd import EtcdClient
from hooks.server.clients.key_removal import KeyRemoval
from hooks.server.routes import served_hooks
from hooks.wire.metacontroller.effects import DropReport, EtcdPrefixDrop
from tests import make
from tests.etcd_server import encode
from tests.server.clients.played_server import URL, PlayedServer, api_server, path_of, play

FACTS = make.facts(make.NOW, discovery_backend="etcd", etcd_address="127.0.0.1:2379")
PREFIX = "/default-g/components/service1/"
DONE = {"header": {"revision": "3"}, "deleted": "1"}


def component(*, is_going: bool = True, namespace: str = "default", uid: str = "u-c", **spec: Any) -> Manifest:
    found = make.component("c", "g", **{"serviceName": "service1", **spec})
    going = {"deletionTimestamp": "2026-03-01T11:59:50Z"} if is_going else {}
    return {**found, "metadata": {**found["metadata"], **going, "namespace": namespace, "uid": uid}}


@dataclass(slots=True, kw_only=True)
class World:
    """An API server, an etcd, and the hooks' client of both."""

    api: PlayedServer
    mock: responses.RequestsMock
    removal: KeyRemoval

    def drop(self, parent: Manifest) -> DropReport | None:
        return self.removal.drop(make.sync_request(parent, finalizing=True), FACTS)

    def dropped(self) -> list[str]:
        """The prefixes that were deleted in etcd, in its own encoding."""
        calls = [call.request for call in self.mock.calls if ":2379" in str(call.request.url)]
        return [str(request.body) for request in calls]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.post("http://127.0.0.1:2379/v3/kv/deleterange", json=DONE)
        removal = KeyRemoval(server=api_server(tmp_path), etcd=EtcdClient.at("127.0.0.1:2379"))
        yield World(api=play(mock), mock=mock, removal=removal)


def test_keys_of_a_component_that_is_being_deleted_are_dropped(world: World) -> None:
    world.api.keep(component())
    assert world.drop(component()) == DropReport(drop=EtcdPrefixDrop(prefix=PREFIX))
    (sent,) = world.dropped()
    assert encode(PREFIX) in sent


def test_keys_are_those_of_the_stored_component(world: World) -> None:
    world.api.keep(component())
    report = world.drop(component(serviceName="victim"))
    assert report == DropReport(drop=EtcdPrefixDrop(prefix=PREFIX))
    (sent,) = world.dropped()
    assert encode(PREFIX) in sent


FORGED = {
    "it is not being deleted": (component(is_going=False), component(), "is not being deleted"),
    "another component has its name": (component(uid="u-new"), component(), ""),
    "no uid": (component(), component(uid=""), ""),
    "it does not exist": (component(namespace="other"), component(), ""),
    "another namespace": (component(), component(namespace="victim"), ""),
    "the stored one has no keys": (
        component(annotations={"nvidia.com/dynamo-discovery-backend": "kubernetes"}),
        component(),
        "",
    ),
    "a name that is a path": (component(), component(namespace="default/x/.."), "unknown"),
}


@pytest.mark.parametrize(("stored", "claimed", "fault"), FORGED.values(), ids=FORGED)
def test_nothing_is_dropped_for_a_forged_body(world: World, stored: Manifest, claimed: Manifest, fault: str) -> None:
    world.api.keep(stored)
    report = world.drop(claimed)
    assert world.dropped() == []
    assert (report is None) is not bool(fault)
    assert report is None or fault in report.fault


@pytest.mark.parametrize("status", [403, 500, 503])
def test_nothing_is_dropped_while_the_api_server_does_not_say(tmp_path: Path, status: int) -> None:
    with responses.RequestsMock() as mock:
        mock.get(f"{URL}{path_of(component())}", status=status, json={"message": f"random {status}"})
        removal = KeyRemoval(server=api_server(tmp_path), etcd=EtcdClient.at("127.0.0.1:2379"))
        report = removal.drop(make.sync_request(component(), finalizing=True), FACTS)
    assert report is not None
    assert report.fault.endswith(f"is unknown: the API server answers {status}"), "the same text at each attempt"


def test_slow_api_server_is_not_called_absent(tmp_path: Path) -> None:
    with responses.RequestsMock() as mock:
        mock.get(f"{URL}{path_of(component())}", body=requests.ReadTimeout("slow"))
        removal = KeyRemoval(server=api_server(tmp_path), etcd=EtcdClient.at("127.0.0.1:2379"))
        report = removal.drop(make.sync_request(component(), finalizing=True), FACTS)
    assert report is not None
    assert report.fault.endswith("is unknown: the API server did not answer within 5 s")


def test_nothing_is_dropped_without_an_api_server_and_status_says_so() -> None:
    hooks = served_hooks(FACTS.settings)
    app = create_app(FACTS.settings, lambda: make.NOW, hooks=hooks).test_client()
    with responses.RequestsMock():
        answer = app.post("/component/finalize", json={**make.wire_request(component()), "finalizing": True})
    found = answer.get_json()
    assert "finalized" not in found
    (ready,) = found["status"]["conditions"]
    assert ready["reason"] == "EtcdKeysNotDropped"
    assert "the hooks have no access to the API server" in ready["message"]
    assert "then the component is deleted and its keys stay" in ready["message"]


def test_api_server_is_not_asked_about_a_component_without_keys(world: World) -> None:
    backend = {"nvidia.com/dynamo-discovery-backend": "kubernetes"}
    assert world.drop(component(annotations=backend)) is None
    without_server = replace(world.removal, server=None)
    assert without_server.drop(make.sync_request(component(is_going=False)), FACTS) is None
    assert world.api.reads == []
