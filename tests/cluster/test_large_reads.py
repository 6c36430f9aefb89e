"""A tenant's large pods on a real API server, with the rights of the chart: what is read of them, and who waits."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_reasons import SUMMARY
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.query_reader import QueryReader
from hooks.server.clients.workload_pods import MOST_WHOLE, POD_BYTES, SMALL_BYTES, TABLE_BYTES
from hooks.wire.metacontroller.protocol import ObjectQuery
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import READING_ACCOUNT, ControlPlane
from tests.cluster.namespaces import own_namespace
from tests.contract.backend import Manifest

LARGE, PODS = 400_000, 100
CALLS = 8
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
