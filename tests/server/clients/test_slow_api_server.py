"""An API server that takes four seconds for each answer: whatever asks it gets on, and calls it slow, not away."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from hooks.ground import contract
from hooks.ground.errors import ProberUnavailable
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import plural_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.model.prober.messages import Adapter, LoadRequest
from hooks.model.seen.pod_addresses import OWN, NamedAddress
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Refused, collection_path
from hooks.server.clients.effects import EffectsClient
from hooks.server.clients.inventory import ResourceCounter
from hooks.server.clients.model_reader import ModelReader
from hooks.server.clients.namespace_locks import LEASE_SECONDS, TICK_SECONDS, LockReader, OwnLock
from hooks.server.clients.pod_reader import PodReader
from hooks.server.exchange import call_time
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.metacontroller.effects import EffectOutcome, EffectSource, Event
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.policy.conditions import reference_of
from tests import make
from tests.hook_client import GOOD, call, hook_with
from tests.model.parts import URI, model
from tests.played_api_server import Answer, PlayedApiServer, played_api_server

SLOW_SECONDS = 4.0


class SlowApiServer(PlayedApiServer):
    """Each answer takes `delay` seconds of its clock; who waits for less gets none."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(replace(server, clock=lambda: self.seconds))
        self.seconds, self.delay = 1000.0, SLOW_SECONDS

    def answer(self, request: requests.PreparedRequest) -> Answer:
        waits: Any = request.req_kwargs["timeout"].total  # type: ignore[attr-defined]  # of `responses`
        self.seconds += min(self.delay, waits)
        if waits < self.delay:
            raise requests.ReadTimeout
        return super().answer(request)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[SlowApiServer]:
    with played_api_server(tmp_path, SlowApiServer) as server:
        assert isinstance(server, SlowApiServer)
        yield server


WANTED = LoadRequest(
    namespace="default", name="m", uid="u-m", generation=1, adapter=Adapter(name="a", uri=URI), is_recorded=False
)
MODEL = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels/m"


def test_model_is_confirmed(played: SlowApiServer) -> None:
    played.put(MODEL, model())
    ModelReader(server=played.server, settings=parse_settings({})).confirm(WANTED)
    assert played.asked == [("GET", MODEL)]


def test_model_that_cannot_be_read_in_time_is_not_called_gone(played: SlowApiServer) -> None:
    played.delay = REQUEST_SECONDS + 1
    reader = ModelReader(server=played.server, settings=parse_settings({}))
    with pytest.raises(ProberUnavailable, match=r"it is not known .*: the API server did not answer within 5 s$"):
        reader.confirm(WANTED)


def test_addresses_of_pods_are_known_after_some_calls(played: SlowApiServer) -> None:
    named = tuple(NamedAddress("ns", f"w{number}", "", f"10.0.0.{number}") for number in range(3))
    for one in named:
        status = {"phase": "Running", "podIPs": [{"ip": one.address}]}
        played.put(f"/api/v1/namespaces/ns/pods/{one.pod}", {"metadata": {"name": one.pod}, "status": status})
    reader = PodReader(played.server, new_seconds=30.0)
    assert sum(verdict == OWN for verdict in reader.check(named).values()) == 1
    for _ in range(2):
        played.seconds += 1
        verdicts = reader.check(named)
    assert set(verdicts.values()) == {OWN}


def test_address_of_a_pod_that_cannot_be_read_in_time_is_doubted(played: SlowApiServer) -> None:
    played.delay = REQUEST_SECONDS + 1
    named = NamedAddress("ns", "w", "", "10.0.0.1")
    verdict = PodReader(played.server, new_seconds=30.0).check((named,))[named]
    assert verdict.refusal == ""
    assert verdict.doubt.endswith("is not known, because the API server did not answer within 5 s")


def test_own_lock_is_held_without_interruption_and_those_of_others_are_read(played: SlowApiServer) -> None:
    def now() -> Any:
        return make.NOW + timedelta(seconds=played.seconds)

    lock = OwnLock(server=played.server, clock=now, namespace="team", installation="a", process="p", is_alone=True)
    lock.renew()
    end = played.seconds + 20 * LEASE_SECONDS
    while played.seconds < end:
        played.seconds += TICK_SECONDS
        assert lock.find_claim("team") is None
        lock.renew()
        assert lock.find_claim("team") is None
    claim = LockReader(server=played.server, clock=now).find_claim("team")
    assert claim is not None
    assert claim.is_certain


def test_resources_are_counted(played: SlowApiServer) -> None:
    for kind in OUR_KINDS:
        path = f"{collection_path(kind)}?limit=500&labelSelector=%21{contract.LABEL_INSTALLATION.replace('/', '%2F')}"
        item = {"metadata": {"name": plural_of(kind), "namespace": "ns"}}
        played.put(path, {"items": [item]})
    counter = ResourceCounter(server=played.server, clock=lambda: make.NOW, namespace="system", process="p")
    assert sum(counter.count().states.values()) == len(OUR_KINDS)


def test_events_are_sent(played: SlowApiServer) -> None:
    graph = make.graph()
    metadata = graph["metadata"]
    played.put(f"/apis/nvidia.com/v1alpha1/namespaces/{metadata['namespace']}/dynamographdeployments/g", graph)
    about = reference_of(graph)
    event = Event(about=about, type="Warning", reason="R", message="m", occasion="1")
    source = EffectSource(parent=about, generation=metadata.get("generation", 0))
    carry_out = EffectsClient(server=played.server, settings=parse_settings({}), now=lambda: make.NOW)
    (result,) = carry_out((event,), source)
    assert result.outcome is EffectOutcome.DONE, result.reason


def test_call_waits_no_longer_than_its_caller(played: SlowApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []
    monkeypatch.setattr(call_time, "time", SimpleNamespace(monotonic=lambda: played.seconds))

    def find(name: str) -> str:
        try:
            with played.server.converse(REQUEST_SECONDS) as talk:
                return "none" if talk.find(f"/api/v1/namespaces/ns/pods/{name}", kinds.POD) is None else "found"
        except Refused as refused:
            return refused.why

    def ask(_request: SyncRequest, _facts: Facts) -> SyncAnswer:
        began = played.seconds
        assert [find(name) for name in "abc"] == [*["none"] * 2, "the API server did not answer within 5 s"]
        assert find("d") == "earlier requests took the time allowed"
        seconds.append(played.seconds - began)
        return GOOD

    client = hook_with(GOOD, lambda table: {name: replace(hook, sync=ask) for name, hook in table.items()})
    assert client.post("/graph/sync", data=call()).status_code == 200
    assert seconds == [call_time.CALL_SECONDS]
    assert [find(name) for name in "abc"] == ["none"] * 3, "there is no limit beside a call"
