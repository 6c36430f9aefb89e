"""Calls of the hooks as Metacontroller makes them, recorded in the simulator: until graphs are ready, and a resync."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from bench.bodies import name_fields
from bench.cluster.simulated import NAMESPACE, build_graph, is_ready
from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.routes import served_hooks
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.tools.offline.simulator.queries import ClusterReader
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import ObjectSource

_RESYNCED_AFTER = 301
"""Seconds in which each object is synced again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A call: its path and body, the time, and what was read on demand meanwhile."""

    path: str
    body: bytes
    now: datetime
    found: Mapping[ObjectQuery, QueryAnswer]


def record_ready(graphs: int) -> list[Recorded]:
    """All calls until so many graphs, created at once, are ready, in order.

    Raises:
        RuntimeError: a graph does not become ready.
    """
    calls, _ = _bring_up(graphs)
    return calls


def record_resync() -> list[tuple[str, bytes]]:
    """Path and body of each call of one resync of a ready graph and its components."""
    calls, cluster = _bring_up(1)
    calls.clear()
    cluster.run_for(_RESYNCED_AFTER)
    last = {
        (call.path, orjson.loads(call.body)["parent"]["metadata"]["name"]): call.body
        for call in calls
        if call.path.endswith("/sync")
    }
    return [(path, body) for (path, _), body in last.items()]


def _bring_up(graphs: int) -> tuple[list[Recorded], SimulatedCluster]:
    """So many ready graphs, and the list of calls, which goes on growing."""
    calls: list[Recorded] = []
    clock, reader, settings = Clock(), ClusterReader(), parse_settings({})
    found: dict[ObjectQuery, QueryAnswer] = {}

    def read(queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        answers = reader.read(queries)
        found.update(answers)
        return answers

    hooks = served_hooks(settings, source=ObjectSource(read=read))
    client = create_app(settings, lambda: clock.now, hooks=hooks).test_client()

    def hook(path: str, body: bytes) -> HookAnswer:
        found.clear()
        answer = client.post(path, data=body)
        calls.append(Recorded(path=path, body=_as_sent(body), now=clock.now, found=dict(found)))
        return answer.status_code, dict(answer.headers), answer.data

    setup = Setup(
        hook=hook,
        controllers=install_files.controllers("http://hooks.invalid"),
        crds=install_files.crds(),
        namespaces=(NAMESPACE,),
    )
    cluster = SimulatedCluster(setup, clock)
    reader.source = cluster.reader
    for number in range(graphs):
        cluster.create(build_graph(number))
    cluster.settle(max_steps=2000 * graphs)
    if late := [one["metadata"]["name"] for one in cluster.list_kind(contract.GRAPH, NAMESPACE) if not is_ready(one)]:
        raise RuntimeError(f"not ready: {', '.join(late)}")
    return calls, cluster


def _as_sent(body: bytes) -> bytes:
    """The body with the record of its fields in each object, which the simulator does not keep."""
    call = orjson.loads(body)
    groups = [*(call.get("children") or {}).values(), *(call.get("related") or {}).values()]
    for found in [call["parent"], *(one for group in groups for one in group.values())]:
        entry = {
            "fieldsType": "FieldsV1",
            "fieldsV1": name_fields(found),
            "manager": "metacontroller",
            "operation": "Update",
        }
        found["metadata"]["managedFields"] = [{**entry, "apiVersion": found["apiVersion"]}]
    return orjson.dumps(call)
