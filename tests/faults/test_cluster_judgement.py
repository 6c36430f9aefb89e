"""What is seen of a real control plane: an untrue Ready, and the network between Metacontroller and hooks."""

from collections.abc import Iterator

import pytest
import requests

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.store import copy_json, ref_of
from tests.cluster.scripted_hook import ScriptedHook, scripted_hook
from tests.contract.backend import Answer
from tests.faults.cluster.gate import open_gate
from tests.faults.cluster.history import Change
from tests.faults.cluster.judgement import STALE_SECONDS, find_untrue
from tests.ports import free_port
from tests.sequences import wishes
from tests.waiting import PATIENCE

FRONTEND = "Frontend"


def graph(ready: str) -> Manifest:
    found = wishes.graph({FRONTEND: wishes.service("frontend")})
    status = {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": ready}]}
    return {**found, "metadata": {**found["metadata"], "generation": 1}, "status": status}


def pod(ready: str) -> Manifest:
    labels = {contract.LABEL_GRAPH: wishes.GRAPH, contract.LABEL_COMPONENT: FRONTEND}
    return {
        "apiVersion": kinds.POD.api_version,
        "kind": kinds.POD.kind,
        "metadata": {"name": "pod", "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "img:0"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    }


def untrue(*steps: tuple[float, Manifest]) -> list[str]:
    """What is found when these objects are stored one after another, each at its second."""
    changes = [
        Change(revision=number, seconds=seconds, ref=ref_of(obj), obj=copy_json(obj))
        for number, (seconds, obj) in enumerate(steps, start=2)
    ]
    first = graph("False")
    return list(find_untrue({ref_of(first): first}, changes))


def test_ready_of_a_pod_that_never_was_is_untrue() -> None:
    (found,) = untrue((0, pod("False")), (1, graph("True")))
    assert found.startswith(f"{contract.GRAPH.kind} default/{wishes.GRAPH} says Ready at revision 3: {FRONTEND} has")


def test_ready_of_a_ready_pod_is_true() -> None:
    assert untrue((0, pod("True")), (1, graph("True"))) == []


def test_ready_of_a_pod_that_was_ready_shortly_before_is_what_the_hook_was_shown() -> None:
    assert untrue((0, pod("True")), (1, pod("False")), (2, graph("True"))) == []
    late = 2 + STALE_SECONDS
    assert untrue((0, pod("True")), (1, pod("False")), (late - 1, graph("False")), (late, graph("True")))


def answering(word: bytes) -> Answer:
    return 200, {"Connection": "close"}, word


@pytest.fixture
def servers() -> Iterator[tuple[ScriptedHook, ScriptedHook]]:
    with scripted_hook() as first, scripted_hook() as second:
        first.address("hook", lambda _path, _body: answering(b"first"))
        second.address("hook", lambda _path, _body: answering(b"second"))
        yield first, second


def ask(url: str) -> bytes:
    return requests.post(f"{url}/hook/sync", json={}, timeout=PATIENCE).content


def test_connections_lead_to_the_servers_in_turn(servers: tuple[ScriptedHook, ScriptedHook]) -> None:
    with open_gate(*(int(server.url.rpartition(":")[2]) for server in servers)) as gate:
        assert [ask(gate.url) for _ in range(4)] == [b"first", b"second"] * 2
        assert gate.calls_in_flight == 0


def test_connection_to_nobody_ends() -> None:
    with open_gate(free_port()) as gate, pytest.raises(requests.ConnectionError):
        ask(gate.url)
