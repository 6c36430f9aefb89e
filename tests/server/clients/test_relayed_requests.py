"""Requests that another hooks pod passes on: what is judged before this pod's prober gets them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from hooks.ground.errors import HookError, InvalidRequest, LeaveAlone
from hooks.ground.settings import parse_settings
from hooks.model.prober.messages import Adapter, EngineTarget, LoadRequest
from hooks.server.clients.model_reader import ModelReader, confirm_all
from hooks.server.clients.pod_reader import PodReader
from hooks.server.clients.relayed_requests import RelayedRequests
from hooks.server.serving.call_id import UNKNOWN, CallId
from hooks.wire.prober.messages import write_message
from tests.model.parts import URI, model
from tests.played_api_server import PlayedApiServer, played_api_server

MODEL = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels/m"
POD = "/api/v1/namespaces/default/pods/w0"
ENGINE = EngineTarget(address="http://10.0.0.1:9090", pod="w0")
WANTED = LoadRequest(
    namespace="default", name="m", uid="u-m", generation=1, adapter=Adapter(name="a", uri=URI), targets=(ENGINE,)
)


@dataclass
class Relay:
    """`sent` are the bodies that reached the prober."""

    played: PlayedApiServer
    sent: list[bytes] = field(default_factory=list)
    is_strict: bool = True

    def take(self, request: LoadRequest, name: str = "m") -> bytes:
        return self.take_body(write_message(request), name)

    def take_body(self, body: bytes, name: str = "m") -> bytes:
        models = ModelReader(server=self.played.server, settings=parse_settings({}))
        pods = PodReader(self.played.server, new_seconds=30)
        relayed = RelayedRequests(
            send=self.send,
            confirm=models.confirm if self.is_strict else confirm_all,
            check=pods.check if self.is_strict else None,
            engine_port=9090,
        )
        return relayed.take("default", name, body, UNKNOWN)

    def send(self, _namespace: str, _name: str, body: bytes, _origin: CallId) -> bytes:
        self.sent.append(body)
        return b"{}"


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    with played_api_server(tmp_path) as played:
        played.put(MODEL, model())
        status = {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}
        played.put(POD, {"metadata": {"name": "w0", "namespace": "default", "uid": "u-w0"}, "status": status})
        yield Relay(played)


@pytest.mark.parametrize("address", [ENGINE.address, "http://[fd00::1]:9090"])
def test_request_of_a_stored_model_for_its_pods_reaches_the_prober(address: str, relay: Relay) -> None:
    request = msgspec.structs.replace(WANTED, targets=(EngineTarget(address=address, pod="w0"),))
    assert relay.take(request) == b"{}"
    assert relay.sent == [write_message(request)]


FORGED = {
    "another source": (msgspec.structs.replace(WANTED, adapter=Adapter(name="a", uri="s3://evil/a")), "this source"),
    "no such model": (msgspec.structs.replace(WANTED, uid="forged"), "the API server has no DynamoModel default/m"),
    "an unload": (msgspec.structs.replace(WANTED, adapter=None, former=("a",)), "does not ask to unload a"),
    "another address": (
        msgspec.structs.replace(WANTED, targets=(ENGINE, EngineTarget(address="http://10.0.0.9:80", pod="w0"))),
        "its address 10.0.0.9 is not an address of pod w0",
    ),
    "another port": (
        msgspec.structs.replace(WANTED, targets=(EngineTarget(address="http://10.0.0.1:22", pod="w0"),)),
        "no container of pod w0 has the port 22 under the name system",
    ),
    "no such pod": (
        msgspec.structs.replace(WANTED, targets=(EngineTarget(address="http://10.0.0.1:9090", pod="x"),)),
        "namespace default has no pod x",
    ),
    "no pod": (
        msgspec.structs.replace(WANTED, targets=(EngineTarget(address="http://10.0.0.1:9090", pod=""),)),
        "no Pod can be named",
    ),
}


@pytest.mark.parametrize(("forged", "refusal"), FORGED.values(), ids=FORGED)
def test_forged_request_does_not_reach_the_prober(forged: LoadRequest, refusal: str, relay: Relay) -> None:
    with pytest.raises(LeaveAlone, match=refusal):
        relay.take(forged)
    assert relay.sent == []


@pytest.mark.parametrize("body", [b"", b"{}", b"\x00", b"[1]", b'{"namespace":"default","name":"m","x":1}'])
def test_body_that_is_no_request_does_not_reach_the_prober(body: bytes, relay: Relay) -> None:
    with pytest.raises(InvalidRequest, match="not a valid load request"):
        relay.take_body(body)
    with pytest.raises(InvalidRequest, match="another model than the path"):
        relay.take(WANTED, "n")
    assert (relay.sent, relay.played.asked) == ([], [])


def test_nothing_reaches_the_prober_while_nothing_can_be_read(relay: Relay) -> None:
    relay.played.before = lambda _method, path: 503 if "pods" in path else None
    with pytest.raises(LeaveAlone, match=r"whether its address 10\.0\.0\.1 is that of pod w0 is not known"):
        relay.take(WANTED)
    relay.played.before = lambda _method, _path: 503
    with pytest.raises(HookError, match="not known whether DynamoModel default/m asks for it"):
        relay.take(WANTED)
    assert relay.sent == []


def test_without_pods_to_compare_everything_passes(relay: Relay) -> None:
    relay.is_strict = False
    relay.take(FORGED["another address"][0])
    assert len(relay.sent) == 1
