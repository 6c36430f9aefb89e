"""A graph's manifest goes to the API server, and a chat completion comes back from its frontend."""

from collections.abc import Iterator

import pytest

from hooks.ground import contract
from hooks.language.versions import convert
from tests.cluster.api_client import ApiClient
from tests.e2e.bench import Bench, messages, replaced_hooks
from tests.e2e.graphs import load_graph, serve

VERSIONS = (contract.VERSION, contract.BETA_VERSION)


@pytest.fixture(scope="module")
def hooks(bench: Bench, tag: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The bench with what the release needs."""
    folder = tmp_path_factory.mktemp("hooks")
    with messages(tag, folder) as settings:
        if not settings:
            yield bench
            return
        with replaced_hooks(bench, folder, settings):
            yield bench


@pytest.mark.parametrize("version", VERSIONS)
def test_aggregated_graph_answers(hooks: Bench, api: ApiClient, tag: str, version: str) -> None:
    serve(hooks, api, convert(load_graph("mocker-agg", tag, MockerWorker=1), version))


@pytest.mark.parametrize("version", VERSIONS)
def test_disaggregated_graph_answers(hooks: Bench, api: ApiClient, tag: str, version: str) -> None:
    graph = load_graph("mocker-disagg", tag)
    graph["metadata"]["annotations"] = {contract.ANNOTATION_DISCOVERY_BACKEND: "kubernetes"}
    serve(hooks, api, convert(graph, version))
