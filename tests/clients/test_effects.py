"""The effects client against a played API server: what it asks, what it makes of every kind of answer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import responses
from responses.matchers import json_params_matcher, query_param_matcher

from hooks.clients.api_server import ApiServer
from hooks.clients.effects import EffectsClient
from hooks.effects import Effect, EffectOutcome, EffectResult, Event, ObjectReference, ScalePodClique, WriteBackReplicas

URL = "https://127.0.0.1:6443"
SCALE = f"{URL}/apis/grove.io/v1alpha1/namespaces/ns/podcliques/g-0-a/scale"
GRAPH = f"{URL}/apis/nvidia.com/v1alpha1/namespaces/ns/dynamographdeployments/g"
EVENTS = f"{URL}/api/v1/namespaces/ns/events"
EFFECT = ScalePodClique(kind="PodClique", namespace="ns", name="g-0-a", replicas=3)
WRITE = WriteBackReplicas(graph="g", namespace="ns", service="Worker", replicas=3)
ABOUT = ObjectReference(
    api_version="nvidia.com/v1alpha1", kind="DynamoGraphDeployment", namespace="ns", name="g", uid="u"
)
EVENT = Event(about=ABOUT, type="Warning", reason="ValidationFailed", message="Validation failed: x", occasion="1")
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=True) as played:
        yield played


def api_server(folder: Path, **fields: Any) -> ApiServer:
    (folder / "token").write_text("secret\n")
    (folder / "ca.crt").write_text("")
    return ApiServer(url=URL, token_file=folder / "token", ca_file=folder / "ca.crt", **fields)


def client(folder: Path, **fields: Any) -> EffectsClient:
    return EffectsClient(server=api_server(folder, **fields), now=lambda: NOW)


def only(folder: Path, effect: Effect) -> EffectResult:
    (result,) = client(folder)((effect,))
    return result


# Scaling cliques


def scale(replicas: int) -> dict[str, Any]:
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": replicas}}


def test_replicas_that_differ_are_patched_through_the_scale_subresource(
    server: responses.RequestsMock, tmp_path: Path
) -> None:
    server.get(SCALE, json=scale(1))
    server.patch(SCALE, json=scale(3), match=[json_params_matcher({"spec": {"replicas": 3}})])
    assert only(tmp_path, EFFECT).outcome is EffectOutcome.DONE
    sent = server.calls[1].request
    assert sent.headers["Content-Type"] == "application/merge-patch+json"
    assert sent.headers["Authorization"] == "Bearer secret"


def test_replicas_that_are_right_are_not_written(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, json=scale(3))
    assert only(tmp_path, EFFECT).outcome is EffectOutcome.UNCHANGED
    assert len(server.calls) == 1


def test_scale_without_replicas_has_none(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, json={"kind": "Scale", "spec": {}})
    effect = ScalePodClique(kind="PodClique", namespace="ns", name="g-0-a", replicas=0)
    assert only(tmp_path, effect).outcome is EffectOutcome.UNCHANGED


def test_scaling_group_has_its_own_path(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE.replace("podcliques", "podcliquescalinggroups"), json=scale(3))
    effect = ScalePodClique(kind="PodCliqueScalingGroup", namespace="ns", name="g-0-a", replicas=3)
    assert only(tmp_path, effect).outcome is EffectOutcome.UNCHANGED


def test_what_is_not_made_yet_is_no_failure(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, status=404, json={"kind": "Status", "message": "not found"})
    assert only(tmp_path, EFFECT).outcome is EffectOutcome.NOT_YET


def test_what_went_away_meanwhile_is_no_failure(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, json=scale(1))
    server.patch(SCALE, status=404)
    assert only(tmp_path, EFFECT).outcome is EffectOutcome.NOT_YET


# Replicas of a graph


def graph(replicas: int | None = 1, *, enabled: bool = True, version: str = "7") -> dict[str, Any]:
    service: dict[str, Any] = {"scalingAdapter": {"enabled": enabled}}
    services = {"Worker": service if replicas is None else {**service, "replicas": replicas}}
    return {"metadata": {"name": "g", "resourceVersion": version}, "spec": {"services": services}}


def change(version: str) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}, "spec": {"services": {"Worker": {"replicas": 3}}}}


def test_replicas_are_written_into_the_graph_as_it_was_read(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(GRAPH, json=graph(1))
    manager = query_param_matcher({"fieldManager": "dynamo-hooks"})
    server.patch(GRAPH, json=graph(3), match=[json_params_matcher(change("7")), manager])
    assert only(tmp_path, WRITE).outcome is EffectOutcome.DONE
    assert server.calls[1].request.headers["Content-Type"] == "application/merge-patch+json"


def test_graph_that_changed_meanwhile_is_read_again(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(GRAPH, json=graph(1, version="7"))
    server.patch(GRAPH, status=409, match=[json_params_matcher(change("7"))])
    server.get(GRAPH, json=graph(2, version="8"))
    server.patch(GRAPH, json=graph(3), match=[json_params_matcher(change("8"))])
    assert only(tmp_path, WRITE).outcome is EffectOutcome.DONE


def test_graph_that_changes_all_the_time_is_left_to_the_next_sync(
    server: responses.RequestsMock, tmp_path: Path
) -> None:
    server.get(GRAPH, json=graph(1))
    server.patch(GRAPH, status=409)
    result = only(tmp_path, WRITE)
    assert result.outcome is EffectOutcome.FAILED
    assert "during each of 3 attempts" in result.reason
    assert len(server.calls) == 6


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"json": graph(3)}, EffectOutcome.UNCHANGED),
        ({"json": graph(1, enabled=False)}, EffectOutcome.NOT_YET),
        ({"json": {"metadata": {}, "spec": {"services": {}}}}, EffectOutcome.NOT_YET),
        ({"status": 404}, EffectOutcome.NOT_YET),
    ],
    ids=["has them", "adapter disabled meanwhile", "service gone", "graph gone"],
)
def test_graph_that_needs_or_takes_no_replicas_is_not_written(
    server: responses.RequestsMock, tmp_path: Path, answer: dict[str, Any], outcome: EffectOutcome
) -> None:
    server.get(GRAPH, **answer)
    assert only(tmp_path, WRITE).outcome is outcome
    assert len(server.calls) == 1


def test_graph_without_replicas_has_one(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(GRAPH, json=graph(None))
    effect = WriteBackReplicas(graph="g", namespace="ns", service="Worker", replicas=1)
    assert only(tmp_path, effect).outcome is EffectOutcome.UNCHANGED


def test_adapter_is_told_why_the_graph_does_not_take_its_replicas(
    server: responses.RequestsMock, tmp_path: Path
) -> None:
    server.get(GRAPH, json=graph(1))
    server.patch(GRAPH, status=422, json={"message": "spec is immutable"})
    server.post(EVENTS, status=201, json={})
    failed = Event(about=ABOUT, type="Warning", reason="UpdateFailed", message="Failed to update DGD g", occasion="1")
    written, told = client(tmp_path)((replace(WRITE, if_failed=failed),))
    assert (written.outcome, told.outcome) == (EffectOutcome.FAILED, EffectOutcome.DONE)
    sent = json.loads(server.calls[2].request.body or "")
    assert (sent["type"], sent["reason"]) == ("Warning", "UpdateFailed")
    assert sent["message"] == f"Failed to update DGD g: {written.reason}"
    assert "spec is immutable" in sent["message"]


def test_nothing_is_told_of_replicas_that_are_written(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(GRAPH, json=graph(1))
    server.patch(GRAPH, json=graph(3))
    assert only(tmp_path, replace(WRITE, if_failed=EVENT)).outcome is EffectOutcome.DONE
    assert len(server.calls) == 2


# Events


def test_event_is_created_about_its_object(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.post(EVENTS, status=201, json={})
    assert only(tmp_path, EVENT).outcome is EffectOutcome.DONE
    sent = json.loads(server.calls[0].request.body or "")
    name = sent["metadata"].pop("name")
    assert name.startswith("g.")
    assert sent == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "ns"},
        "involvedObject": {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "namespace": "ns",
            "name": "g",
            "uid": "u",
        },
        "type": "Warning",
        "reason": "ValidationFailed",
        "message": "Validation failed: x",
        "source": {"component": "dynamo-hooks"},
        "reportingComponent": "dynamo-hooks",
        "firstTimestamp": "2026-03-01T12:00:00Z",
        "lastTimestamp": "2026-03-01T12:00:00Z",
        "count": 1,
    }
    assert server.calls[0].request.headers["Content-Type"] == "application/json"


def test_event_that_was_told_already_is_no_failure(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.post(EVENTS, status=409, json={"reason": "AlreadyExists"})
    assert only(tmp_path, EVENT).outcome is EffectOutcome.UNCHANGED


def test_events_beyond_the_bound_are_not_told_and_counted_as_failed(
    server: responses.RequestsMock, tmp_path: Path
) -> None:
    server.post(EVENTS, status=201, json={})
    many = tuple(
        Event(about=ABOUT, type="Normal", reason="R", message=f"{number}", occasion="1") for number in range(22)
    )
    outcomes = [result.outcome for result in client(tmp_path)(many)]
    assert outcomes == [EffectOutcome.DONE] * 20 + [EffectOutcome.FAILED] * 2
    assert len(server.calls) == 20


# Failures


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 403, "json": {"message": "podcliques is forbidden"}}, "403 podcliques is forbidden"),
        ({"status": 502, "body": "<html>"}, "502 Bad Gateway"),
        ({"status": 302, "headers": {"Location": "https://127.0.0.2/"}}, "302 Found"),
        ({"body": requests.ConnectTimeout("connect timed out")}, "connect timed out"),
    ],
    ids=["forbidden", "no JSON", "redirect", "timeout"],
)
@pytest.mark.parametrize(
    ("method", "url", "effect"),
    [("GET", SCALE, EFFECT), ("GET", GRAPH, WRITE), ("POST", EVENTS, EVENT)],
    ids=["scale", "write back", "event"],
)
def test_refusal_is_a_result_with_its_reason(
    server: responses.RequestsMock,
    tmp_path: Path,
    method: str,
    url: str,
    effect: Effect,
    answer: dict[str, Any],
    reason: str,
) -> None:
    server.add(method, url, **answer)
    result = only(tmp_path, effect)
    assert result.outcome is EffectOutcome.FAILED
    assert reason in result.reason


def test_missing_token_is_a_result(tmp_path: Path) -> None:
    asking = client(tmp_path)
    (tmp_path / "token").unlink()
    assert asking((EFFECT,))[0].outcome is EffectOutcome.FAILED


def test_one_failure_does_not_hold_up_the_next(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, status=500)
    server.get(SCALE.replace("g-0-a", "g-0-b"), json=scale(3))
    second = ScalePodClique(kind="PodClique", namespace="ns", name="g-0-b", replicas=3)
    outcomes = [result.outcome for result in client(tmp_path)((EFFECT, second))]
    assert outcomes == [EffectOutcome.FAILED, EffectOutcome.UNCHANGED]


def test_all_effects_together_have_one_deadline(server: responses.RequestsMock, tmp_path: Path) -> None:
    seconds = iter([0.0, 0.5, 2.5])
    server.get(SCALE, json=scale(3))
    asking = client(tmp_path, clock=lambda: next(seconds))
    first, second = asking((EFFECT, EFFECT))
    assert first.outcome is EffectOutcome.UNCHANGED
    assert second.outcome is EffectOutcome.FAILED
    assert second.reason.startswith("GET /apis/grove.io/v1alpha1/")
    assert second.reason.endswith("/g-0-a/scale: not sent, because earlier requests took the 2 s allowed")
    sent: Any = server.calls[0].request
    assert sent.req_kwargs["timeout"] == 1.5


def test_each_failure_is_a_sentence_that_names_the_effect(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, status=403, json={"message": "forbidden"})
    server.get(GRAPH, status=500)
    server.post(EVENTS, status=403, json={"message": "forbidden"})
    results = client(tmp_path)((EFFECT, WRITE, EVENT))
    scaled, written, told = (result.sentence for result in results)
    assert scaled.startswith("scale PodClique ns/g-0-a to 3: GET ")
    assert scaled.endswith("403 forbidden")
    assert written.startswith("set Worker of graph ns/g to 3 replicas: GET ")
    assert told.startswith("event ValidationFailed about DynamoGraphDeployment ns/g: POST ")
    assert "secret" not in f"{scaled}{written}{told}"


# The pod's own server


def test_pod_knows_its_server_and_account(tmp_path: Path) -> None:
    api_server(tmp_path)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = ApiServer.in_cluster(environment, tmp_path)
    assert found is not None
    assert found.url == "https://[fd00::1]:443"
    assert found.token_file == tmp_path / "token"


@pytest.mark.parametrize("environment", [{}, {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}])
def test_there_is_no_server_outside_of_a_cluster(environment: dict[str, str], tmp_path: Path) -> None:
    api_server(tmp_path)
    assert ApiServer.in_cluster(environment, tmp_path) is None


def test_there_is_no_server_without_a_token(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert ApiServer.in_cluster(environment, tmp_path) is None
