"""LoRA adapters under a real Metacontroller, by the real hooks and prober, on engines that listen on loopback.

The hooks read the engines' pods with the rights of the plain manifests, and no others.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hooks.ground import contract
from hooks.tools.offline.simulator.engines import LoraSupport, SimulatedEngine
from hooks.tools.offline.simulator.loopback_http import Listeners, Request, Response, run_listeners
from hooks.wire.policy import identity
from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    DYNAMO,
    EXAMPLES,
    GRAPH,
    MODEL,
    condition,
    running_controllers,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, prober_server
from tests.contract.backend import Manifest
from tests.loopback import on_loopback, relay
from tests.ports import free_port
from tests.stored import load_stored
from tests.waiting import stretch

NAME, ADAPTER, SERVICE = "my-lora", "my-org/my-lora", "VllmWorker"
(EXAMPLE,) = (path for path in EXAMPLES if path.stem == "vllm-lora")
ENGINE_PORT = 9090


@pytest.fixture(scope="module")
def prober(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    settings = ("lora_verify_interval=1", "lora_mandate=4", "engine_addresses=any")
    server = prober_server(tmp_path_factory.mktemp("prober"), free_port(), *settings)
    with running(server):
        yield server


@pytest.fixture(scope="module", autouse=True)
def controllers(
    admin: ApiClient,
    metacontroller: HttpServer,
    prober: HttpServer,
    plane: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    client = effects_client(plane, tmp_path_factory.mktemp("account"))
    with (
        granted_effects(admin),
        relay(prober.url) as url,
        acting_hooks(client, prober_url=url, lora_verify_interval="1", lora_mandate="4") as hooks,
        running_controllers(admin, hooks),
    ):
        yield


class Engines:
    """The engines of the base model's pods, each at its pod's address."""

    def __init__(self, api: ApiClient, listeners: Listeners) -> None:
        self.by_pod: dict[str, SimulatedEngine] = {}
        self._api = api
        self.listeners = listeners

    def follow(self) -> None:
        """Start an engine for each pod that has an address and none yet."""
        for pod in self._api.list("v1", "Pod", labelSelector=contract.LABEL_MODEL_HASH):
            name, address = pod["metadata"]["name"], pod.get("status", {}).get("podIP")
            if address and name not in self.by_pod:
                self.by_pod[name] = SimulatedEngine(LoraSupport.LOADS)
                self.listeners.open(on_loopback(address), ENGINE_PORT, self.by_pod[name].answer)

    def holders(self) -> list[str]:
        """The pods whose engines hold the adapter."""
        self.follow()
        return sorted(name for name, engine in self.by_pod.items() if ADAPTER in engine.loaded)


@pytest.fixture
def engines(api: ApiClient) -> Iterator[Engines]:
    """The engines of a namespace in which the example's graph is ready and its model exists."""
    with run_listeners() as listeners:
        for document in load_stored(EXAMPLE):
            api.create(document, strict=True)
        found = Engines(api, listeners)
        wait_until_ready(api, "vllm-lora")
        found.follow()  # an engine that does not listen would hold up the model's deletion until its deadline
        yield found
        if api.get(DYNAMO, MODEL, NAME):
            api.delete(DYNAMO, MODEL, NAME)
        wait_for(lambda: api.get(DYNAMO, MODEL, NAME) is None, "the model is gone")
        api.delete(DYNAMO, GRAPH, "vllm-lora")


def the_model(api: ApiClient, name: str = NAME) -> Manifest:
    found = api.get(DYNAMO, MODEL, name)
    assert found is not None
    return found


def wait_until_loaded(api: ApiClient, engines: Engines, count: int) -> Manifest:
    """Wait until so many engines hold the adapter and the model says so."""

    def loaded() -> bool:
        holders, found = engines.holders(), the_model(api)
        status: dict[str, Any] = found.get("status", {})
        is_ready = condition(found, "Ready").get("status") == "True"
        return len(holders) == count == status.get("readyEndpoints") == status.get("totalEndpoints") and is_ready

    try:
        wait_for(loaded, f"{count} engines hold the adapter")
    except AssertionError as error:
        raise AssertionError(f"{error}\nheld by {engines.holders()}\nstatus: {the_model(api).get('status')}") from None
    return the_model(api)


def test_adapter_is_loaded_on_every_engine(api: ApiClient, engines: Engines) -> None:
    found = wait_until_loaded(api, engines, 2)
    told = {endpoint["podName"]: endpoint["phase"] for endpoint in found["status"]["endpoints"]}
    assert told == dict.fromkeys(engines.by_pod, "Loaded")
    assert found["metadata"]["finalizers"]


def test_engine_that_lost_the_adapter_gets_it_again(api: ApiClient, engines: Engines) -> None:
    wait_until_loaded(api, engines, 2)
    next(iter(engines.by_pod.values())).loaded.clear()
    wait_for(lambda: len(engines.holders()) == 2, "the lost adapter is loaded again")
    wait_until_loaded(api, engines, 2)


def test_new_replica_gets_the_adapter(api: ApiClient, engines: Engines) -> None:
    wait_until_loaded(api, engines, 2)
    api.patch(DYNAMO, GRAPH, "vllm-lora", {"spec": {"services": {SERVICE: {"replicas": 3}}}})
    wait_until_loaded(api, engines, 3)


def test_deleted_model_is_unloaded_before_it_goes(api: ApiClient, engines: Engines) -> None:
    wait_until_loaded(api, engines, 2)
    api.delete(DYNAMO, MODEL, NAME)
    wait_for(lambda: api.get(DYNAMO, MODEL, NAME) is None, "the model is gone")
    assert engines.holders() == []


def test_base_model_goes_at_once(api: ApiClient, engines: Engines) -> None:
    spec = {"modelName": "Qwen/Qwen3-0.6B", "baseModelName": "Qwen/Qwen3-0.6B", "modelType": "base"}
    base = {"apiVersion": DYNAMO, "kind": MODEL, "metadata": {"name": "base"}, "spec": spec}
    api.create(base, strict=True)
    wait_for(lambda: the_model(api, "base").get("status", {}).get("totalEndpoints") == 2, "its engines are found")
    api.delete(DYNAMO, MODEL, "base")
    # and not by the resync
    wait_for(lambda: api.get(DYNAMO, MODEL, "base") is None, "the base model is gone", stretch(30))


def test_nothing_is_written_in_steady_state(api: ApiClient, engines: Engines, audit: Audit) -> None:
    wait_until_loaded(api, engines, 2)
    mark = wait_for_silence(audit)
    wait_for_silence(audit)
    assert [write for write in audit.writes(mark) if write.namespace == api.namespace] == []


# EndpointSlices that somebody wrote by hand


CORRECT = "; correct the EndpointSlice, or let a Service's selector write it"
OTHER_SERVER = "10.0.255.9"
"""Where a server listens that is no pod."""
UID = "11111111-2222-3333-4444-555555555555"


def forged_slice(name: str, address: str, target: dict[str, Any] | None, family: str = "IPv4") -> Manifest:
    """An EndpointSlice of the base model that names an address as that of a pod."""
    labels = {contract.LABEL_MODEL_HASH: identity.model_hash("Qwen/Qwen3-0.6B")}
    endpoint = {"addresses": [address], "conditions": {"ready": True}, **({"targetRef": target} if target else {})}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": labels},
        "addressType": family,
        "endpoints": [endpoint],
        "ports": [{"name": "system", "port": ENGINE_PORT, "protocol": "TCP"}],
    }


@contextmanager
def other_server(engines: Engines) -> Iterator[Counter[str]]:
    """A server that is no engine, and how often it was called."""
    calls: Counter[str] = Counter()

    def answer(request: Request) -> Response:
        calls[request.method] += 1
        return Response(200, "text/plain", b"secret")

    place = on_loopback(OTHER_SERVER), ENGINE_PORT
    engines.listeners.open(*place, answer)
    try:
        yield calls
    finally:
        engines.listeners.close(*place)


def endpoints_of(api: ApiClient) -> dict[tuple[str, str], str]:
    """By pod and address, what the model's status says is wrong."""
    found = the_model(api).get("status", {}).get("endpoints", ())
    return {(one.get("podName", ""), one["address"]): one.get("lastError", "") for one in found}


def start_pod(api: ApiClient, name: str) -> Manifest:
    """A pod that is no engine, with an address of its own."""
    spec = {"containers": [{"name": "main", "image": "main"}]}
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}, strict=True)
    return wait_for(lambda: with_address(api.get("v1", "Pod", name)), f"pod {name} has an address")


def with_address(pod: Manifest | None) -> Manifest | None:
    return pod if pod is not None and pod.get("status", {}).get("podIP") else None


def reference(pod: str, uid: str = "", namespace: str = "") -> dict[str, Any]:
    more = {key: value for key, value in (("uid", uid), ("namespace", namespace)) if value}
    return {"kind": "Pod", "name": pod, **more}


def test_no_address_is_called_that_is_not_its_pods(api: ApiClient, engines: Engines) -> None:
    wait_until_loaded(api, engines, 2)
    thief, twin = start_pod(api, "thief"), start_pod(api, "twin")
    engine = min(engines.by_pod)
    at_engine = (api.get("v1", "Pod", engine) or {})["status"]["podIP"]
    stolen = f"is not an address of pod thief{CORRECT}"
    forged: dict[str, tuple[str, dict[str, Any] | None, str]] = {
        "another-server": (OTHER_SERVER, reference("thief", thief["metadata"]["uid"]), stolen),
        "beside-an-engine": (OTHER_SERVER, reference(engine), ""),
        "an-engine-as-another": (at_engine, reference("other"), f"has no pod other{CORRECT}"),
        "another-uid": (twin["status"]["podIP"], reference("twin", UID), f"is not that of pod twin{CORRECT}"),
        "gone": ("10.0.255.11", reference("gone"), f"has no pod gone{CORRECT}"),
        "elsewhere": ("10.0.255.12", reference("x", namespace="kube-system"), f"another namespace for it{CORRECT}"),
        "nobody": ("10.0.255.13", None, f"names no pod for it (targetRef){CORRECT}"),
        "metadata": ("168.63.129.16", reference("m"), "is a cloud's metadata address (setting engine_addresses)"),
    }
    expected = {
        ((target or {}).get("name", ""), f"http://{address}:{ENGINE_PORT}"): words
        for address, target, words in forged.values()
        if words
    }
    by_name = (("named", f"http://example.com:{ENGINE_PORT}"), "holds no IP addresses (addressType)")
    with other_server(engines) as calls:
        for name, (address, target, _) in forged.items():
            api.create(forged_slice(name, address, target), strict=True)
        api.create(forged_slice("names", "example.com", reference("named"), "FQDN"), strict=True)

        def refused() -> bool:
            found = endpoints_of(api)
            return all(found.get(key, "").endswith(words) for key, words in (*expected.items(), by_name))

        wait_for(refused, "every endpoint is refused with its reason")
        wait_until_loaded(api, engines, 2)
        message = condition(the_model(api), "Ready")["message"]
        assert message.startswith("All 2 endpoint(s) are ready; ")
        assert "not called: " in message
        assert calls == Counter(), "the other server was called"


def test_new_engine_is_not_called_without_the_right_to_read_its_pod(
    api: ApiClient, engines: Engines, admin: ApiClient
) -> None:
    wait_until_loaded(api, engines, 2)
    version, kind = "rbac.authorization.k8s.io/v1", "ClusterRoleBinding"
    bindings = [admin.get(version, kind, name) for name in ("dynamo-hooks-effects", "dynamo-hooks-reads")]
    for binding in bindings:
        assert binding is not None
        admin.delete(version, kind, binding["metadata"]["name"])
    try:
        api.patch(DYNAMO, GRAPH, "vllm-lora", {"spec": {"services": {SERVICE: {"replicas": 3}}}})
        wait_for(lambda: any("may not read the pod" in why for why in endpoints_of(api).values()), "it says so")
        status = the_model(api)["status"]
        assert (status["readyEndpoints"], status["totalEndpoints"]) == (2, 3), "the engines known before stay"
        assert condition(the_model(api), "Ready")["status"] == "False"
        assert len(engines.holders()) == 2
    finally:
        for binding in filter(None, bindings):
            kept = {key: binding[key] for key in ("apiVersion", "kind", "roleRef", "subjects")}
            admin.create({**kept, "metadata": {"name": binding["metadata"]["name"]}})
    wait_until_loaded(api, engines, 3)
