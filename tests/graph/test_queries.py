"""What a graph's sync would like to read, and what depends on it."""

from datetime import timedelta
from typing import Any

from hooks.graph.sync import sync
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer, SyncRequest
from tests import make
from tests.graph import world

COMPONENTS = ObjectQuery(contract.COMPONENT, "default", labels=((contract.LABEL_GRAPH, "g"),))
FAULT = QueryAnswer(fault="the API server answers 403")
NAMES = ["g-frontend", "g-worker"]


def of_go(graph: Manifest) -> Manifest:
    """The graph as the Go operator left it."""
    return {**graph, "metadata": {**graph["metadata"], "finalizers": [contract.GO_FINALIZER]}}


def with_answer(request: SyncRequest, query: ObjectQuery, found: QueryAnswer) -> SyncAnswer:
    return sync(request.with_answers({query: found}), make.facts())


def components(answer: SyncAnswer) -> list[str]:
    return world.names(answer.children, contract.COMPONENT.kind)


def test_new_graph_asks_whether_the_go_operator_left_components() -> None:
    request = make.sync_request(make.graph())
    answer = sync(request, make.facts())
    assert answer.queries == (COMPONENTS,)
    assert (components(answer), answer.waits) == (NAMES, False)
    assert components(with_answer(request, COMPONENTS, FAULT)) == NAMES


def test_graph_with_all_its_components_asks_for_nothing() -> None:
    graph = make.graph()
    children = world.run(world.apply((), world.ask(graph).children))
    assert world.ask(graph, children).queries == ()


def test_components_of_a_graph_of_the_go_operator_are_made_only_if_it_left_none() -> None:
    request = make.sync_request(of_go(make.graph()))
    first = sync(request, make.facts())
    assert (components(first), COMPONENTS in first.queries, first.waits) == ([], True, True)
    refused = with_answer(request, COMPONENTS, FAULT)
    assert components(refused) == []
    message = "it is not known which components the Go operator left: the API server answers 403"
    assert message in world.condition(refused, "Applied")["message"]
    assert world.ready(refused)["status"] == "False"
    assert components(with_answer(request, COMPONENTS, QueryAnswer())) == NAMES


def test_failed_read_takes_no_component_of_the_go_operator_away() -> None:
    graph = of_go(make.graph())
    children = world.run(world.apply((), world.ask(make.graph()).children))
    assert components(world.ask(graph, children)) == NAMES
    some = [child for child in children if child["metadata"]["name"] != NAMES[1]]
    assert components(world.ask(graph, some)) == NAMES[:1]


def test_component_that_the_go_operator_left_under_another_name_is_the_only_one() -> None:
    graph = of_go(make.graph())
    made = world.child(world.ask(make.graph()).children, contract.COMPONENT.kind, NAMES[1])
    left = make.observed({**made, "metadata": {**made["metadata"], "name": f"{NAMES[1]}-0a1b2c3d"}})
    del left["metadata"]["labels"][contract.LABEL_CONTROLLER_UID]
    found = with_answer(make.sync_request(graph), COMPONENTS, QueryAnswer(objects=(left,)))
    assert components(found) == [NAMES[0], f"{NAMES[1]}-0a1b2c3d"]


def test_pods_of_services_that_are_not_ready_are_asked_for_under_grove() -> None:
    graph: dict[str, Any] = make.graph()
    first = world.ask(graph, installed=["grove"])
    children = world.apply((), first.children)
    for child in children:
        if child["kind"] == kinds.POD_CLIQUE_SET.kind:
            child["status"] = {"observedGeneration": 1}
    seen = world.ask(graph, children, installed=["grove"])
    request = make.sync_request({**graph, "status": seen.status}, children, installed=["grove"])
    answer = sync(request, make.facts(make.NOW + timedelta(seconds=6)))
    asked = {dict(query.labels)[contract.LABEL_COMPONENT] for query in answer.queries if query.kind == kinds.POD}
    assert asked == {"Frontend", "Worker"}
    vague = sync(request.with_answers(dict.fromkeys(answer.queries, FAULT)), make.facts(make.NOW))
    assert "its pods are not read, because the API server answers 403" in world.ready(vague)["message"]


def test_graph_that_is_being_deleted_says_so_and_not_what_is_missing() -> None:
    graph = make.graph()
    children = world.run(world.apply((), world.ask(graph).children))
    graph["metadata"] |= {"deletionTimestamp": "2026-03-01T12:00:00Z", "finalizers": ["foregroundDeletion"]}
    for left in (children, ()):
        ready = world.ready(world.ask(graph, left))
        assert ready["status"] == "False"
        assert ready["message"].startswith("Progressing: it is being deleted - wait; what is left of it: kubectl ")
        assert "issing" not in ready["message"]
    status = world.ask(graph).status
    assert status is not None
    assert status["notReadyReason"] == "Progressing"


def test_graph_whose_namespace_is_being_deleted_is_not_ready() -> None:
    graph = make.graph()
    children = world.run(world.apply((), world.ask(graph).children))
    namespace: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    assert world.ready(world.ask(graph, children, [namespace]))["status"] == "True"
    namespace["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    answer = world.ask(graph, children, [namespace])
    assert world.ready(answer)["status"] == "False"
    assert "the namespace is being deleted, and all that is in it" in world.ready(answer)["message"]
    assert answer.status is not None
    assert answer.status["notReadyReason"] == "WaitingForDependency"
    assert list(answer.children) == list(world.ask(graph, children).children)
