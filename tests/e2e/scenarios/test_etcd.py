"""Processes that find each other by a real etcd: they answer, and what they left there goes with the graph."""

from pathlib import Path

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, wait_until_nothing_is_left
from tests.e2e.bench import Bench, acting, messages
from tests.e2e.graphs import explained, load_graph, serve
from tests.etcd_server import keys_of, put, running_etcd

OTHER = "/another/components/Frontend/generate:1"


def test_graph_answers_and_takes_its_keys_along(bench: Bench, api: ApiClient, tag: str, tmp_path: Path) -> None:
    graph = load_graph("mocker-disagg", tag)
    name = graph["metadata"]["name"]
    with (
        messages(tag, tmp_path) as settings,
        running_etcd(tmp_path) as address,
        acting(bench, tmp_path, discovery_backend="etcd", etcd_address=address, **settings),
    ):
        put(address, OTHER)
        serve(bench, api, graph)
        assert api.list(DYNAMO, "DynamoWorkerMetadata") == [], "nothing was registered at the API server"
        assert any(f"{api.namespace}-{name}" in key for key in keys_of(address)), "the processes have keys in etcd"
        api.delete(DYNAMO, GRAPH, name)
        with explained(bench, api):
            wait_for(lambda: api.get(DYNAMO, GRAPH, name) is None, "the graph is gone", 120)
            wait_for(lambda: not api.list("v1", "Pod"), "its pods are gone", 120)
        left = [key for key in keys_of(address) if api.namespace in key]
        assert left == [], "keys of the graph's components are left"
        assert OTHER in keys_of(address)
        wait_until_nothing_is_left(api)
