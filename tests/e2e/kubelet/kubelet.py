"""A node: takes the pods that are bound to it, gives each an address, and a worker that runs it."""

import base64
import signal
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import requests

from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.contract.backend import ApiRefused, Manifest
from tests.e2e.kubelet.container import timestamp
from tests.e2e.kubelet.environment import MissingReference
from tests.e2e.kubelet.guard import Guard, find_marked
from tests.e2e.kubelet.pod_worker import Place, PodWorker
from tests.loopback import PODS, on_loopback

MARK = "E2E_KUBELET"
"""The variable by which every process of a pod is found, also those that it started itself."""

HEARTBEAT_SECONDS, WATCH_SECONDS, PROBES_AT_ONCE = 20.0, 20, 8
_ADDRESSES = (f"{PODS}{third}.{fourth}" for third in range(200, 250) for fourth in range(1, 250))
"""Beyond those that kwok gives to its pods."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node, as the API server knows it."""

    name: str
    address: str


FIRST, SECOND = Node("processes-0", f"{PODS}255.1"), Node("processes-1", f"{PODS}255.2")
"""The one that is always there, and one that a test may lose."""


@dataclass(slots=True)
class Kubelet:
    """A running kubelet; `programs` are the releases' programs by image tag, and may change while it runs."""

    plane: ControlPlane
    folder: Path
    work: Path
    programs: dict[str, Path]
    given: Mapping[str, str]
    node: Node = FIRST
    workers: dict[str, PodWorker] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _api: ApiClient = field(init=False)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(PROBES_AT_ONCE))

    def __post_init__(self) -> None:
        self._api = self.plane.client(agent="process-kubelet")

    def worker_of(self, namespace: str, name: str) -> PodWorker:
        """The worker of the pod with that name, whose containers have their processes."""
        for worker in list(self.workers.values()):
            metadata = worker.pod["metadata"]
            if (metadata["namespace"], metadata["name"]) == (namespace, name) and not worker.is_over:
                return worker
        raise LookupError(f"no pod {namespace}/{name} runs here")

    def stop(self) -> None:
        """End all pods' processes at once; their objects stay."""
        self._stopped.set()
        for worker in list(self.workers.values()):
            worker.halt()
        self._pool.shutdown(cancel_futures=True)

    def vanish(self, number: signal.Signals) -> None:
        """Be lost with its machine: its pods' processes get that signal, and nobody tells of them any more."""
        self._stopped.set()
        for worker in list(self.workers.values()):
            worker.vanish(number)

    def watch_pods(self) -> None:
        """Follow the pods until it is stopped; after a fault it lists them again."""
        while not self._stopped.is_set():
            try:
                revision, pods = self._api.list_with_revision("v1", "Pod")
                for pod in pods:
                    self._take(pod)
                there = {str(pod["metadata"]["uid"]) for pod in pods}
                for uid in self.workers.keys() - there:
                    self.workers[uid].update(None)
                self._follow(revision)
            except (ApiRefused, requests.RequestException):
                self._stopped.wait(1)

    def beat(self) -> None:
        """Renew the node's Lease, without which its pods would be taken for lost."""
        while not self._stopped.wait(HEARTBEAT_SECONDS):
            try:
                self._api.apply(_lease(self.node))
            except (ApiRefused, requests.RequestException):
                continue

    def _follow(self, revision: str) -> None:
        for event in self._api.watch("v1", "Pod", revision, WATCH_SECONDS):
            if self._stopped.is_set():
                return
            if event["type"] in {"ADDED", "MODIFIED"}:
                self._take(event["object"])
            elif event["type"] == "DELETED" and (worker := self.workers.get(event["object"]["metadata"]["uid"])):
                worker.update(None)

    def _take(self, pod: Manifest) -> None:
        uid = str(pod["metadata"]["uid"])
        if pod["spec"].get("nodeName") != self.node.name or self._stopped.is_set():
            return
        if uid in self.workers:
            self.workers[uid].update(pod)
            return
        self.workers[uid] = PodWorker(pod, self._place(pod), self._api, self._pool)
        self.workers[uid].start()

    def _place(self, pod: Manifest) -> Place:
        metadata, address = pod["metadata"], next(_ADDRESSES)

        def data(kind: str, name: str) -> dict[str, str] | None:
            found = self._api.get("v1", kind, name, metadata["namespace"])
            return None if found is None else _read_data(found)

        return Place(
            address=address,
            listens=on_loopback(address),
            node_address=self.node.address,
            folder=self.folder / metadata["namespace"] / f"{metadata['name']}.{metadata['uid'][:8]}",
            work=self.work,
            claims=self.folder / "claims",
            certificate=self.plane.certificate,
            programs=self.programs,
            given=self.given,
            data=data,
            account=self._account,
        )

    def _account(self, pod: Manifest, folder: Path) -> tuple[Path, str]:
        name, namespace = pod["spec"].get("serviceAccountName", "default"), pod["metadata"]["namespace"]
        try:
            token = self.plane.token_of(namespace, name)
        except ApiRefused as error:
            raise MissingReference(f'serviceaccount "{name}": {error.message}') from None
        user = f"system:serviceaccount:{namespace}:{name}"
        return self.plane.write_kubeconfig(folder / "kubeconfig", user, token), token


@contextmanager
def running_kubelet(
    plane: ControlPlane,
    folder: Path,
    work: Path,
    programs: Mapping[str, Path],
    given: Mapping[str, str],
    node: Node = FIRST,
) -> Iterator[Kubelet]:
    """Register the node and run its pods until the end of the block; then no process of a pod is left."""
    guard = Guard(MARK, uuid.uuid4().hex)
    kubelet = Kubelet(plane, folder, work, dict(programs), {**given, **guard.marked}, node)
    try:
        _register(plane.client(), node)
        threads = [threading.Thread(target=one, daemon=True) for one in (kubelet.watch_pods, kubelet.beat)]
        for thread in threads:
            thread.start()
        yield kubelet
    finally:
        kubelet.stop()
        left = guard.close()
        assert not left, f"processes that outlived their pods: {left}"


def processes_of(kubelet: Kubelet) -> list[int]:
    """The numbers of all processes that its pods have started and that still run."""
    return find_marked(f"{MARK}={kubelet.given[MARK]}")


def bind_pods(api: ApiClient, prefix: str, seconds: float = 60.0) -> None:
    """Let pods of namespaces with the prefix go to this node, as a scheduler would; all others stay with kwok's."""
    name = "bind-to-kwok"
    policy = api.get("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", name)
    assert policy is not None, f"the control plane has no policy {name}"
    chosen = f'request.namespace.startsWith("{prefix}") ? "{FIRST.name}" : "kwok-0"'
    expression = f"Object{{spec: Object.spec{{nodeName: {chosen}}}}}"
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    api.patch("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", name, {"spec": {"mutations": [mutation]}})
    namespace = f"{prefix}binding"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    metadata = {"name": "probe", "namespace": namespace}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    until = time.monotonic() + seconds
    while api.create(pod, dry_run=True)["spec"].get("nodeName") != FIRST.name:
        assert time.monotonic() < until, f"pods were not bound to {FIRST.name} in {seconds:.0f} s"
        time.sleep(0.1)


def _register(api: ApiClient, node: Node) -> None:
    resources = {"cpu": "64", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": "64"}
    metadata = {"name": node.name, "labels": {"kubernetes.io/hostname": node.name}}
    api.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    now = timestamp()
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "processes can be started"}
    status = {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [{"type": "InternalIP", "address": node.address}, {"type": "Hostname", "address": node.name}],
        "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
    }
    api.patch("v1", "Node", node.name, {"status": status}, sub="status")
    api.apply(_lease(node))


def _lease(node: Node) -> Manifest:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": node.name, "leaseDurationSeconds": 40, "renewTime": now}
    metadata = {"name": node.name, "namespace": "kube-node-lease"}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def _read_data(found: Manifest) -> dict[str, str]:
    """The data of a ConfigMap or Secret as text."""
    if found["kind"] == "ConfigMap":
        return dict(found.get("data") or {})
    return {key: base64.b64decode(value).decode(errors="replace") for key, value in (found.get("data") or {}).items()}
