"""Reads on demand from an API server: what is asked, for how long it is remembered, and what a fault comes to."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event, Thread

import pytest
import requests
import responses

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.server.clients import query_reader
from hooks.server.clients.query_reader import NO_SOURCE, OBJECTS_VARIABLE, QueryReader, find_reader
from hooks.server.clients.read_budget import MOST_READERS
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import BUSY
from tests.played_api_server import URL
from tests.server.clients.ticking import Ticking
from tests.waiting import PATIENCE

PODS = f"{URL}/api/v1/namespaces/team-a/pods"
QUERY = ObjectQuery(kinds.POD, "team-a", labels=(("app", "a"), ("tier", "b")))
NAMED = ObjectQuery(kinds.DEPLOYMENT, "team-a", "main")
FORBIDDEN = "the hooks may not read Pod objects; give their account the right to get and list them"


@pytest.fixture
def served() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.fixture
def ticking(tmp_path: Path) -> Ticking:
    return Ticking(tmp_path)


def lists(served: responses.RequestsMock, *names: str) -> None:
    items = [{"metadata": {"name": name, "namespace": "team-a", "managedFields": [{}]}} for name in names]
    served.upsert("GET", PODS, json={"kind": "PodList", "items": items})


def test_pods_are_listed_by_labels_with_a_limit_and_get_their_kind(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    lists(served, "p")
    answer = QueryReader(ticking.server).read([QUERY])[QUERY]
    assert answer == QueryAnswer(
        objects=({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team-a"}},)
    )
    asked = str(served.calls[0].request.url)
    assert asked == f"{PODS}?labelSelector=app%3Da%2Ctier%3Db&limit=10"


def test_object_is_read_by_name_and_one_that_is_not_there_is_no_fault(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    path = f"{URL}/apis/apps/v1/namespaces/team-a/deployments/main"
    served.get(path, json={"metadata": {"name": "main", "namespace": "team-a"}})
    reader = QueryReader(ticking.server, fresh_seconds=0)
    assert [one["kind"] for one in reader.read([NAMED])[NAMED].objects] == ["Deployment"]
    served.replace("GET", path, status=404, json={})
    assert reader.read([NAMED])[NAMED] == QueryAnswer()


def test_what_was_read_a_moment_ago_is_not_read_again(served: responses.RequestsMock, ticking: Ticking) -> None:
    lists(served, "p")
    reader = QueryReader(ticking.server)
    first = reader.read([QUERY])
    lists(served, "q")
    ticking.seconds += 2
    assert reader.read([QUERY]) == first
    ticking.seconds += 2
    assert [one["metadata"]["name"] for one in reader.read([QUERY])[QUERY].objects] == ["q"]


@pytest.mark.parametrize(
    ("status", "fault"),
    [(403, FORBIDDEN), (401, FORBIDDEN), (500, "the API server answers 500")],
    ids=["forbidden", "unknown", "broken"],
)
def test_refused_read_says_why_and_is_not_tried_again_at_once(
    served: responses.RequestsMock, ticking: Ticking, status: int, fault: str
) -> None:
    served.get(PODS, status=status, json={"message": "no"})
    reader = QueryReader(ticking.server)
    assert reader.read([QUERY])[QUERY] == QueryAnswer(fault=fault)
    ticking.seconds += 4
    assert reader.read([QUERY])[QUERY] == QueryAnswer(fault=fault)
    assert len(served.calls) == 1
    ticking.seconds += 2
    lists(served, "p")
    assert reader.read([QUERY])[QUERY].fault == ""


def test_refusal_of_one_kind_stops_no_other(served: responses.RequestsMock, ticking: Ticking) -> None:
    served.get(PODS, status=403, json={})
    served.get(f"{URL}/apis/apps/v1/namespaces/team-a/deployments/main", json={"metadata": {"name": "main"}})
    found = QueryReader(ticking.server).read([QUERY, NAMED])
    assert (found[QUERY].fault, found[NAMED].fault) == (FORBIDDEN, "")


def test_server_that_does_not_answer_is_asked_for_nothing_more_for_a_while(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    found = QueryReader(ticking.server).read([QUERY, NAMED])  # nothing is served, so each request fails to connect
    unreachable = QueryAnswer(fault="the API server does not answer the hooks; check that they reach it")
    assert found == {QUERY: unreachable, NAMED: unreachable}
    assert len(served.calls) == 1


QUERIES = [replace(QUERY, labels=(("app", name),)) for name in "abcde"]


def test_with_a_slow_api_server_all_is_read_but_the_first_at_the_same_time(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    together, asked = Barrier(2), []

    def answer(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        asked.append(str(request.url))
        if len(asked) == 1:
            ticking.seconds += 4
        else:
            together.wait(PATIENCE)
        return 200, {}, '{"items": []}'

    served.add_callback("GET", PODS, callback=answer)
    found = QueryReader(ticking.server).read(QUERIES)
    assert [one.fault for one in found.values()] == [""] * 5
    assert len(asked) == 5


def test_without_an_answer_nothing_else_is_asked_for(served: responses.RequestsMock, ticking: Ticking) -> None:
    def answer(_request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        ticking.seconds += 5
        raise requests.ReadTimeout("late")

    served.add_callback("GET", PODS, callback=answer)
    found = QueryReader(ticking.server).read(QUERIES)
    assert [found[query].fault for query in QUERIES] == ["the API server did not answer within 5 s", *[BUSY] * 4]
    assert len(served.calls) == 1


def test_call_whose_time_is_over_reads_no_further(
    served: responses.RequestsMock, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(_request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
        ticking.seconds += 4
        return 200, {}, '{"items": []}'

    monkeypatch.setattr(query_reader, "seconds_left", lambda: 3.9)
    served.add_callback("GET", PODS, callback=answer)
    found = QueryReader(ticking.server).read(QUERIES)
    assert [found[query].fault for query in QUERIES] == ["", *[BUSY] * 4]


def test_no_more_than_a_few_calls_read_at_once(
    served: responses.RequestsMock, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_reader, "READ_SECONDS", 0.05)
    entered, go_on = [Event() for _ in range(MOST_READERS)], Event()
    waiting = iter(entered)

    def answer(_request: object) -> tuple[int, dict[str, str], str]:
        next(waiting).set()
        assert go_on.wait(PATIENCE)
        return 200, {}, '{"items": []}'

    served.add_callback("GET", re.compile(rf"{URL}/api/v1/namespaces/team-.*/pods"), callback=answer)
    reader = QueryReader(ticking.server)
    queries = [replace(QUERY, namespace=f"team-{index}") for index in range(MOST_READERS + 1)]
    threads = [Thread(target=reader.read, args=([query],)) for query in queries[:-1]]
    for thread in threads:
        thread.start()
    assert all(event.wait(PATIENCE) for event in entered)
    late = reader.read(queries[-1:])
    go_on.set()
    for thread in threads:
        thread.join()
    assert [one.fault for one in late.values()] == [BUSY]


@pytest.mark.parametrize("namespace", ["a/b", "..", "a?b=c"])
def test_name_of_a_request_is_never_a_path(served: responses.RequestsMock, ticking: Ticking, namespace: str) -> None:
    reader = QueryReader(ticking.server)
    found = reader.read([replace(NAMED, namespace=namespace), replace(NAMED, name=namespace)])
    assert all(one.fault for one in found.values())
    assert len(served.calls) == 0
    lists(served, "p")
    assert reader.read([QUERY])[QUERY].fault == ""  # other reads go on


def test_source_without_an_api_server_refuses_everything() -> None:
    assert find_reader(None, {}) is NO_SOURCE
    fault = "the hooks have no access to the API server"
    assert NO_SOURCE.read([QUERY, NAMED]) == dict.fromkeys([QUERY, NAMED], QueryAnswer(fault=fault))


def test_objects_of_a_simulation_cost_nothing_to_read(served: responses.RequestsMock) -> None:
    url = "http://127.0.0.1:1"
    served.get(f"{url}/apis/nvidia.com/v1alpha1/namespaces/a/{'dynamocomponentdeployments'}", json={"items": []})
    source = find_reader(None, {OBJECTS_VARIABLE: url})
    query = ObjectQuery(contract.COMPONENT, "a", labels=(("a", "b"),))
    assert (source.is_free, source.read([query])) == (True, {query: QueryAnswer()})


def test_late_answer_is_said_in_the_same_words_each_time_and_stops_no_other_read(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    served.get(PODS, body=requests.ReadTimeout("late"))
    served.get(f"{URL}/apis/apps/v1/namespaces/team-a/deployments/main", json={"metadata": {"name": "main"}})
    reader = QueryReader(ticking.server)
    faults = []
    for _ in range(2):
        faults.append(reader.read([QUERY])[QUERY].fault)
        ticking.seconds += 0.123
    assert faults == ["the API server did not answer within 5 s"] * 2
    assert reader.read([NAMED])[NAMED].fault == ""


def test_connection_that_comes_too_late_sends_nobody_to_the_network(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    served.get(PODS, body=requests.ConnectTimeout("late"))
    found = QueryReader(ticking.server).read([QUERY, NAMED])
    unreachable = QueryAnswer(fault="the API server does not answer the hooks; check that they reach it")
    assert found == {QUERY: unreachable, NAMED: unreachable}
    assert len(served.calls) == 1


BINDING = ObjectQuery(kinds.CLUSTER_TOPOLOGY_BINDING, "", "dc")
GROVE = f"{URL}/apis/grove.io/v1alpha1"


def test_object_of_the_whole_cluster_is_missing_only_where_its_kind_is_served(
    served: responses.RequestsMock, ticking: Ticking
) -> None:
    path = f"{GROVE}/clustertopologybindings/dc"
    served.get(path, json={"metadata": {"name": "dc"}, "spec": {}})
    reader = QueryReader(ticking.server, fresh_seconds=0)
    assert [one["metadata"] for one in reader.read([BINDING])[BINDING].objects] == [{"name": "dc"}]
    served.replace("GET", path, status=404, json={})
    served.get(GROVE, status=404, json={})
    assert reader.read([BINDING])[BINDING] == QueryAnswer(fault="the cluster has no kind ClusterTopologyBinding")
    served.replace("GET", GROVE, json={"resources": [{"kind": "ClusterTopologyBinding"}]})
    assert reader.read([BINDING])[BINDING] == QueryAnswer()


@pytest.mark.parametrize("query", [replace(BINDING, namespace="team-a"), replace(NAMED, namespace="")], ids=str)
def test_object_is_asked_for_only_where_its_kind_has_it(ticking: Ticking, query: ObjectQuery) -> None:
    assert QueryReader(ticking.server).read([query])[query].fault.startswith(f"no {query.kind.kind} can be named")
