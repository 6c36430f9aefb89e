"""Answers of API servers, etcd and probers, damaged: each becomes a value that can be used, or a sentence."""

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from hooks.component.report.progress import suffix_of
from hooks.graph.seen.upstream_generations import find_generations
from hooks.ground import contract
from hooks.ground.errors import HookError
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.pod_reasons import cannot_pull, explain_pods
from hooks.ground.k8s.types import ReadManifest, controller_of
from hooks.ground.settings import parse_settings
from hooks.model.prober.messages import AdapterPhase, EndpointReport, LoadReport, LoadRequest
from hooks.model.seen.pod_addresses import NamedAddress
from hooks.request.seen.failures import describe_pods
from hooks.request.seen.gpu_discovery import observe_nodes
from hooks.server.clients.api_server import ApiServer, Refused, collection_path, is_served, read_objects, read_pages
from hooks.server.clients.effects import EffectsClient
from hooks.server.clients.etcd import EtcdClient
from hooks.server.clients.inventory import find_reason, find_state
from hooks.server.clients.namespace_locks import LockReader
from hooks.server.clients.pod_reader import PodReader
from hooks.server.clients.prober_client import ProberClient
from hooks.server.clients.query_reader import QueryReader
from hooks.server.exchange.http_client import HttpClient
from hooks.wire.metacontroller.effects import EffectSource, EtcdPrefixDrop, ScalePodClique, WriteBackReplicas
from hooks.wire.metacontroller.protocol import ObjectQuery
from hooks.wire.policy.conditions import reference_of
from hooks.wire.prober.messages import write_message
from tests import make
from tests.fuzzing.giving import MOST_WORDS, Broken, Give, Seed, failures_kept
from tests.fuzzing.mutations import Path as Place
from tests.server.clients import grove_objects as stored
from tests.server.clients.large_pods import COLUMNS, large_pod, write_row
from tests.server.clients.played_server import path_of

URL = "https://127.0.0.1:6443"
PODS = "/api/v1/namespaces/team-a/pods"
OF_PODS = ObjectQuery(kinds.POD, "team-a", labels=(("app", "a"),))
_SCALE = ScalePodClique(kind="PodClique", namespace="default", name=stored.FRONTEND, replicas=3)
_WRITE = WriteBackReplicas(graph="g", namespace="default", service="Worker", replicas=5)
_SETTINGS = parse_settings({}, {"effect_scale": "on", "effect_write_back": "always"})
_ADDRESS = NamedAddress("team-a", "p-000", "u-0", "10.0.0.1")
_LOAD = LoadRequest(namespace="default", name="m")
Read = Callable[[ApiServer, HTTPAdapter], Iterator[str]]
"""Reads what a seed is about; gives the sentences that came of it."""


def _pods() -> list[dict[str, Any]]:
    running = {
        "ready": False,
        "restartCount": 3,
        "started": True,
        "state": {"running": {"startedAt": "2026-03-01T12:00:00Z"}},
    }
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-03-01T12:00:00Z"}}
    pods = [large_pod(number, 10) for number in range(3)]
    pods[1]["status"]["containerStatuses"] = [{"name": "main", **running, "lastState": ended}]
    pods[1]["spec"]["containers"][0]["readinessProbe"] = {"periodSeconds": 5, "failureThreshold": 3}
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
    pods[2] |= {"status": {"phase": "Pending", "conditions": [scheduled]}}
    pods[2]["spec"] |= {
        "nodeName": "n",
        "readinessGates": [{"conditionType": "x/y"}],
        "schedulingGates": [{"name": "g"}],
    }
    return pods


def _table(pods: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [write_row(large_pod(number, 10)) for number in range(len(pods))]
    columns = [{"name": name, "type": "string"} for name in COLUMNS]
    return {"kind": "Table", "metadata": {}, "columnDefinitions": columns, "rows": rows}


@cache
def _sound() -> Mapping[str, Any]:
    """What is answered at the paths that a seed is not about."""
    pods = _pods()
    objects = {path_of(one): one for one in stored.stored()}
    whole = {f"{PODS}/{pod['metadata']['name']}": pod for pod in pods}
    return {
        **objects,
        **whole,
        f"{PODS}?small": {"items": pods, "metadata": {"continue": "x"}},
        f"{PODS}?table": _table(pods),
    }


def answer_seeds() -> list[Seed]:
    """Sound answers, each with the path at which it is given."""
    pods = _pods()
    node: dict[str, Any] = {
        "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "H100", "nvidia.com/gpu.count": "8"}}
    }
    node |= {"status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]}}
    lease: dict[str, Any] = {
        "holderIdentity": "x",
        "leaseDurationSeconds": 30,
        "renewTime": "2026-03-01T12:00:00.000000Z",
    }
    lease_object: dict[str, Any] = {"kind": "Lease", "metadata": {"name": "l", "resourceVersion": "1"}, "spec": lease}
    graph = {**stored.graph(), "status": {"state": "failed", "conditions": [{"type": "Ready", "status": "False"}]}}
    component: dict[str, Any] = {
        "metadata": {"name": "g-w-abcdef01", "namespace": "team-a", "labels": {"a": "b"}},
        "spec": {},
    }
    groups: dict[str, Any] = {"kind": "APIResourceList", "resources": [{"kind": "PodClique", "name": "podcliques"}]}
    report = json.loads(
        write_message(LoadReport(endpoints=(EndpointReport(address="http://a:1", phase=AdapterPhase.LOADED),)))
    )
    deployment: dict[str, Any] = {
        "metadata": {"name": "main", "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]}
    }
    return [
        Seed(name="pods", path=f"{PODS}?small", value={"kind": "PodList", "items": pods, "metadata": {"continue": ""}}),
        Seed(name="pods", path=f"{PODS}?table", value=_table(pods)),
        *(Seed(name="pods", path=f"{PODS}/{pod['metadata']['name']}", value=pod) for pod in pods),
        Seed(
            name="address",
            path=f"{PODS}/p-000",
            value={**pods[0], "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}},
        ),
        Seed(name="nodes", path=collection_path(kinds.NODE), value={"items": [node]}),
        Seed(name="components", path=collection_path(contract.COMPONENT, "team-a"), value={"items": [component]}),
        Seed(name="named", path=f"{collection_path(kinds.DEPLOYMENT, 'team-a')}/main", value=deployment),
        *(Seed(name="effects", path=path_of(one), value=one) for one in stored.stored()),
        Seed(name="lease", path="lease", value=lease_object),
        Seed(name="pages", path="pages", value={"metadata": {"continue": ""}, "items": [graph]}),
        Seed(name="discovery", path="discovery", value=groups),
        Seed(name="etcd", path="etcd", value={"header": {"revision": "7"}, "deleted": "3"}),
        Seed(name="prober", path="prober", value=report),
    ]


class Answering(HTTPAdapter):
    """Answers at one path with a body, whose length decides on the status; at others as a sound server."""

    path, body = "", b""

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        place = _place_of(str(request.url))
        response = requests.Response()
        if place == self.path or not self.path.startswith("/"):
            response.status_code, body = (200, 200, 200, 201, 404, 409, 500)[len(self.body) % 7], self.body
        else:
            found = _sound().get(place)
            response.status_code, body = (404, b"{}") if found is None else (200, json.dumps(found).encode())
        response.raw = HTTPResponse(io.BytesIO(body), status=response.status_code, preload_content=False)
        response.url, response.request = str(request.url), request
        return response


def _place_of(url: str) -> str:
    parts = urlsplit(url)
    if parts.path != PODS:
        return parts.path
    return f"{PODS}?table" if "fieldSelector" in parts.query else f"{PODS}?small"


def _read_query(server: ApiServer, query: ObjectQuery) -> tuple[tuple[ReadManifest, ...], str]:
    answer = QueryReader(server, fresh_seconds=0).read([query])[query]
    return answer.objects, answer.fault


def _read_pods(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    pods, fault = _read_query(server, OF_PODS)
    cannot_pull(pods)
    for pod in pods:
        is_pod_ready(pod)
        yield suffix_of(pod.get("spec") or {})[:1]
    explanation = explain_pods(pods, make.NOW)
    yield from (fault, describe_pods(pods), str(explanation.finding) if explanation else "")


def _read_nodes(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    nodes, fault = _read_query(server, ObjectQuery(kinds.NODE, ""))
    observe_nodes(nodes)
    yield fault


def _read_components(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    found, fault = _read_query(server, ObjectQuery(contract.COMPONENT, "team-a", labels=(("a", "b"),)))
    find_generations(stored.graph(), found)
    yield fault


def _read_named(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    found, fault = _read_query(server, ObjectQuery(kinds.DEPLOYMENT, "team-a", "main"))
    yield from (fault, *(str(controller_of(one))[:1] for one in found))


def _carry_out(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    for parent, effect in ((stored.graph(), _SCALE), (stored.adapter(), _WRITE)):
        source = EffectSource(
            parent=reference_of(parent), generation=parent["metadata"]["generation"], declared=stored.DECLARED
        )
        results = EffectsClient(server=server, settings=_SETTINGS)((effect,), source)
        yield from (one_line(result.reason, MOST_WORDS) for result in results)


def _read_lease(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    hold = LockReader(server=server, clock=lambda: make.NOW).find_claim("team-a")
    yield hold.reason if hold else ""


def _read_pages(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    try:
        with server.converse(2.0) as talk:
            for page in islice(read_pages(lambda _query: talk.ask("GET", "/pages")), 3):
                for found in read_objects(page, "GET /pages", contract.GRAPH):
                    find_state(contract.GRAPH, found)
                    find_reason(found)
    except Refused as refused:
        yield one_line(str(refused), MOST_WORDS)


def _read_discovery(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    try:
        with server.converse(2.0) as talk:
            is_served(talk.read, kinds.POD_CLIQUE)
    except Refused as refused:
        yield one_line(str(refused), MOST_WORDS)


def _check_address(server: ApiServer, _transport: HTTPAdapter) -> Iterator[str]:
    verdict = PodReader(server, new_seconds=1).check((_ADDRESS,))[_ADDRESS]
    yield from (verdict.doubt, verdict.refusal)


def _drop_keys(_server: ApiServer, transport: HTTPAdapter) -> Iterator[str]:
    with patch("hooks.server.clients.etcd.open_client", lambda *_: HttpClient(transport=transport)):
        yield EtcdClient.at("etcd:2379").drop(EtcdPrefixDrop(prefix="/a/components/b/")).fault


def _ask_prober(_server: ApiServer, transport: HTTPAdapter) -> Iterator[str]:
    with patch(
        "hooks.server.clients.prober_client.open_client", lambda *_, **_options: HttpClient(transport=transport)
    ):
        client = ProberClient("http://127.0.0.1:9191", token="")
    try:
        client.ask(_LOAD)
    except HookError as error:
        yield str(error)


_READS: Mapping[str, Read] = {
    "pods": _read_pods,
    "nodes": _read_nodes,
    "components": _read_components,
    "named": _read_named,
    "effects": _carry_out,
    "lease": _read_lease,
    "pages": _read_pages,
    "discovery": _read_discovery,
    "address": _check_address,
    "etcd": _drop_keys,
    "prober": _ask_prober,
}


@contextmanager
def open_answers() -> Iterator[Give]:
    """All clients, whose transport answers what is given."""
    transport = Answering()
    with (
        failures_kept(),
        TemporaryDirectory() as folder,
        patch("hooks.server.clients.api_server.BoundedAdapter", lambda *_: transport),
    ):
        for name in ("token", "ca.crt"):
            (Path(folder) / name).write_text("x")
        server = ApiServer(url=URL, token_file=Path(folder) / "token", ca_file=Path(folder) / "ca.crt")

        def give(seed: Seed, body: bytes, _places: tuple[Place, ...]) -> None:
            transport.path, transport.body = seed.path, body
            for said in _READS[seed.name](server, transport):
                if "\n" in said or len(said) > MOST_WORDS or "Traceback" in said:
                    raise Broken(f"a sentence of {len(said)} characters: {said[:200]}")

        yield give
