"""The effects client against a played API server: what it asks, what it makes of every kind of answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import responses

from hooks.effects import EtcdPrefixDrop, ScalePodClique
from hooks.effects_client import EffectsClient, Outcome

URL = "https://127.0.0.1:6443"
SCALE = f"{URL}/apis/grove.io/v1alpha1/namespaces/ns/podcliques/g-0-a/scale"
EFFECT = ScalePodClique(kind="PodClique", namespace="ns", name="g-0-a", replicas=3)


@pytest.fixture
def server() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=True) as played:
        yield played


def client(folder: Path, **fields: Any) -> EffectsClient:
    (folder / "token").write_text("secret\n")
    (folder / "ca.crt").write_text("")
    return EffectsClient(url=URL, token_file=folder / "token", ca_file=folder / "ca.crt", **fields)


def scale(replicas: int) -> dict[str, Any]:
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": replicas}}


def test_replicas_that_differ_are_patched_through_the_scale_subresource(
    server: responses.RequestsMock, tmp_path: Path
) -> None:
    server.get(SCALE, json=scale(1))
    server.patch(SCALE, json=scale(3), match=[responses.matchers.json_params_matcher({"spec": {"replicas": 3}})])
    (result,) = client(tmp_path).carry_out((EFFECT,))
    assert result.outcome is Outcome.DONE
    sent = server.calls[1].request
    assert sent.headers["Content-Type"] == "application/merge-patch+json"
    assert sent.headers["Authorization"] == "Bearer secret"


def test_replicas_that_are_right_are_not_written(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, json=scale(3))
    assert client(tmp_path).carry_out((EFFECT,))[0].outcome is Outcome.UNCHANGED
    assert len(server.calls) == 1


def test_scale_without_replicas_has_none(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, json={"kind": "Scale", "spec": {}})
    effect = ScalePodClique(kind="PodClique", namespace="ns", name="g-0-a", replicas=0)
    assert client(tmp_path).carry_out((effect,))[0].outcome is Outcome.UNCHANGED


def test_scaling_group_has_its_own_path(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE.replace("podcliques", "podcliquescalinggroups"), json=scale(3))
    effect = ScalePodClique(kind="PodCliqueScalingGroup", namespace="ns", name="g-0-a", replicas=3)
    assert client(tmp_path).carry_out((effect,))[0].outcome is Outcome.UNCHANGED


def test_what_is_not_made_yet_is_no_failure(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, status=404, json={"kind": "Status", "message": "not found"})
    assert client(tmp_path).carry_out((EFFECT,))[0].outcome is Outcome.NOT_YET


def test_what_went_away_meanwhile_is_no_failure(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, json=scale(1))
    server.patch(SCALE, status=404)
    assert client(tmp_path).carry_out((EFFECT,))[0].outcome is Outcome.NOT_YET


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
def test_refusal_is_a_result_with_its_reason(
    server: responses.RequestsMock, tmp_path: Path, answer: dict[str, Any], reason: str
) -> None:
    server.get(SCALE, **answer)
    (result,) = client(tmp_path).carry_out((EFFECT,))
    assert result.outcome is Outcome.FAILED
    assert reason in result.reason


def test_missing_token_is_a_result(server: responses.RequestsMock, tmp_path: Path) -> None:
    asking = client(tmp_path)
    (tmp_path / "token").unlink()
    assert asking.carry_out((EFFECT,))[0].outcome is Outcome.FAILED


def test_one_failure_does_not_hold_up_the_next(server: responses.RequestsMock, tmp_path: Path) -> None:
    server.get(SCALE, status=500)
    server.get(SCALE.replace("g-0-a", "g-0-b"), json=scale(3))
    second = ScalePodClique(kind="PodClique", namespace="ns", name="g-0-b", replicas=3)
    outcomes = [result.outcome for result in client(tmp_path).carry_out((EFFECT, second))]
    assert outcomes == [Outcome.FAILED, Outcome.UNCHANGED]


def test_all_effects_together_have_one_deadline(server: responses.RequestsMock, tmp_path: Path) -> None:
    seconds = iter([0.0, 0.5, 2.5])
    server.get(SCALE, json=scale(3))
    asking = client(tmp_path, clock=lambda: next(seconds))
    first, second = asking.carry_out((EFFECT, EFFECT))
    assert first.outcome is Outcome.UNCHANGED
    assert (second.outcome, second.reason) == (Outcome.FAILED, "no time was left within 2 s")
    sent: Any = server.calls[0].request
    assert sent.req_kwargs["timeout"] == 1.5


def test_effects_of_others_are_left_alone(tmp_path: Path) -> None:
    (result,) = client(tmp_path).carry_out((EtcdPrefixDrop(prefix="/ns/components/a"),))
    assert result.outcome is Outcome.NOT_OURS


def test_called_as_the_server_calls_it_failures_come_back_as_sentences(
    server: responses.RequestsMock, tmp_path: Path
) -> None:
    server.get(SCALE, status=403, json={"message": "forbidden"})
    failed, unknown = client(tmp_path)((EFFECT, EtcdPrefixDrop(prefix="/ns/components/a")))
    assert failed.startswith("scale PodClique ns/g-0-a to 3: GET ")
    assert failed.endswith("403 forbidden")
    assert unknown == "EtcdPrefixDrop: nothing carries it out in this version"
    assert "secret" not in failed


def test_client_of_a_pod_knows_its_server_and_account(tmp_path: Path) -> None:
    client(tmp_path)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = EffectsClient.in_cluster(environment, tmp_path)
    assert found is not None
    assert found.url == "https://[fd00::1]:443"
    assert found.token_file == tmp_path / "token"


@pytest.mark.parametrize("environment", [{}, {"KUBERNETES_SERVICE_HOST": "127.0.0.1"}])
def test_there_is_no_client_outside_of_a_cluster(environment: dict[str, str], tmp_path: Path) -> None:
    client(tmp_path)
    assert EffectsClient.in_cluster(environment, tmp_path) is None


def test_there_is_no_client_without_a_token(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert EffectsClient.in_cluster(environment, tmp_path) is None
