"""What a stolen token is worth: forged calls about models, on a real API server, by hooks with the chart's rights.

Two hooks pods share the Lease of the probers: the prober of one acts, the other passes requests on. The engine listens
on loopback. Metacontroller is played, because whoever has its token can play it.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.model.prober.messages import Adapter, EngineTarget, LoadRequest
from hooks.server.clients.prober_client import RELAY_PATH
from hooks.tools.offline.simulator.engines import LoraSupport, SimulatedEngine
from hooks.tools.offline.simulator.loopback_http import run_listeners
from hooks.wire.policy import identity
from hooks.wire.prober.messages import write_message
from tests import make
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, MODEL, RELEASE
from tests.cluster.processes import running
from tests.cluster.programs import NO_EFFECTS, HttpServer, prober_server
from tests.loopback import on_loopback, relay
from tests.ports import free_port
from tests.waiting import PATIENCE

NAME, BASE, SOURCE, EVIL = "my-lora", "Qwen/Qwen3-0.6B", "s3://bucket/a", "s3://evil/a"
ENGINE_PORT = 9090
CALLERS, RELAY = "callers-token", "relay-token"
GONE = "2026-03-01T12:00:00Z"
QUIET_SECONDS = 3.0
"""Three of the prober's rounds."""


@dataclass
class Attacked:
    """The hooks whose prober acts, those that pass requests on, and a stored model with one engine."""

    api: ApiClient
    acting: str
    other: str
    engine: SimulatedEngine
    pod: Manifest

    @property
    def model(self) -> Manifest:
        found = self.api.get(DYNAMO, MODEL, NAME)
        assert found is not None
        return found

    @property
    def address(self) -> str:
        return f"http://{self.pod['status']['podIP']}:{ENGINE_PORT}"

    def call(self, call: str, parent: Manifest, url: str = "", token: str = CALLERS) -> requests.Response:
        """A sync or finalize about this parent and the engine."""
        body = make.wire_request(parent, related=[self._endpoint_slice()])
        decorated = {"object": body.pop("parent"), "attachments": body.pop("children"), **body}
        decorated["finalizing"] = call == "finalize"
        headers = {"Authorization": f"Bearer {token}"}
        data = json.dumps(decorated).encode()
        return requests.post(f"{url or self.acting}/model/{call}", data=data, headers=headers, timeout=PATIENCE)

    def sync_until(self, is_done: Callable[[dict[str, Any]], bool], call: str = "sync", url: str = "") -> None:
        """Call again and again, and write the status, as Metacontroller does."""

        def done() -> bool:
            answer = self.call(call, self.model, url)
            if answer.status_code in {429, 503}:  # the Lease is not taken yet, or the prober has only begun
                return False
            assert answer.status_code == 200, answer.text
            if status := answer.json().get("status"):
                self.api.patch(DYNAMO, MODEL, NAME, {"status": status}, sub="status")
            return is_done(answer.json())

        wait_for(done, f"{call} is done", 60)

    def put(self, request: LoadRequest, token: str) -> requests.Response:
        """Pass a request on as a hooks pod does."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"{self.acting}{RELAY_PATH}/v1/models/{request.namespace}/{request.name}"
        return requests.put(url, data=write_message(request), headers=headers, timeout=20)

    def _endpoint_slice(self) -> Manifest:
        pod = self.pod["metadata"]
        target = {"kind": "Pod", "name": pod["name"], "uid": pod["uid"]}
        labels = {contract.LABEL_MODEL_HASH: identity.model_hash(BASE)}
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "s", "namespace": self.api.namespace, "labels": labels},
            "addressType": "IPv4",
            "endpoints": [
                {"addresses": [self.pod["status"]["podIP"]], "conditions": {"ready": True}, "targetRef": target}
            ],
            "ports": [{"name": "system", "port": ENGINE_PORT, "protocol": "TCP"}],
        }


def hooks_pod(folder: Path, plane: ControlPlane, prober: str) -> HttpServer:
    """The hooks as in a pod of the release, with its account and the files of its tokens."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = ("hook_replicas=2", f"prober_lease={RELEASE}-prober", f"prober_url={prober}", "resource_counts=off")
    command = ["env", "POD_IP=127.0.0.1", sys.executable, "-m", "tests.cluster.hooks_in_pod", plane.server]
    command += [str(folder / "token"), str(plane.certificate), "serve", f"--bind=127.0.0.1:{port}", "--workers=1"]
    command += [f"--token-file={folder / 'callers'}", f"--relay-token-file={folder / 'relay'}"]
    command += [word for setting in (*settings, *NO_EFFECTS) for word in ("--set", setting)]
    return HttpServer(f"hooks-{port}", command, folder, url=url, health=f"{url}/readyz")


@pytest.fixture
def attacked(api: ApiClient, admin: ApiClient, plane: ControlPlane, release: str, tmp_path: Path) -> Iterator[Attacked]:
    body: Manifest = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = admin.within(release).create_sub("v1", "ServiceAccount", RELEASE, "token", body)["status"]["token"]
    for name, text in (("token", token), ("namespace", release), ("callers", CALLERS), ("relay", RELAY)):
        (tmp_path / name).write_text(text)
    pod: Manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "engine"}}
    api.create({**pod, "spec": {"containers": [{"name": "main", "image": "main"}]}}, strict=True)
    spec = {"modelName": "a", "baseModelName": BASE, "modelType": "lora", "source": {"uri": SOURCE}}
    metadata = {"name": NAME, "finalizers": ["example.com/test"]}
    api.create({"apiVersion": DYNAMO, "kind": MODEL, "metadata": metadata, "spec": spec}, strict=True)
    found = wait_for(lambda: with_address(api.get("v1", "Pod", "engine")), "the pod has an address")
    with ExitStack() as stack:
        listeners, engine = stack.enter_context(run_listeners()), SimulatedEngine(LoraSupport.LOADS)
        listeners.open(on_loopback(found["status"]["podIP"]), ENGINE_PORT, engine.answer)
        prober = prober_server(
            tmp_path, free_port(), "hook_replicas=2", "lora_verify_interval=1", "engine_addresses=any"
        )
        stack.enter_context(running(prober))
        acting = hooks_pod(tmp_path, plane, stack.enter_context(relay(prober.url)))
        other = hooks_pod(tmp_path, plane, f"http://127.0.0.1:{free_port()}")  # its prober does not run
        for server in (acting, other):
            stack.enter_context(running(server))
        yield Attacked(api=api, acting=acting.url, other=other.url, engine=engine, pod=found)
        if "deletionTimestamp" not in (api.get(DYNAMO, MODEL, NAME) or {})["metadata"]:
            api.delete(DYNAMO, MODEL, NAME)
        api.patch(DYNAMO, MODEL, NAME, {"metadata": {"finalizers": None}})


def with_address(pod: Manifest | None) -> Manifest | None:
    return pod if pod is not None and pod.get("status", {}).get("podIP") else None


def is_ready(answer: dict[str, Any]) -> bool:
    return bool(answer["status"].get("readyEndpoints"))


def changed(model: Manifest, **fields: Any) -> Manifest:
    return {**model, "metadata": {**model["metadata"], **fields}}


def test_stolen_tokens_command_no_engine(attacked: Attacked) -> None:
    """All attacks in one test, because the Lease is taken only after 15 s."""
    engine, namespace = attacked.engine, attacked.api.namespace
    attacked.sync_until(is_ready, url=attacked.other)  # passed on with the token of hooks pods
    attacked.sync_until(is_ready)
    assert engine.loaded == {"a": SOURCE}
    model = attacked.model
    metadata = model["metadata"]

    spec = {**model["spec"], "modelName": "b", "source": {"uri": EVIL}}
    nowhere = {**changed(model, name="nowhere", uid="forged"), "spec": spec}
    nowhere["status"] = {"adapters": [{"name": "b", "source": EVIL}]}
    another = {**model, "spec": {**model["spec"], "source": {"uri": EVIL}}}
    another["status"] = {"adapters": [{"name": "a", "source": EVIL}]}
    of_another = {**model, "status": {"adapters": [{"name": "a", "source": SOURCE}, {"name": "x", "source": EVIL}]}}
    gone = changed(model, deletionTimestamp=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    forged = {
        "a sync of a model that is stored nowhere": ("sync", nowhere, "has no DynamoModel"),
        "a sync with another source": ("sync", another, "does not ask for adapter a from this source"),
        "a sync that unloads another adapter": ("sync", of_another, "does not ask for adapter a"),
        "a sync of another generation": ("sync", changed(another, generation=9), "has another generation"),
        "a finalize of a model that is not being deleted": ("finalize", gone, "does not ask to unload a"),
        "a finalize of a model that is stored nowhere": ("finalize", changed(gone, uid="x"), "has no DynamoModel"),
    }
    for name, (call, parent, sentence) in forged.items():
        for url in (attacked.acting, attacked.other):
            answer = attacked.call(call, parent, url)
            assert (answer.status_code, sentence in answer.text) == (429, True), (name, answer.status_code, answer.text)
            assert metadata["uid"] not in answer.text

    target = EngineTarget(address=attacked.address, pod="engine")
    good = LoadRequest(
        namespace=namespace,
        name=NAME,
        uid=metadata["uid"],
        generation=metadata["generation"],
        adapter=Adapter(name="a", uri=SOURCE),
        targets=(target,),
    )
    evil = LoadRequest(namespace="victim", name="m", adapter=Adapter(name="b", uri=EVIL), targets=(target,))
    elsewhere = EngineTarget(address="http://10.0.255.9:80", pod="engine")
    for token in ("", CALLERS):
        for request in (evil, good):
            assert attacked.put(request, token).status_code == 401
    with_relay_token = {
        "the API server has no DynamoModel victim/m": evil,
        "does not ask for adapter b": replaced(good, adapter=Adapter(name="b", uri=EVIL)),
        "does not ask to unload a": replaced(good, adapter=None, former=("a",)),
        "its address 10.0.255.9 is not an address of pod engine": replaced(good, targets=(elsewhere,)),
    }
    for sentence, request in with_relay_token.items():
        answer = attacked.put(request, RELAY)
        assert (answer.status_code, sentence in answer.text) == (429, True), (sentence, answer.text)
    assert attacked.put(good, RELAY).status_code == 200
    assert attacked.call("sync", model, token=RELAY).status_code == 401

    time.sleep(QUIET_SECONDS)
    assert engine.loaded == {"a": SOURCE}

    attacked.api.delete(DYNAMO, MODEL, NAME)
    attacked.sync_until(lambda answer: bool(answer.get("finalized")), "finalize")
    assert engine.loaded == {}
    late = attacked.call("sync", model)
    assert (late.status_code, "another generation" in late.text) == (429, True), late.text


def replaced(request: LoadRequest, **fields: Any) -> LoadRequest:
    return LoadRequest(
        **{
            "namespace": request.namespace,
            "name": request.name,
            "uid": request.uid,
            "generation": request.generation,
            "adapter": request.adapter,
            "targets": request.targets,
            **fields,
        }
    )
