"""The frontends of simulated pods: HTTP servers on the pods' loopback addresses that list the models of their graphs.

A frontend answers while its pod is ready. It routes the models of ready workers that have registered, with the adapters
that their engines have, and where there are prefill and decode workers it needs one of each, as frontends do since
release 1.3.

Source: Dynamo runtime, lib/llm/src/http/service/openai.rs.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import orjson

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, labels_of, name_of
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.engines import Engines, SimulatedEngine
from hooks.tools.offline.simulator.loopback_http import Listeners, Request, Response
from hooks.tools.offline.simulator.store import Ref
from hooks.tools.offline.simulator.workloads.pods import PodFault, is_ready

_HALVES = frozenset({ComponentType.PREFILL, ComponentType.DECODE})
_Place = tuple[str, int]


@dataclass(slots=True)
class RoutedModels:
    """What the frontends of one graph know: its models, and the kinds of workers of which none is ready.

    `engines` are those of its ready workers.
    """

    names: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    engines: tuple[SimulatedEngine, ...] = ()

    def answer(self, request: Request) -> Response:
        """Answer one request as the real frontend does."""
        path = request.path.partition("?")[0]
        adapters = {name for engine in self.engines for name in tuple(engine.loaded)}
        listed = () if self.missing else sorted({*self.names, *adapters})
        if path == contract.MODELS_PATH:
            return _json(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in listed]})
        name = unquote(path.removeprefix(f"{contract.MODELS_PATH}/").removesuffix("/ready"))
        if not path.endswith("/ready") or name not in self.names:
            return _json(404, {"message": "Model not found", "type": "Not Found", "code": 404})
        told = {"ready": not self.missing, "present": [], "missing_worker_types": list(self.missing)}
        return _json(200, {"model": name, "ready": not self.missing, "namespaces": {"simulated": told}})


@dataclass(slots=True)
class Frontends:
    """The frontends of all ready pods that run one; each listens at its pod's address, at the port named `http`.

    `engines` are those of the simulation, None without models.
    """

    listeners: Listeners
    engines: Engines | None = None
    _running: dict[tuple[str, str], tuple[str, _Place]] = field(default_factory=dict)
    _models: dict[tuple[str, str], RoutedModels] = field(default_factory=dict)
    _writes_seen: int = 0
    _late: set[str] = field(default_factory=set)

    def follow(self, cluster: SimulatedCluster) -> None:
        """Start and stop frontends for the pods that changed since the last call; call it at every step.

        One that cannot listen, as its port is in use on this machine, is as one that nobody reaches.
        """
        new = cluster.writes[self._writes_seen :]
        self._writes_seen += len(new)
        running = self.engines.running if self.engines is not None else {}
        changed = {write.namespace for write in new if write.resource in {"pods", _GRAPHS}}
        for namespace in sorted(changed | self._late):
            pods = cluster.list_kind(kinds.POD, namespace)
            waiting = {name_of(pod) for pod in pods if not _has_registered(pod, cluster)}
            (self._late.add if waiting else self._late.discard)(namespace)
            for graph in cluster.list_kind(contract.GRAPH, namespace):
                known = self._models.setdefault((namespace, name_of(graph)), RoutedModels())
                known.names, known.missing = _find_models(graph, [pod for pod in pods if name_of(pod) not in waiting])
                own = (f"{namespace}/{name_of(pod)}" for pod in pods if _is_of(graph, pod))
                known.engines = tuple(running[name] for name in own if name in running)
            self._follow_pods(namespace, pods)

    def _follow_pods(self, namespace: str, pods: list[Manifest]) -> None:
        wanted = {(namespace, name_of(pod)): pod for pod in pods if _is_frontend(pod) and is_ready(pod)}
        for key, (uid, place) in list(self._running.items()):
            if key[0] == namespace and (key not in wanted or wanted[key]["metadata"]["uid"] != uid):
                del self._running[key]
                self.listeners.close(*place)
        for key, pod in wanted.items():
            models = self._models.get((namespace, labels_of(pod).get(contract.LABEL_GRAPH, "")))
            if key not in self._running and models is not None:
                place = pod["status"]["podIP"], _port_of(pod)
                with suppress(OSError):
                    self.listeners.open(*place, models.answer)
                    self._running[key] = pod["metadata"]["uid"], place


_GRAPHS = "dynamographdeployments"
_LATE_SECONDS = 30.0


def _has_registered(pod: Manifest, cluster: SimulatedCluster) -> bool:
    """Whether frontends know a worker's pod, which the fault that it was given may delay, or prevent."""
    ref = Ref(kinds.POD.group, kinds.POD.kind, pod["metadata"]["namespace"], name_of(pod))
    fault = cluster.kubelet.fault_of(ref)
    if fault is not PodFault.LATE:
        return fault is not PodFault.NOT_REGISTERED
    ready = find_condition((pod.get("status") or {}).get("conditions") or (), READY) or {}
    since = str(ready.get("lastTransitionTime") or "")
    return bool(since) and seconds_since(since, cluster.clock.now) >= _LATE_SECONDS


def _find_models(graph: ReadManifest, pods: list[Manifest]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The models of a graph's ready workers, and the kinds of workers of which none is ready."""
    services: Mapping[str, Mapping[str, Json]] = (graph.get("spec") or {}).get("services") or {}
    said: Mapping[str, Mapping[str, Json]] = (graph.get("status") or {}).get("services") or {}
    roles = {name: role for name, spec in services.items() if (role := _role_of(spec)) is not None}
    own = [pod for pod in pods if _is_of(graph, pod) and is_ready(pod)]
    ready = {labels_of(pod).get(contract.LABEL_COMPONENT) for pod in own}
    there = {role for name, role in roles.items() if name in ready}
    names = {str((said.get(name) or {}).get("servedModelName") or name_of(graph)) for name in roles if name in ready}
    return tuple(sorted(names)), tuple(sorted(set(roles.values()) - there))


def _is_of(graph: ReadManifest, pod: ReadManifest) -> bool:
    return labels_of(pod).get(contract.LABEL_GRAPH) == name_of(graph)


def _role_of(spec: Mapping[str, Json]) -> str | None:
    """`prefill`, `decode`, `worker` for one that does both, None for what is no worker."""
    kind = ComponentType.of(str(spec.get("componentType")))
    if not kind.is_worker:
        return None
    half = {kind, ComponentType.of(str(spec.get("subComponentType")))} & _HALVES
    return next((one.value for one in half), ComponentType.WORKER.value)


def _is_frontend(pod: ReadManifest) -> bool:
    return labels_of(pod).get(contract.LABEL_COMPONENT_TYPE) == ComponentType.FRONTEND.value


def _port_of(pod: ReadManifest) -> int:
    ports = [port for one in pod["spec"]["containers"] for port in one.get("ports") or ()]
    named = [int(port["containerPort"]) for port in ports if port.get("name") == contract.HTTP_PORT_NAME]
    return named[0] if named else contract.HTTP_PORT


def _json(status: int, document: Mapping[str, Any]) -> Response:
    return Response(status, "application/json", orjson.dumps(document))
