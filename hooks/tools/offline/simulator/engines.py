"""The engines of simulated pods: HTTP servers on the pods' loopback addresses that keep LoRA adapters in memory.

An engine serves while its pod is ready and loses its adapters when it is not. As with a real worker, it supports LoRA
if its pod sets `DYN_LORA_ENABLED` and is not a prefill worker.

Source: Dynamo runtime, lib/runtime/src/system_status_server.rs.
"""

import errno
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any
from urllib.parse import unquote
from zlib import crc32

import orjson

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.loopback_http import Listeners, Request, Response, run_listeners
from hooks.tools.offline.simulator.workloads.pods import BLOCKS, block_prefix, is_ready

_LORAS = "/v1/loras"
_RESERVED_ADDRESS = "127.95.255.254"
"""No pod has this address; a simulation that binds a port here reserves it on the addresses of all pods."""


class EngineFailed(Exception):
    """An engine cannot listen on its pod's address."""


class LoraSupport(Enum):
    """What a worker can do with adapters."""

    LOADS = auto()
    NO_HANDLERS = auto()
    """A worker without the endpoints, like prefill workers."""
    NO_ROUTES = auto()
    """A system server that was started without LoRA."""


@dataclass(slots=True)
class SimulatedEngine:
    """One engine; `loaded` maps adapters to the sources that they were loaded from."""

    lora: LoraSupport
    loaded: dict[str, str] = field(default_factory=dict)

    def answer(self, request: Request) -> Response:
        """Answer one request as the real system server does."""
        path = request.path.partition("?")[0]
        if path in {"/health", "/live"}:
            return _json(200, {"status": "ready", "endpoints": {"generate": "ready"}})
        if self.lora is LoraSupport.NO_ROUTES or (path != _LORAS and not path.startswith(f"{_LORAS}/")):
            return _text(404, "Route not found")
        name = unquote(path.removeprefix(_LORAS).removeprefix("/"))
        match request.method, bool(name):
            case "GET", False:
                return self._list()
            case "POST", False:
                return self._load(request)
            case "DELETE", True:
                return self._unload(name)
        return _text(405, "Method not allowed")

    def _list(self) -> Response:
        if self.lora is LoraSupport.NO_HANDLERS:
            return _without_handler("list_loras")
        loras = {name: _number(name) for name in sorted(self.loaded)}
        return _json(200, {"status": "success", "loras": loras, "count": len(loras)})

    def _load(self, request: Request) -> Response:
        if not request.content_type.startswith("application/json"):
            return _text(415, "Expected request with `Content-Type: application/json`")
        try:
            body = orjson.loads(request.body)
            name, uri = str(body["lora_name"]), str(body["source"]["uri"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return _text(422, "Failed to read the body: lora_name and source.uri are needed")
        if self.lora is LoraSupport.NO_HANDLERS:
            return _without_handler("load_lora")
        self.loaded.setdefault(name, uri)  # the first source stays, until it is unloaded
        message = f"LoRA adapter '{name}' loaded"
        return _json(200, {"status": "success", "message": message, "lora_name": name, "lora_id": _number(name)})

    def _unload(self, name: str) -> Response:
        if self.lora is LoraSupport.NO_HANDLERS:
            return _without_handler("unload_lora")
        if self.loaded.pop(name, None) is None:
            return _json(500, {"status": "error", "message": f"LoRA adapter '{name}' not found"})
        message = f"LoRA adapter '{name}' unloaded"
        return _json(200, {"status": "success", "message": message, "lora_name": name, "lora_id": _number(name)})


def _number(name: str) -> int:
    return crc32(name.encode()) & 0x7FFFFFFF


def _without_handler(endpoint: str) -> Response:
    message = f"LoRA management not available: no endpoint {endpoint} is registered"
    return _json(500, {"status": "error", "message": message})


def _json(status: int, document: Mapping[str, Any]) -> Response:
    return Response(status, "application/json", orjson.dumps(document))


def _text(status: int, line: str) -> Response:
    return Response(status, "text/plain; charset=utf-8", line.encode())


def lora_of(pod: Manifest) -> LoraSupport:
    """What the engine of a pod can do with adapters."""
    containers = [found for found in pod["spec"]["containers"] if found["name"] == contract.MAIN_CONTAINER]
    variables = {entry["name"]: entry.get("value", "") for found in containers for entry in found.get("env", ())}
    if str(variables.get(contract.LORA_VARIABLE, "")).lower() not in {"true", "1"}:
        return LoraSupport.NO_ROUTES
    labels = pod["metadata"].get("labels") or {}
    types = {labels.get(contract.LABEL_COMPONENT_TYPE), labels.get(contract.LABEL_SUB_COMPONENT_TYPE)}
    return LoraSupport.NO_HANDLERS if "prefill" in types else LoraSupport.LOADS


class Engines:
    """The engines of all ready pods that serve a base model; each listens on its pod's address."""

    def __init__(self, listeners: Listeners, port: int) -> None:
        """Take the listeners, and the port of every engine."""
        self._listeners = listeners
        self._port = port
        self._running: dict[tuple[str, str], _Running] = {}
        self._writes_seen = 0

    def follow(self, cluster: SimulatedCluster) -> None:
        """Start and stop engines for the pods that changed since the last call; call it at every step.

        Raises:
            EngineFailed: an engine cannot listen at its pod's address.
        """
        new = cluster.writes[self._writes_seen :]
        self._writes_seen += len(new)
        for namespace, name in sorted({(write.namespace, write.name) for write in new if write.resource == "pods"}):
            self._follow_pod(namespace, name, cluster.get(kinds.POD, name, namespace))

    def _follow_pod(self, namespace: str, name: str, pod: Manifest | None) -> None:
        wanted = pod if pod is not None and _serves_model(pod) else None
        running = self._running.get((namespace, name))
        if running is not None and (wanted is None or wanted["metadata"]["uid"] != running.uid):
            del self._running[namespace, name]
            self._listeners.close(running.address, self._port)
            running = None
        if running is None and wanted is not None:
            self._running[namespace, name] = self._start(wanted)

    @property
    def running(self) -> dict[str, SimulatedEngine]:
        """The engines by their pods' `namespace/name`."""
        return {"/".join(key): running.engine for key, running in sorted(self._running.items())}

    def _start(self, pod: Manifest) -> "_Running":
        name, address = pod["metadata"]["name"], pod["status"]["podIP"]
        engine = SimulatedEngine(lora_of(pod))
        try:
            self._listeners.open(address, self._port, engine.answer)
        except OSError as error:
            raise EngineFailed(
                f"no engine can listen at {address}:{self._port} for Pod {name}: {error.strerror or error}; "
                "all of 127.0.0.0/8 must be loopback, as on Linux"
            ) from error
        return _Running(uid=pod["metadata"]["uid"], address=address, engine=engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    uid: str
    address: str
    engine: SimulatedEngine


def _serves_model(pod: Manifest) -> bool:
    return contract.LABEL_MODEL_HASH in (pod["metadata"].get("labels") or {}) and is_ready(pod)


@contextmanager
def reserve_port(preferred: int) -> Iterator[int]:
    """Reserve a port for engines that no other simulation on this machine uses: the preferred one, else a free one.

    It stays bound until the end, on an address that no pod has. A program that listens on the port on all addresses
    counts as using it.
    """
    with socket.socket() as holder:
        try:
            holder.bind((_RESERVED_ADDRESS, preferred))
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise EngineFailed(f"no engine can listen on loopback: {error.strerror}; this needs Linux") from error
            holder.bind((_RESERVED_ADDRESS, 0))
        port: int = holder.getsockname()[1]
        yield port


@contextmanager
def reserve_block() -> Iterator[int]:
    """Reserve a block of pods' addresses that no other simulation on this machine has, until the end.

    The first one is given where none can be reserved, as a program listens on the port on all addresses.
    """
    with socket.socket() as holder:
        yield next((block for block in range(BLOCKS) if _can_reserve(holder, block)), 0)


def _can_reserve(holder: socket.socket, block: int) -> bool:
    try:
        holder.bind((f"{block_prefix(block)}.255.253", contract.HTTP_PORT))
    except OSError:
        return False
    return True


@contextmanager
def run_engines(port: int) -> Iterator[Engines]:
    """Engines that stop at the end of the context; none runs before the first `follow`."""
    with run_listeners() as listeners:
        yield Engines(listeners, port)
