"""Simulated frontends list the models of their graph's ready workers, and say what is missing."""

from collections.abc import Iterator
from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import labels_of
from hooks.server.exchange.documents import parse_object
from hooks.server.exchange.http_client import Allowance, Reply, Unanswered, open_client
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.engines import reserve_block
from hooks.tools.offline.simulator.frontends import Frontends
from hooks.tools.offline.simulator.loopback_http import run_listeners
from hooks.tools.offline.simulator.store import number_uid, ref_of
from hooks.tools.offline.simulator.workloads.pods import PodFault, is_ready, pod_address
from tests import make
from tests.ports import free_port
from tests.tools.offline.simulator.hooked import build_cluster

LIMITS = Allowance(seconds=10.0, most_bytes=2**20)
MODEL = "m/1"


@pytest.fixture
def frontends() -> Iterator[Frontends]:
    with run_listeners() as listeners:
        yield Frontends(listeners)


def start(**halves: str) -> SimulatedCluster:
    """A cluster with a graph of a frontend at a free port, and workers, each with its half of a request."""
    workers = {
        name: make.service("worker", subComponentType=half, args=["--model", MODEL]) for name, half in halves.items()
    }
    port: dict[str, Any] = {"envs": [{"name": "DYN_HTTP_PORT", "value": str(free_port())}]}
    world = build_cluster()
    graph = make.graph({"Frontend": make.service("frontend", **port), **workers}, name="llm")
    world.apply({**graph, "metadata": {"name": "llm", "namespace": "default"}})
    return world


def ask(world: SimulatedCluster, path: str = "/v1/models") -> Reply:
    (pod,) = (
        one
        for one in world.list_kind(kinds.POD, "default")
        if labels_of(one).get("nvidia.com/dynamo-component-type") == "frontend"
    )
    (main,) = pod["spec"]["containers"]
    port = next(one["containerPort"] for one in main["ports"] if one["name"] == "http")
    return open_client().ask("GET", f"http://{pod['status']['podIP']}:{port}{path}", limits=LIMITS, headers={})


def listed(world: SimulatedCluster) -> list[str]:
    return [one["id"] for one in parse_object(ask(world).body)["data"]]


def test_models_of_ready_workers_are_listed_and_what_is_missing_is_said(frontends: Frontends) -> None:
    world = start(Prefill="prefill", Decode="decode")
    world.block("*decode*")
    world.run_for(120)
    frontends.follow(world)
    assert listed(world) == []
    told = parse_object(ask(world, "/v1/models/m%2F1/ready").body)
    assert (told["ready"], told["namespaces"]["simulated"]["missing_worker_types"]) == (False, ["decode"])
    assert ask(world, "/v1/models/other/ready").status == 404
    world.release("*decode*")
    world.run_for(120)
    frontends.follow(world)
    assert listed(world) == [MODEL]
    assert parse_object(ask(world, "/v1/models/m%2F1/ready").body)["ready"] is True


def worker_is_ready(world: SimulatedCluster) -> bool:
    pods = [pod for pod in world.list_kind(kinds.POD, "default") if "worker" in pod["metadata"]["name"]]
    return bool(pods) and all(map(is_ready, pods))


@pytest.mark.parametrize(("fault", "later"), [(PodFault.LATE, [MODEL]), (PodFault.NOT_REGISTERED, [])])
def test_ready_worker_that_registers_late_or_never_is_not_listed_meanwhile(
    frontends: Frontends, fault: PodFault, later: list[str]
) -> None:
    world = start(Worker="")
    world.break_pods("llm-worker*", fault)
    assert world.run_until(lambda: worker_is_ready(world), 120)
    frontends.follow(world)
    assert listed(world) == []
    world.run_for(31)
    frontends.follow(world)
    assert (worker_is_ready(world), listed(world)) == (True, later)


def test_lost_worker_takes_its_model_along_and_a_lost_frontend_answers_nothing(frontends: Frontends) -> None:
    world = start(Worker="")
    world.run_for(120)
    frontends.follow(world)
    assert listed(world) == [MODEL]
    world.break_pods("llm-worker*", PodFault.CRASH_LOOP)
    world.run_for(60)
    frontends.follow(world)
    assert listed(world) == []
    world.break_pods("llm-frontend*", PodFault.CRASH_LOOP)
    world.run_for(60)
    frontends.follow(world)
    with pytest.raises(Unanswered):
        ask(world)


def test_simulations_at_the_same_time_have_other_addresses() -> None:
    with reserve_block() as first, reserve_block() as second:
        assert first != second
        with reserve_block() as third:
            assert third not in {first, second}
    pod = {"metadata": {"uid": number_uid(ref_of(make.graph({})), 7)}}
    assert [pod_address(pod, block) for block in (0, 1)] == ["127.64.0.8", "127.65.0.8"]
