"""A tenant's large pods on a real API server, with the rights of the chart: what is read of them, and who waits."""

import copy
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_reasons import SUMMARY
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.query_reader import QueryReader
from hooks.server.clients.workload_pods import MOST_WHOLE, POD_BYTES, SMALL_BYTES, TABLE_BYTES
from hooks.server.exchange.http_client import MIB
from hooks.wire.metacontroller.protocol import ObjectQuery
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import READING_ACCOUNT, ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, load_example, running_controllers
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer, hooks_server
from tests.contract.backend import Manifest
from tests.ports import free_port
from tests.waiting import PATIENCE

LARGE, PODS = 400_000, 100
CALLS = 8
MOST_MORE = 200 * MIB
"""What the attack may cost, of the 768 MiB that the chart allows."""
OF_ONE_READ = SMALL_BYTES + TABLE_BYTES + MOST_WHOLE * POD_BYTES


@pytest.fixture
def reader(plane: ControlPlane, tmp_path: Path) -> QueryReader:
    """What a hooks pod reads with, and the account that may read what the chart lets the hooks read."""
    (tmp_path / "token").write_text(plane.tokens[READING_ACCOUNT])
    return QueryReader(ApiServer(url=plane.server, token_file=tmp_path / "token", ca_file=plane.certificate))


def write_pod(name: str, size: int, **labels: str) -> Manifest:
    variable = {"name": "X", "value": "x" * size}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "a", "pod-template-hash": "one", **labels}},
        "spec": {
            "containers": [{"name": "main", "image": "none", "env": [variable]}],
            "terminationGracePeriodSeconds": 0,
            "schedulingGates": [{"name": "test/held"}],
        },
    }


def query(api: ApiClient, **labels: str) -> ObjectQuery:
    return ObjectQuery(kinds.POD, api.namespace, labels=tuple(sorted({"app": "a", **labels}.items())))


def test_large_pods_of_one_tenant_keep_no_other_waiting(admin: ApiClient, api: ApiClient, reader: QueryReader) -> None:
    with own_namespace(admin) as other:
        for number in range(PODS):
            api.create(write_pod(f"p-{number}", LARGE, call=str(number % CALLS)))
        for number in range(3):
            other.create(write_pod(f"p-{number}", 10))
        with ThreadPoolExecutor(2 * CALLS) as pool:
            attacks = [pool.submit(reader.read, [query(api, call=str(number))]) for number in range(CALLS)]
            others = [pool.submit(reader.read, [query(other)]) for _ in range(4)]
            of_others = [answer for one in others for answer in one.result().values()]
            of_attacks = [answer for one in attacks for answer in one.result().values()]
        assert [(len(one.objects), one.fault) for one in of_others] == [(3, "")] * 4
        assert all(one.size <= OF_ONE_READ for one in of_attacks)
        time.sleep(3.5)  # nothing that was read is used again after that
        (answer,) = reader.read([query(api)]).values()
        assert (len(answer.objects), answer.fault) == (PODS, "")
        assert sum(SUMMARY not in pod for pod in answer.objects) == MOST_WHOLE
        assert answer.size <= OF_ONE_READ
        assert all(pod["metadata"]["labels"]["app"] == "a" for pod in answer.objects)


def test_hooks_pod_keeps_its_memory_while_a_tenant_labels_large_pods_as_its_components(
    admin: ApiClient, api: ApiClient, metacontroller: HttpServer, plane: ControlPlane, tmp_path: Path
) -> None:
    """Eight graphs whose pods hang are synced again and again; all their pods' labels are those of 100 large pods."""
    with running(hooks_server(tmp_path, free_port(), plane=plane)) as server:
        assert isinstance(server, HttpServer)
        with running_controllers(admin, server.url):
            for number in range(CALLS):
                api.create(write_hanging_graph(number), strict=True)
            wait_for(lambda: len(labels_of_pods(api)) >= 2 * CALLS, "the graphs have pods")
            before = most_memory(server)
            for number, labels in enumerate(itertools.islice(itertools.cycle(labels_of_pods(api)), PODS)):
                api.create(write_pod(f"p-{number}", LARGE, **labels))
            for turn in range(10):
                for number in range(CALLS):
                    api.patch(DYNAMO, GRAPH, f"g{number}", {"metadata": {"labels": {"turn": str(turn)}}})
                time.sleep(1)
            more = most_memory(server) - before
            read = requests.get(f"{server.url}/metrics", timeout=PATIENCE).text
            assert "dynamo_hooks_read_bytes_total{" in read
            assert more < MOST_MORE
            assert all((api.get(DYNAMO, GRAPH, f"g{number}") or {}).get("status") for number in range(CALLS))
            for number in range(CALLS):
                api.delete(DYNAMO, GRAPH, f"g{number}")


def write_hanging_graph(number: int) -> Manifest:
    graph = copy.deepcopy(load_example("vllm-agg"))
    graph["metadata"]["name"] = f"g{number}"
    for service in graph["spec"]["services"].values():
        service["extraPodMetadata"] = {"annotations": {"test/hold": "true"}}
    return graph


def labels_of_pods(api: ApiClient) -> list[dict[str, str]]:
    """The labels by which each component finds its pods, and not those by which a ReplicaSet does."""
    pods = [pod for pod in api.list("v1", "Pod") if not pod["metadata"]["name"].startswith("p-")]
    return [{**pod["metadata"]["labels"], "pod-template-hash": "one"} for pod in pods]


def most_memory(server: Server) -> int:
    """The most bytes that the server's processes have had in memory, each at its worst moment."""
    return 1024 * sum(
        int(line.split()[1])
        for pid in pids_of_group(server.pid)
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmHWM:")
    )


def pids_of_group(group: int) -> list[str]:
    """Source: proc_pid_stat(5), field pgrp, after the name in brackets."""
    found = [(path.parent.name, path.read_text()) for path in Path("/proc").glob("[0-9]*/stat")]
    return [pid for pid, text in found if int(text.rpartition(")")[2].split()[2]) == group]
