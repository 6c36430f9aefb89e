"""The effects client against a played API server: what it reads and writes, and each kind of answer."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest
import requests
import responses

from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.effects import MOST_UNDER_WAY, EffectsClient, EffectsInTime
from hooks.wire.metacontroller.effects import (
    Effect,
    EffectOutcome,
    EffectResult,
    EffectSource,
    Event,
    ScalePodClique,
    WriteBackReplicas,
)
from hooks.wire.policy.conditions import reference_of
from tests.server.clients import grove_objects as stored
from tests.server.clients.played_server import URL, PlayedServer, api_server, path_of, play
from tests.waiting import PATIENCE, wait_for

CLIQUE = path_of(stored.clique())
GRAPH = path_of(stored.graph())
EVENTS = "/api/v1/namespaces/default/events"
SCALE = ScalePodClique(kind="PodClique", namespace="default", name=stored.FRONTEND, replicas=3)
SCALE_WORKER = replace(SCALE, name=stored.WORKER, replicas=5)
WRITE = WriteBackReplicas(graph="g", namespace="default", service="Worker", replicas=5)
EVENT = Event(
    about=reference_of(stored.graph()),
    type="Warning",
    reason="ValidationFailed",
    message="Validation failed: x",
    occasion="1",
)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def mock() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as played:
        yield played


@pytest.fixture
def server(mock: responses.RequestsMock) -> PlayedServer:
    return play(mock, stored.stored())


def source(parent: Manifest) -> EffectSource:
    return EffectSource(
        parent=reference_of(parent), generation=parent["metadata"]["generation"], declared=stored.DECLARED
    )


def client(folder: Path, **fields: Any) -> EffectsClient:
    settings = parse_settings({}, {"effect_write_back": "always"})
    return EffectsClient(server=api_server(folder, **fields), settings=settings, now=lambda: NOW)


def only(folder: Path, effect: Effect, parent: Manifest | None = None) -> EffectResult:
    """The only result of an effect; by default of a sync of the graph, or of the adapter for a write."""
    default = stored.adapter() if isinstance(effect, WriteBackReplicas) else stored.graph()
    (result,) = client(folder)((effect,), source(parent or default))
    return result


# Scaling cliques


def test_replicas_that_differ_are_patched_through_the_scale_subresource(
    mock: responses.RequestsMock, server: PlayedServer, tmp_path: Path
) -> None:
    assert only(tmp_path, SCALE).outcome is EffectOutcome.DONE
    assert server.writes == [("PATCH", f"{CLIQUE}/scale", {"spec": {"replicas": 3}})]
    adapter = path_of(stored.adapter(name="g-frontend"))
    assert server.reads == [GRAPH, CLIQUE, path_of(stored.pod_clique_set()), adapter]
    sent = mock.calls[-1].request
    assert sent.headers["Content-Type"] == "application/merge-patch+json"
    assert sent.headers["Authorization"] == "Bearer secret"


def test_adapter_decides_about_the_replicas_of_its_service(server: PlayedServer, tmp_path: Path) -> None:
    assert only(tmp_path, SCALE_WORKER).outcome is EffectOutcome.DONE
    assert server.writes == [("PATCH", f"{path_of(stored.clique(stored.WORKER))}/scale", {"spec": {"replicas": 5}})]


def test_objects_are_read_once_for_all_effects(server: PlayedServer, tmp_path: Path) -> None:
    results = client(tmp_path)((SCALE, SCALE_WORKER, EVENT), source(stored.graph()))
    assert {result.outcome for result in results} == {EffectOutcome.DONE}
    assert len(server.reads) == len(set(server.reads)) == 6


def test_replicas_that_are_right_are_not_written(server: PlayedServer, tmp_path: Path) -> None:
    server.keep(stored.clique(replicas=3))
    assert only(tmp_path, SCALE).outcome is EffectOutcome.UNCHANGED
    assert server.writes == []


def test_replicas_that_are_null_are_one(server: PlayedServer, tmp_path: Path) -> None:
    clique = stored.clique()
    server.keep({**clique, "spec": {"replicas": None}})
    assert only(tmp_path, SCALE).outcome is EffectOutcome.DONE


@pytest.mark.parametrize("missing", [stored.clique(), stored.pod_clique_set()], ids=lambda found: str(found["kind"]))
def test_what_is_not_made_yet_is_no_failure(server: PlayedServer, tmp_path: Path, missing: Manifest) -> None:
    del server.objects[path_of(missing)]
    assert only(tmp_path, SCALE).outcome is EffectOutcome.NOT_YET


def test_what_went_away_meanwhile_is_no_failure(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(404, {})]
    assert only(tmp_path, SCALE).outcome is EffectOutcome.NOT_YET


# Replicas of a graph


def change(version: str) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version}, "spec": {"services": {"Worker": {"replicas": 5}}}}


def test_replicas_are_written_into_the_graph_as_it_was_read(
    mock: responses.RequestsMock, server: PlayedServer, tmp_path: Path
) -> None:
    assert only(tmp_path, WRITE).outcome is EffectOutcome.DONE
    assert server.writes == [("PATCH", f"{GRAPH}?fieldManager=dynamo-hooks", change("70"))]
    assert mock.calls[-1].request.headers["Content-Type"] == "application/merge-patch+json"


def test_graph_that_changed_meanwhile_is_read_again(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(409, {})]
    assert only(tmp_path, WRITE).outcome is EffectOutcome.DONE
    assert len(server.writes) == 2
    assert server.reads.count(GRAPH) == 2


def test_graph_that_changes_all_the_time_is_left_to_the_next_sync(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(409, {})] * 3
    result = only(tmp_path, WRITE)
    assert result.outcome is EffectOutcome.FAILED
    assert "during each of 3 attempts" in result.reason
    assert len(server.writes) == 3


def test_graph_that_has_the_replicas_is_not_written(server: PlayedServer, tmp_path: Path) -> None:
    found = stored.graph()
    found["spec"]["services"]["Worker"]["replicas"] = 5
    server.keep(found)
    assert only(tmp_path, WRITE).outcome is EffectOutcome.UNCHANGED
    assert server.writes == []


def test_graph_without_replicas_has_one(server: PlayedServer, tmp_path: Path) -> None:
    found = stored.graph()
    del found["spec"]["services"]["Worker"]["replicas"]
    server.keep(found, stored.adapter(1))
    assert only(tmp_path, replace(WRITE, replicas=1)).outcome is EffectOutcome.UNCHANGED


def test_graph_that_is_gone_is_no_failure(server: PlayedServer, tmp_path: Path) -> None:
    del server.objects[GRAPH]
    assert only(tmp_path, WRITE).outcome is EffectOutcome.NOT_YET


def test_adapter_gets_an_event_if_the_graph_does_not_take_its_replicas(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(422, {"message": "spec is immutable"})]
    failed = replace(EVENT, about=reference_of(stored.adapter()), reason="UpdateFailed", message="Failed to update g")
    written, sent = client(tmp_path)((replace(WRITE, if_failed=failed),), source(stored.adapter()))
    assert (written.outcome, sent.outcome) == (EffectOutcome.FAILED, EffectOutcome.DONE)
    _, path, event = server.writes[-1]
    assert (path, event["type"], event["reason"]) == (EVENTS, "Warning", "UpdateFailed")
    assert event["message"] == f"Failed to update g: {written.reason}"
    assert "spec is immutable" in event["message"]


def test_no_event_is_sent_about_replicas_that_are_written(server: PlayedServer, tmp_path: Path) -> None:
    assert only(tmp_path, replace(WRITE, if_failed=EVENT)).outcome is EffectOutcome.DONE
    assert len(server.writes) == 1


# Events


def test_event_is_created_about_its_object(mock: responses.RequestsMock, server: PlayedServer, tmp_path: Path) -> None:
    assert only(tmp_path, EVENT).outcome is EffectOutcome.DONE
    ((method, path, sent),) = server.writes
    assert (method, path) == ("POST", EVENTS)
    name = sent["metadata"].pop("name")
    assert name.startswith("g.")
    assert sent == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "involvedObject": {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "namespace": "default",
            "name": "g",
            "uid": "u-g",
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
    assert mock.calls[-1].request.headers["Content-Type"] == "application/json"


def test_event_about_a_graph_that_was_edited_since_is_still_sent(server: PlayedServer, tmp_path: Path) -> None:
    assert only(tmp_path, EVENT, stored.graph(generation=6)).outcome is EffectOutcome.DONE


def test_event_that_was_sent_already_is_no_failure(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(409, {"reason": "AlreadyExists"})]
    assert only(tmp_path, EVENT).outcome is EffectOutcome.UNCHANGED


def test_events_beyond_the_bound_are_not_sent_and_counted_as_failed(server: PlayedServer, tmp_path: Path) -> None:
    many = tuple(replace(EVENT, message=f"{number}") for number in range(22))
    outcomes = [result.outcome for result in client(tmp_path)(many, source(stored.graph()))]
    assert outcomes == [EffectOutcome.DONE] * 20 + [EffectOutcome.FAILED] * 2
    assert len(server.writes) == 20


# Failures


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"status": 403, "json": {"message": "podcliques is forbidden"}}, "403 podcliques is forbidden"),
        ({"status": 502, "body": "<html>"}, "502 Bad Gateway"),
        ({"status": 302, "headers": {"Location": "https://127.0.0.2/"}}, "302 Found"),
        ({"body": requests.ConnectTimeout("connect timed out")}, "no connection within 5 s"),
        ({"body": requests.ReadTimeout("timed out")}, "the API server did not answer within 5 s"),
    ],
    ids=["forbidden", "no JSON", "redirect", "no connection", "slow"],
)
@pytest.mark.parametrize(
    ("path", "effect"),
    [
        (GRAPH, SCALE),
        (CLIQUE, SCALE),
        (path_of(stored.adapter()), WRITE),
        (GRAPH, WRITE),
        (GRAPH, EVENT),
    ],
    ids=["scale: graph", "scale: clique", "write back: adapter", "write back: graph", "event"],
)
def test_read_that_fails_is_a_result_with_its_reason(
    tmp_path: Path, path: str, effect: Effect, answer: dict[str, Any], reason: str
) -> None:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.get(f"{URL}{path}", **answer)
        server = play(mock, stored.stored())
        result = only(tmp_path, effect)
    assert result.outcome is EffectOutcome.FAILED
    assert reason in result.reason
    assert server.writes == []


@pytest.mark.parametrize("effect", [SCALE, WRITE, EVENT], ids=["scale", "write back", "event"])
def test_write_that_is_refused_is_a_result_with_its_reason(
    server: PlayedServer, tmp_path: Path, effect: Effect
) -> None:
    server.refusals = [(403, {"message": "it is forbidden"})]
    result = only(tmp_path, effect)
    assert result.outcome is EffectOutcome.FAILED
    assert result.reason.endswith("403 it is forbidden")


def test_missing_token_is_a_result(tmp_path: Path) -> None:
    asking = client(tmp_path)
    (tmp_path / "token").unlink()
    assert asking((SCALE,), source(stored.graph()))[0].outcome is EffectOutcome.FAILED


def test_one_failure_does_not_hold_up_the_next(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(500, {})]
    outcomes = [result.outcome for result in client(tmp_path)((SCALE, SCALE_WORKER), source(stored.graph()))]
    assert outcomes == [EffectOutcome.FAILED, EffectOutcome.DONE]


def test_all_effects_together_have_one_deadline(
    mock: responses.RequestsMock, server: PlayedServer, tmp_path: Path
) -> None:
    seconds = iter([0.0, 26.5, 31.0, 31.0])
    asking = client(tmp_path, clock=lambda: next(seconds))
    late = f"POST {EVENTS}: not sent, because earlier requests took the time allowed"
    assert [one.reason for one in asking((EVENT, EVENT), source(stored.graph()))] == [late, late]
    assert server.writes == []
    sent: Any = mock.calls[0].request
    assert sent.req_kwargs["timeout"].total == 3.5


def test_sync_waits_for_its_effects_and_not_long_for_those_at_a_slow_api_server(
    server: PlayedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "hooks")
    go_on, ended, about = Signal(), Signal(), source(stored.graph())
    carried: list[tuple[Effect, ...]] = []

    def carry_out(effects: tuple[Effect, ...], about: EffectSource) -> tuple[EffectResult, ...]:
        carried.append(effects)
        assert go_on.wait(PATIENCE)
        try:
            return client(tmp_path)(effects, about)
        finally:
            ended.set()

    in_time = EffectsInTime(carry_out=carry_out, wait_seconds=0.05)
    not_yet = [EffectOutcome.NOT_YET]
    assert [one.outcome for one in in_time((SCALE,), about)] == not_yet
    (second,) = in_time((SCALE,), about)
    assert (second.outcome, second.reason) == (
        EffectOutcome.FAILED,
        "earlier effects are still being carried out, because the API server is slow",
    )
    assert carried == [(SCALE,)]
    go_on.set()
    assert ended.wait(PATIENCE)
    wait_for(lambda: not in_time.under_way and caplog.records, "they end")
    assert [path for _, path, _ in server.writes] == [f"{CLIQUE}/scale"]
    assert [record.message for record in caplog.records] == ["late effects: carried out"]
    patient = EffectsInTime(carry_out=carry_out, wait_seconds=PATIENCE)
    assert [one.outcome for one in patient((SCALE,), about)] == [EffectOutcome.DONE]


def test_only_a_few_objects_have_effects_under_way(tmp_path: Path) -> None:
    go_on = Signal()

    def carry_out(effects: tuple[Effect, ...], _about: EffectSource) -> tuple[EffectResult, ...]:
        assert go_on.wait(PATIENCE)
        return tuple(EffectResult(effect=one, outcome=EffectOutcome.DONE) for one in effects)

    in_time = EffectsInTime(carry_out=carry_out, wait_seconds=0.01)
    abouts = [replace(source(stored.graph()), generation=number) for number in range(MOST_UNDER_WAY + 2)]
    for about in abouts:
        in_time((SCALE,), replace(about, parent=replace(about.parent, uid=f"u{about.generation}")))
    assert len(in_time.under_way) == MOST_UNDER_WAY
    go_on.set()


def test_bug_in_effects_is_raised_to_the_caller() -> None:
    def carry_out(_effects: tuple[Effect, ...], _about: EffectSource) -> tuple[EffectResult, ...]:
        raise KeyError("bug")

    in_time = EffectsInTime(carry_out=carry_out, wait_seconds=PATIENCE)
    with pytest.raises(KeyError, match="bug"):
        in_time((SCALE,), source(stored.graph()))
    assert not in_time.under_way


def test_each_failure_is_a_sentence_that_names_the_effect(server: PlayedServer, tmp_path: Path) -> None:
    server.refusals = [(403, {"message": "forbidden"}), (403, {"message": "forbidden"})]
    scaled, sent = (result.sentence for result in client(tmp_path)((SCALE, EVENT), source(stored.graph())))
    assert scaled.startswith(f"scale PodClique default/{stored.FRONTEND} to 3: PATCH ")
    assert scaled.endswith("403 forbidden")
    assert sent.startswith("event ValidationFailed about DynamoGraphDeployment default/g: POST ")
    written = only(tmp_path, WRITE, stored.graph()).sentence
    assert written.startswith("set Worker of graph default/g to 5 replicas: a sync of DynamoGraphDeployment default/g ")
    assert "secret" not in f"{scaled}{sent}{written}"


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
