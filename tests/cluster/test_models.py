"""LoRA adapters under a real Metacontroller, by the real hooks and prober, on engines that listen on loopback."""

from collections.abc import Iterator
from typing import Any

import pytest

from hooks import contract
from hooks.simulator.engines import LoraSupport, SimulatedEngine
from hooks.simulator.loopback_http import Listeners, run_listeners
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.dynamo import (
    DYNAMO,
    EXAMPLES,
    GRAPH,
    MODEL,
    condition,
    load_documents,
    running_controllers,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.loopback import on_loopback, relay
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer, hooks_server, prober_server
from tests.contract.backend import Manifest
from tests.ports import free_port

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
    admin: ApiClient, metacontroller: HttpServer, prober: HttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    settings = (f"prober_url={prober.url}", "lora_verify_interval=1", "lora_mandate=4", "engine_addresses=any")
    server = hooks_server(tmp_path_factory.mktemp("hooks"), free_port(), *settings)
    with running(server), relay(server.url) as url, running_controllers(admin, url):
        yield


class Engines:
    """The engines of the base model's pods, each at its pod's address."""

    def __init__(self, api: ApiClient, listeners: Listeners) -> None:
        self.by_pod: dict[str, SimulatedEngine] = {}
        self._api = api
        self._listeners = listeners

    def follow(self) -> None:
        """Start an engine for each pod that has an address and none yet."""
        for pod in self._api.list("v1", "Pod", labelSelector=contract.LABEL_MODEL_HASH):
            name, address = pod["metadata"]["name"], pod.get("status", {}).get("podIP")
            if address and name not in self.by_pod:
                self.by_pod[name] = SimulatedEngine(LoraSupport.LOADS)
                self._listeners.open(on_loopback(address), ENGINE_PORT, self.by_pod[name].answer)

    def holders(self) -> list[str]:
        """The pods whose engines hold the adapter."""
        self.follow()
        return sorted(name for name, engine in self.by_pod.items() if ADAPTER in engine.held)


@pytest.fixture
def engines(api: ApiClient) -> Iterator[Engines]:
    """The engines of a namespace in which the example's graph is ready and its model exists."""
    with run_listeners() as listeners:
        for document in load_documents(EXAMPLE):
            api.create(document, strict=True)
        found = Engines(api, listeners)
        wait_until_ready(api, "vllm-lora")
        found.follow()  # an engine that does not listen would hold up the model's deletion until its deadline
        yield found
        if api.get(DYNAMO, MODEL, NAME):
            api.delete(DYNAMO, MODEL, NAME)
        wait_for(lambda: api.get(DYNAMO, MODEL, NAME) is None, "the model is gone", 90)
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
        wait_for(loaded, f"{count} engines hold the adapter", 60)
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
    next(iter(engines.by_pod.values())).held.clear()
    wait_for(lambda: len(engines.holders()) == 2, "the lost adapter is loaded again", 30)
    wait_until_loaded(api, engines, 2)


def test_new_replica_gets_the_adapter(api: ApiClient, engines: Engines) -> None:
    wait_until_loaded(api, engines, 2)
    api.patch(DYNAMO, GRAPH, "vllm-lora", {"spec": {"services": {SERVICE: {"replicas": 3}}}})
    wait_until_loaded(api, engines, 3)


def test_deleted_model_is_unloaded_before_it_goes(api: ApiClient, engines: Engines) -> None:
    wait_until_loaded(api, engines, 2)
    api.delete(DYNAMO, MODEL, NAME)
    wait_for(lambda: api.get(DYNAMO, MODEL, NAME) is None, "the model is gone", 60)
    assert engines.holders() == []


def test_base_model_goes_at_once(api: ApiClient, engines: Engines) -> None:
    spec = {"modelName": "Qwen/Qwen3-0.6B", "baseModelName": "Qwen/Qwen3-0.6B", "modelType": "base"}
    base = {"apiVersion": DYNAMO, "kind": MODEL, "metadata": {"name": "base"}, "spec": spec}
    api.create(base, strict=True)
    wait_for(lambda: the_model(api, "base").get("status", {}).get("totalEndpoints") == 2, "its engines are found")
    api.delete(DYNAMO, MODEL, "base")
    wait_for(lambda: api.get(DYNAMO, MODEL, "base") is None, "the base model is gone", 10)


def test_nothing_is_written_in_steady_state(api: ApiClient, engines: Engines, audit: Audit) -> None:
    wait_until_loaded(api, engines, 2)
    mark = wait_for_silence(audit)
    wait_for_silence(audit)
    assert [write for write in audit.writes(mark) if write.namespace == api.namespace] == []
