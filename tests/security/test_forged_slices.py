"""EndpointSlices that somebody wrote to make the prober call another server: served hooks and prober, and real calls.

The engines and the other server listen on loopback. The API server is played: it has one engine's pod, and others.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.engines import LoraSupport, SimulatedEngine
from hooks.tools.offline.simulator.loopback_http import Request, Response, run_listeners
from tests import make
from tests.loopback import on_loopback, relay
from tests.model import parts
from tests.played_api_server import PlayedApiServer, served_api_server
from tests.ports import free_port
from tests.server.serving.servers import Running, running
from tests.waiting import wait_for

MODELS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels"
ENGINE, OTHER = "10.0.0.1", "10.0.0.9"
"""The address of pod w0, and that of a server which is no pod of the namespace."""
CORRECT = "; correct the EndpointSlice, or let a Service's selector write it"


@dataclass
class World:
    """The processes, of which the hooks have no effects; `calls` counts what the other server was asked."""

    hooks: Running
    played: PlayedApiServer
    engine: SimulatedEngine
    calls: Counter[str]
    port: int

    def sync(self, parent: Manifest, *slices: Manifest) -> dict[str, Any]:
        """One sync; {} if the hooks ask to leave the model alone."""
        self.played.put(f"{MODELS}/{parent['metadata']['name']}", parent)
        body = make.wire_request(parent, related=slices)
        decorated = {"object": body.pop("parent"), "attachments": body.pop("children"), **body}
        code, text = self.hooks.ask("POST", "/model/sync", json.dumps(decorated).encode())
        assert code in {200, 429}, text
        found: dict[str, Any] = json.loads(text)["status"] if code == 200 else {}
        return found

    def sync_until(self, is_done: Callable[[Any], bool], parent: Manifest, *slices: Manifest) -> dict[str, Any]:
        """Sync again and again, each time with the status of before."""
        status: dict[str, Any] = {}

        def is_as_wanted() -> bool:
            nonlocal status
            status = self.sync({**parent, **({"status": status} if status else {})}, *slices)
            with suppress(KeyError):
                return is_done(status)
            return False

        wait_for(is_as_wanted, lambda: status)
        return status


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, calls, port = tmp_path_factory.mktemp("account"), Counter[str](), free_port()

    def answer(request: Request) -> Response:
        calls[request.method] += 1
        return Response(200, "application/json", b'{"loras": ["secret"]}')

    with ExitStack() as stack:
        listeners = stack.enter_context(run_listeners())
        engine = SimulatedEngine(LoraSupport.LOADS)
        listeners.open(on_loopback(ENGINE), port, engine.answer)
        listeners.open(on_loopback(OTHER), port, answer)
        played, api = stack.enter_context(served_api_server(folder))
        for_prober = ("--set", "lora_verify_interval=0.2", "--set", "engine_addresses=any")
        prober = free_port()
        stack.enter_context(running(folder, "-m", "hooks", "prober", "--bind", f"127.0.0.1:{prober}", *for_prober))
        url = stack.enter_context(relay(f"http://127.0.0.1:{prober}"))
        serve = ("-m", "tests.monitoring.api_stand_in", api, str(folder), "serve", "--bind", "127.0.0.1:0")
        off = ("effect_events", "effect_scale", "effect_write_back", "resource_counts")
        settings = [f"prober_url={url}", f"engine_port={port}", *(f"{name}=off" for name in off)]
        options = [part for setting in settings for part in ("--set", setting)]
        hooks = stack.enter_context(running(folder, *serve, "--workers", "1", *options))
        keep(played, "w0", ENGINE)
        keep(played, "thief", "10.0.0.2", uid="u-thief")
        keep(played, "ended", OTHER, phase="Succeeded")
        keep(played, "w9", OTHER, namespace="victim")
        yield World(hooks=hooks, played=played, engine=engine, calls=calls, port=port)


def keep(played: PlayedApiServer, name: str, address: str, *, namespace: str = "default", **fields: str) -> None:
    status = {"phase": fields.get("phase", "Running"), "podIP": address, "podIPs": [{"ip": address}]}
    metadata = {"name": name, "namespace": namespace, "uid": fields.get("uid", f"u-{name}")}
    played.put(f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": metadata, "status": status})


HONEST = parts.endpoint_slice("honest", [parts.endpoint("w0", ENGINE, ready=True)])


def pointing(target: dict[str, str] | None, address: str = OTHER, family: str = "IPv4") -> Manifest:
    endpoint = {"addresses": [address], **({"targetRef": target} if target is not None else {})}
    return parts.endpoint_slice("forged", [endpoint], family=family)


def pod(name: str, **fields: str) -> dict[str, str]:
    return {"kind": "Pod", "name": name, **fields}


FORGED: dict[str, tuple[Manifest, str]] = {
    "a pod with another address": (
        pointing(pod("thief")),
        f"its address {OTHER} is not an address of pod thief{CORRECT}",
    ),
    "a pod with another uid": (
        pointing(pod("thief", uid="u-other"), "10.0.0.2"),
        f"the uid that its EndpointSlice names is not that of pod thief{CORRECT}",
    ),
    "no such pod": (
        pointing(pod("gone")),
        f"its address {OTHER} belongs to no pod, because namespace default has no pod gone{CORRECT}",
    ),
    "a pod of another namespace, without saying so": (
        pointing(pod("w9")),
        f"its address {OTHER} belongs to no pod, because namespace default has no pod w9{CORRECT}",
    ),
    "a pod of another namespace": (
        pointing(pod("w9", namespace="victim")),
        f"EndpointSlice forged names a pod of another namespace for it{CORRECT}",
    ),
    "a pod that has ended": (
        pointing(pod("ended")),
        f"its address {OTHER} may be another pod's by now, because pod ended has ended{CORRECT}",
    ),
    "no pod": (pointing(None), f"EndpointSlice forged names no pod for it (targetRef){CORRECT}"),
    "a Service": (
        pointing({"kind": "Service", "name": "s"}),
        f"EndpointSlice forged names 'Service s' for it, which is no pod{CORRECT}",
    ),
    "a path": (
        pointing(pod("../../../victim/pods/w9")),
        f"EndpointSlice forged names 'Pod ../../../victim/pods/w9' for it, which is no pod{CORRECT}",
    ),
    "a name": (
        pointing(pod("named"), "other.example", "FQDN"),
        "EndpointSlice forged holds no IP addresses (addressType)",
    ),
    "an address among names": (
        pointing(pod("named"), OTHER, "FQDN"),
        "EndpointSlice forged holds no IP addresses (addressType)",
    ),
    "a cloud's metadata": (
        pointing(pod("thief"), "100.100.100.200"),
        "its address 100.100.100.200 is a cloud's metadata address (setting engine_addresses)",
    ),
    "a cloud's metadata within IPv6": (
        pointing(pod("thief"), "::ffff:168.63.129.16", "IPv6"),
        "its address ::ffff:a83f:8110 is a cloud's metadata address (setting engine_addresses)",
    ),
}


@pytest.mark.parametrize("beside", [True, False], ids=["beside an engine", "alone"])
@pytest.mark.parametrize(("forged", "reason"), FORGED.values(), ids=FORGED)
def test_forged_slice_leads_to_no_call(world: World, forged: Manifest, reason: str, beside: bool) -> None:
    world.calls.clear()
    world.played.asked.clear()
    parent = parts.model(adapter="a")
    if beside:
        status = world.sync_until(lambda found: found["readyEndpoints"] == 1, parent, forged, HONEST)
        assert parts.condition(status, "Ready")["status"] == "True"
        assert world.engine.loaded == {"a": parts.URI}
    else:
        status = world.sync_until(lambda found: found["endpoints"], parent, forged)
        assert parts.condition(status, "Ready")["reason"] == "NoEndpoints"
    (entry,) = (one for one in status["endpoints"] if "lastError" in one)
    assert entry["lastError"] == f"not called: {reason}"
    assert f"not called: {reason}" in parts.condition(status, "Ready")["message"]
    assert status["totalEndpoints"] == int(beside)
    assert world.calls == Counter()
    read = {path for _, path in world.played.asked if path != f"{MODELS}/m"}
    assert all(path.startswith("/api/v1/namespaces/default/pods/") for path in read), read


def test_slice_beside_the_honest_one_does_not_move_the_engine(world: World) -> None:
    """The other server's address as a second address of the engine's own pod."""
    world.calls.clear()
    for forged in (
        parts.endpoint_slice("a", [parts.endpoint("w0", OTHER)]),
        parts.endpoint_slice("z", [parts.endpoint("w0", OTHER, ENGINE)]),
    ):
        status = world.sync_until(lambda found: found["readyEndpoints"] == 1, parts.model(adapter="a"), forged, HONEST)
        assert [one["address"] for one in status["endpoints"]] == [f"http://{ENGINE}:{world.port}"]
    assert world.calls == Counter()


def test_base_model_reads_no_pod(world: World) -> None:
    world.played.asked.clear()
    status = world.sync(parts.model(model_type="base", uri=None), HONEST)
    assert status["totalEndpoints"] == 1
    assert world.played.asked == []


def test_engine_that_became_another_pod_is_called_at_its_own_address_only(world: World) -> None:
    """A pod has the other server's address; then a new one of its name has another, and the EndpointSlice stays."""
    world.calls.clear()

    def naming(uid: str) -> Manifest:
        return parts.endpoint_slice("moved", [{"addresses": [OTHER], "targetRef": pod("moved", uid=uid)}])

    keep(world.played, "moved", OTHER, uid="u-1")
    parent = parts.model("moved", adapter="moved")
    world.sync_until(lambda status: status["totalEndpoints"] == 1 and world.calls["GET"] > 0, parent, naming("u-1"))
    keep(world.played, "moved", "10.0.0.77", uid="u-2")
    status = world.sync_until(lambda status: status["totalEndpoints"] == 0, parent, naming("u-2"))
    (entry,) = status["endpoints"]
    assert entry["lastError"] == f"not called: its address {OTHER} is not an address of pod moved{CORRECT}"
