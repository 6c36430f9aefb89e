"""A LoRA adapter on a worker that is built on the real runtime's endpoints: loaded, lost, loaded again, unloaded.

The worker keeps a list of adapters instead of an engine; its HTTP server, its routes and its answers are the runtime's.
It tells the frontend neither of a model nor of an adapter: so where frontends are asked, the adapter is not offered.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, MODEL, condition
from tests.cluster.processes import running
from tests.cluster.programs import prober_server
from tests.contract.backend import Manifest
from tests.e2e.bench import Bench, acting
from tests.e2e.graphs import explained, load_graph, wait_until_ready
from tests.loopback import relay
from tests.ports import free_port

SCRIPT = Path(__file__).parents[2] / "model" / "runtime" / "lora_worker.py"
NAME, WORKER, BASE = "mocker-agg", "mocker-agg-mockerworker", "Qwen/Qwen3-0.6B"
ADAPTER, FOLDER = "my-org/my-lora", "/opt/worker"
MODEL_NAME = "my-lora"


@pytest.fixture(params=["off"])
def served(
    bench: Bench, api: ApiClient, newest: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[ApiClient]:
    """A namespace with a graph whose worker takes adapters, under hooks that have a prober; `serving` as it says."""
    settings = ("lora_verify_interval=1", "lora_mandate=4", "engine_addresses=any")
    prober = prober_server(tmp_path, free_port(), *settings)
    limits = {"lora_verify_interval": "1", "lora_mandate": "4", "serving": request.param}
    with running(prober), relay(prober.url) as url, acting(bench, tmp_path, prober_url=url, **limits):
        text = {"lora_worker.py": SCRIPT.read_text()}
        api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "worker"}, "data": text})
        api.create(_graph(newest), strict=True)
        wait_until_ready(bench, api, NAME)
        yield api
        api.delete(DYNAMO, GRAPH, NAME)
        wait_for(lambda: not api.list("v1", "Pod"), "all pods are gone", 120)


def _graph(tag: str) -> Manifest:
    graph = load_graph(NAME, tag, MockerWorker=1)
    worker = graph["spec"]["services"]["MockerWorker"]
    pod = worker["extraPodSpec"]
    main = {
        **pod["mainContainer"],
        "command": ["python3", f"{FOLDER}/lora_worker.py"],
        "args": ["good"],
        "volumeMounts": [{"name": "worker", "mountPath": FOLDER}],
    }
    worker |= {"modelRef": {"name": BASE}, "envs": [{"name": "DYN_LORA_ENABLED", "value": "true"}]}
    worker["extraPodSpec"] = {"mainContainer": main, "volumes": [{"name": "worker", "configMap": {"name": "worker"}}]}
    return graph


def held(bench: Bench, api: ApiClient) -> list[str]:
    """The adapters that the worker's own server lists; none while it does not answer."""
    (pod,) = [name for one in api.list("v1", "Pod") if (name := one["metadata"]["name"]).startswith(WORKER)]
    listens = bench.kubelet.worker_of(api.namespace, pod).place.listens
    try:
        return list(requests.get(f"http://{listens}:9090/v1/loras", timeout=5).json()["loras"])
    except (requests.RequestException, KeyError):
        return []


def is_loaded(bench: Bench, api: ApiClient) -> bool:
    found = api.get(DYNAMO, MODEL, MODEL_NAME) or {}
    return held(bench, api) == [ADAPTER] and condition(found, "Ready").get("status") == "True"


def create_model(api: ApiClient) -> None:
    spec = {"modelName": ADAPTER, "baseModelName": BASE, "modelType": "lora", "source": {"uri": f"hf://{ADAPTER}"}}
    api.create({"apiVersion": DYNAMO, "kind": MODEL, "metadata": {"name": MODEL_NAME}, "spec": spec}, strict=True)


@pytest.mark.parametrize("served", ["report"], indirect=True)
def test_adapter_that_the_frontend_never_hears_of_is_not_ready(bench: Bench, served: ApiClient) -> None:
    create_model(served)

    def ready() -> Manifest:
        return condition(served.get(DYNAMO, MODEL, MODEL_NAME) or {}, "Ready")

    with explained(bench, served):
        wait_for(lambda: held(bench, served) == [ADAPTER], "the engine has the adapter", 60)
        wait_for(lambda: ready().get("reason") == "NotOffered", lambda: f"no frontend offers it: {ready()}", 60)
        wait_for(lambda: "see the logs" in ready()["message"], lambda: f"it lasts: {ready()}", 60)
    said = f"no frontend of graph {NAME} offers it to clients (asked: {NAME}-frontend-"
    assert said in ready()["message"]
    served.delete(DYNAMO, MODEL, MODEL_NAME)
    wait_for(lambda: served.get(DYNAMO, MODEL, MODEL_NAME) is None, "the model is gone", 60)


def test_adapter_is_loaded_again_after_a_restart_and_unloaded_in_the_end(bench: Bench, served: ApiClient) -> None:
    create_model(served)
    with explained(bench, served):
        wait_for(lambda: is_loaded(bench, served), "the adapter is loaded", 60)
        (pod,) = [one["metadata"]["name"] for one in served.list("v1", "Pod") if WORKER in one["metadata"]["name"]]
        process = bench.kubelet.worker_of(served.namespace, pod).containers[0].process
        assert process is not None
        os.killpg(process.pid, signal.SIGKILL)
        wait_for(lambda: held(bench, served) == [], "the adapter is lost with the process", 30)
        wait_for(lambda: is_loaded(bench, served), "the adapter is loaded again", 90)
        served.delete(DYNAMO, MODEL, MODEL_NAME)
        wait_for(lambda: served.get(DYNAMO, MODEL, MODEL_NAME) is None, "the model is gone", 60)
    assert held(bench, served) == []
