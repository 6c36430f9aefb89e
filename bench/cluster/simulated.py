"""The same graphs in the simulator: calls and writes without a control plane, and the answers of the floor."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
import yaml

from bench.bodies import write_graph
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import Hook, HookAnswer
from hooks.wire.metacontroller import install_files

NAMESPACE = "bench"
SERVICES = 4


def name_graph(number: int) -> str:
    """Names of equal length, so that the answers about one graph fit any other."""
    return f"bench-{number:05}"


def name_namespace(number: int, namespaces: int = 1) -> str:
    """The namespace of a graph, if so many namespaces take turns."""
    return NAMESPACE if namespaces == 1 else f"{NAMESPACE}-{number % namespaces:05}"


def build_graph(number: int, namespaces: int = 1) -> Manifest:
    """A graph of four services, as the other benches have it, but without scaling adapters, which few graphs have.

    Its claim is its own: of graphs that name the same claim, all but the first would find it taken.
    """
    graph = write_graph(SERVICES)
    name = name_graph(number)
    claim = f"{name}-models"
    services = {service: _adapt(spec, claim) for service, spec in graph["spec"]["services"].items()}
    pvcs = [{**one, "name": claim} for one in graph["spec"]["pvcs"]]
    metadata = {**graph["metadata"], "name": name, "namespace": name_namespace(number, namespaces)}
    return {**graph, "metadata": metadata, "spec": {**graph["spec"], "pvcs": pvcs, "services": services}}


def _adapt(service: Mapping[str, Any], claim: str) -> dict[str, Any]:
    """The service without scaling adapter, with its mounts from another claim."""
    found = {key: value for key, value in service.items() if key not in {"scalingAdapter", "volumeMounts"}}
    mounts = [{**mount, "name": claim} for mount in service.get("volumeMounts", ())]
    return {**found, "volumeMounts": mounts} if mounts else found


@dataclass
class Recorder:
    """The project's hooks in this process; it counts the calls and keeps the first and last answer of each parent."""

    calls: Counter[str] = field(default_factory=Counter)
    first: dict[tuple[str, str], Any] = field(default_factory=dict)
    last: dict[tuple[str, str], Any] = field(default_factory=dict)

    def connect(self) -> Hook:
        """The hooks as a function that the simulator calls."""
        client = create_app(parse_settings({}), lambda: datetime.now(UTC)).test_client()

        def hook(path: str, body: bytes) -> HookAnswer:
            answer = client.post(path, data=body)
            request = orjson.loads(body)
            parent = request.get("parent") or request["object"]
            key = path, parent["metadata"]["name"]
            self.calls[path] += 1
            self.last[key] = orjson.loads(answer.data)
            self.first.setdefault(key, self.last[key])
            return answer.status_code, dict(answer.headers), answer.data

        return hook


def simulate(graphs: int) -> tuple[Recorder, Mapping[str, int]]:
    """Bring so many graphs to Ready; gives the calls, and Metacontroller's writes by kind.

    Raises:
        RuntimeError: a graph does not become ready.
    """
    recorder, cluster = _bring_up(graphs)
    writes = Counter(
        f"{write.verb} {write.resource}" + (f"/{write.subresource}" if write.subresource else "")
        for write in cluster.writes
        if write.actor == "metacontroller"
    )
    return recorder, dict(writes.most_common())


def read_ready(graphs: int) -> list[Manifest]:
    """All objects of so many ready graphs.

    Raises:
        RuntimeError: a graph does not become ready.
    """
    _, cluster = _bring_up(graphs)
    return list(cluster.everything())


def _bring_up(graphs: int) -> tuple[Recorder, SimulatedCluster]:
    recorder = Recorder()
    setup = Setup(
        hook=recorder.connect(),
        controllers=install_files.controllers("http://hooks.invalid"),
        crds=install_files.crds(),
        namespaces=(NAMESPACE,),
    )
    cluster = SimulatedCluster(setup)
    for number in range(graphs):
        cluster.create(build_graph(number))
    cluster.settle(max_steps=2000 * graphs)
    for obj in cluster.everything():
        if obj["kind"] == "DynamoGraphDeployment" and not is_ready(obj):
            raise RuntimeError(f"not ready:\n{yaml.safe_dump(obj['status'])}")
    return recorder, cluster


def is_ready(obj: Mapping[str, Any]) -> bool:
    """Whether the condition Ready is True."""
    condition = find_condition((obj.get("status") or {}).get("conditions") or (), READY)
    return condition is not None and condition["status"] == "True"
