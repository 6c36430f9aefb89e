"""Deletions of which a real Metacontroller hears late: what it creates again meanwhile is gone in the end."""

from collections.abc import Iterator

import pytest

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    load_example,
    objects_left,
    running_controllers,
    wait_for_silence,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE_SET, installed_grove, wait_for_collector
from tests.cluster.late_news import News, metacontroller_with_late_news
from tests.cluster.programs import HttpServer
from tests.cluster.real_backend import real_backend
from tests.contract.backend import Propagation
from tests.contract.cases import Case
from tests.contract.cases_late import LATE_CASES

NAME = "vllm-disagg"
WORKLOADS = {"false": (DYNAMO, COMPONENT), "true": (GROVE, POD_CLIQUE_SET)}
"""The kind that runs the graph, by its annotation nvidia.com/enable-grove."""
HELD = {"metadata": {"finalizers": ["example.com/hold"]}}
RELEASED = {"metadata": {"finalizers": None}}


@pytest.fixture(scope="module")
def late_news(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[News]:
    folder = tmp_path_factory.mktemp("metacontroller")
    with metacontroller_with_late_news(plane, folder, "things", "dynamographdeployments") as news:
        yield news


@pytest.fixture(scope="module")
def controllers(admin: ApiClient, late_news: News, hooks: HttpServer) -> Iterator[News]:
    """The project's controllers under that Metacontroller, with the kinds of Grove."""
    with installed_grove(admin), running_controllers(admin, hooks.url, ["grove"]):
        wait_for_collector(admin)
        yield late_news


def create_graph(api: ApiClient, grove: str) -> tuple[str, str, str]:
    """Create the graph and give a workload of it, which only a finalizer of the test keeps when it is deleted."""
    graph, workloads = load_example(NAME), WORKLOADS[grove]
    annotations = {**graph["metadata"].get("annotations", {}), "nvidia.com/enable-grove": grove}
    api.create({**graph, "metadata": {**graph["metadata"], "annotations": annotations}}, strict=True)
    if grove == "false":
        wait_until_ready(api, NAME)
    (first, *_) = wait_for(lambda: api.list(*workloads), "there are workloads")
    workload = (*workloads, first["metadata"]["name"])
    api.patch(*workload, HELD)
    return workload


def created(audit: Audit, mark: int, namespace: str) -> set[str]:
    """The kinds of which Metacontroller has created an object in the namespace since."""
    return {
        write.resource
        for write in audit.writes(mark)
        if (write.namespace, write.verb, write.code) == (namespace, "create", 201)
    }


@pytest.mark.parametrize("case", LATE_CASES, ids=lambda case: case.__name__)
def test_real_metacontroller_keeps_the_contract_on_late_news(case: Case, plane: ControlPlane, late_news: News) -> None:
    with real_backend(plane, late_news) as backend:
        case(backend)


@pytest.mark.parametrize("grove", ["false", "true"])
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deletion_ends_and_leaves_nothing_though_the_news_is_late(
    propagation: Propagation, grove: str, api: ApiClient, audit: Audit, controllers: News
) -> None:
    workload = create_graph(api, grove)
    mark = wait_for_silence(audit)
    with controllers.held():
        api.delete(DYNAMO, GRAPH, NAME, propagation=propagation)
        wait_for(lambda: "rolebindings" in created(audit, mark, api.namespace), "a late sync creates a child again")
    mark = wait_for_silence(audit)
    api.patch(*workload, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_for_silence(audit)
    assert created(audit, mark, api.namespace) == set(), "nothing is created once the deletion is known"
    assert (api.get(DYNAMO, GRAPH, NAME) is not None) == (propagation == "Foreground")
    api.patch(*workload, RELEASED)
    wait_for(lambda: api.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    wait_until_nothing_is_left(api)
    assert api.list(GROVE, POD_CLIQUE_SET) == []


@pytest.mark.parametrize("grove", ["false", "true"])
def test_foreground_deletion_creates_nothing_while_children_change(
    grove: str, api: ApiClient, audit: Audit, controllers: News
) -> None:
    workload = create_graph(api, grove)
    api.delete(DYNAMO, GRAPH, NAME, propagation="Foreground")
    mark = wait_for_silence(audit)
    for mark_of_change in ("one", "two"):
        api.patch(*workload, {"metadata": {"annotations": {"test/touched": mark_of_change}}})
        api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {"test/touched": mark_of_change}}})
        wait_for_silence(audit)
    assert created(audit, mark, api.namespace) == set()
    api.patch(*workload, RELEASED)
    wait_for(lambda: api.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
    wait_until_nothing_is_left(api)


@pytest.mark.parametrize("grove", ["false", "true"])
def test_orphaning_deletion_keeps_every_object_though_the_news_is_late(
    grove: str, api: ApiClient, audit: Audit, controllers: News
) -> None:
    workload = create_graph(api, grove)
    mark, before = wait_for_silence(audit), set(objects_left(api))
    with controllers.held():
        api.delete(DYNAMO, GRAPH, NAME, propagation="Orphan")
        wait_for(lambda: api.get(DYNAMO, GRAPH, NAME) is None, "the graph is gone")
        api.patch(*workload, {"metadata": {"annotations": {"test/touched": "yes"}, **RELEASED["metadata"]}})
        wait_for_silence(audit)
    wait_for_silence(audit)
    assert created(audit, mark, api.namespace) == set()
    assert set(objects_left(api)) == before
    workloads = api.list(*WORKLOADS[grove])
    assert [found["metadata"].get("ownerReferences") for found in workloads] == [None] * len(workloads) != []
    api.delete_all(*WORKLOADS[grove])
