"""Pods that a tenant makes as large and as many as it can: what is read of them, and that others are answered."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hooks.ground.k8s.pod_reasons import SUMMARY, cannot_pull, explain_pods
from hooks.server.clients.query_reader import QueryReader
from hooks.server.clients.read_budget import BURST_BYTES, SPENT, ReadBudget
from hooks.server.clients.workload_pods import MOST_ROWS, MOST_WHOLE, POD_BYTES, SMALL_BYTES, TABLE_BYTES
from hooks.server.exchange.http_client import MIB
from hooks.wire.metacontroller.queries import BUSY
from tests import make
from tests.server.clients.large_pods import LargePods, large_pod, query_of, served_pods

LARGE = 400_000
SOCKETS = 4 * MIB
"""What the kernel's buffers of both ends may hold of an answer that is not taken."""
OF_ONE_READ = SMALL_BYTES + TABLE_BYTES + MOST_WHOLE * POD_BYTES


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LargePods]:
    monkeypatch.setattr("hooks.server.clients.query_reader.READ_SECONDS", 60.0)
    monkeypatch.setattr("hooks.server.clients.query_reader.DEADLINE_SECONDS", 120.0)  # bytes are judged here, not time
    with served_pods(tmp_path) as found:
        yield found


def test_of_a_hundred_large_pods_three_are_read_whole(played: LargePods) -> None:
    played.pods["team-a"] = [large_pod(number, LARGE) for number in range(100)]
    answer = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert (len(answer.objects), answer.fault) == (100, "")
    assert sum(SUMMARY not in pod for pod in answer.objects) == MOST_WHOLE
    assert answer.size <= OF_ONE_READ
    assert played.sent["team-a"] <= OF_ONE_READ + SOCKETS
    assert cannot_pull(answer.objects)
    explanation = explain_pods(answer.objects, make.NOW)
    assert explanation is not None
    assert "image i of container main cannot be pulled" in str(explanation.finding)


def test_eight_calls_at_once_read_once_and_one_at_a_time_and_others_are_answered(played: LargePods) -> None:
    played.pods["team-a"] = [large_pod(number, LARGE) for number in range(100)]
    played.pods["team-b"] = [large_pod(number, 10) for number in range(3)]
    reader = QueryReader(played.server)
    with ThreadPoolExecutor(16) as pool:
        attacks = [pool.submit(reader.read, [query_of("team-a", str(number))]) for number in range(8)]
        others = [pool.submit(reader.read, [query_of("team-b")]) for _ in range(4)]
        of_others = [answer for one in others for answer in one.result().values()]
        of_attacker = [answer for one in attacks for answer in one.result().values()]
    assert [(len(one.objects), one.fault) for one in of_others] == [(3, "")] * 4
    assert played.most_at_once["team-a"] == 1
    assert {one.fault for one in of_attacker} <= {"", BUSY}
    assert sum(one.size for one in of_attacker) <= 8 * OF_ONE_READ
    assert sum(path.startswith("/api/v1/namespaces/team-b/") for path in played.asked) == 1, "read once for all four"


def test_namespace_that_used_its_share_is_not_read_for_a_while_and_others_are(played: LargePods) -> None:
    played.pods["team-a"] = [large_pod(number, LARGE) for number in range(100)]
    played.pods["team-b"] = [large_pod(0, 10)]
    now = [0.0]
    reader = QueryReader(played.server, fresh_seconds=0, budget=ReadBudget(lambda: now[0]))
    queries = [query_of("team-a", str(number)) for number in range(30)]
    answers = [reader.read([query])[query] for query in queries]
    assert sum(one.size for one in answers) <= BURST_BYTES + OF_ONE_READ
    assert answers[-1].fault == SPENT
    assert reader.read([query_of("team-b")])[query_of("team-b")].fault == ""
    now[0] += 10
    assert reader.read([query_of("team-a")])[query_of("team-a")].fault == ""


def test_few_ordinary_pods_are_read_whole_by_one_request(played: LargePods) -> None:
    played.pods["team-a"] = [large_pod(number, 5_000) for number in range(10)]
    answer = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert [SUMMARY in pod for pod in answer.objects] == [False] * 10
    assert len(played.asked) == 1


def test_pods_that_are_too_large_to_be_read_are_said(played: LargePods, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hooks.server.clients.workload_pods.POD_BYTES", MIB // 4)
    played.pods["team-a"] = [large_pod(number, LARGE) for number in range(20)]
    answer = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert (answer.objects, answer.fault) == ((), "of a pod, the answer has more than 256 KiB")
    assert played.sent["team-a"] <= OF_ONE_READ + 5 * SOCKETS


def test_metadata_that_is_too_large_is_said(played: LargePods) -> None:
    for number in range(20):
        pod = large_pod(number, 10)
        pod["metadata"]["annotations"] = {"a": "x" * 250_000}
        played.pods.setdefault("team-a", []).append(pod)
    answer = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert (answer.objects, answer.fault) == ((), "the answer has more than 2 MiB")


def test_old_pods_are_known_by_one_of_each_revision(played: LargePods) -> None:
    pods = [large_pod(number, LARGE) for number in range(60)]
    for number, pod in enumerate(pods):
        generation = "old" if number < 50 else "new"
        pod["metadata"]["labels"]["pod-template-hash"] = generation
        pod["spec"]["containers"][0]["env"].append({"name": "DYN_NAMESPACE_WORKER_SUFFIX", "value": generation})
    played.pods["team-a"] = pods
    found = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert (len(found.objects), found.fault) == (60, "")
    said = [pod["spec"]["containers"][0]["env"][-1]["value"] for pod in found.objects]
    assert said == ["old"] * 50 + ["new"] * 10


def test_pods_of_a_revision_that_is_not_read_are_left_out_and_said(played: LargePods) -> None:
    pods = [large_pod(number, LARGE) for number in range(20)]
    for number, pod in enumerate(pods):
        pod["metadata"]["labels"]["pod-template-hash"] = str(number % 5)
    played.pods["team-a"] = pods
    found = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert (len(found.objects), found.fault) == (12, "they have more than 3 templates")


def test_rows_leave_out_pods_that_have_ended(played: LargePods) -> None:
    ended = [large_pod(number, LARGE, phase="Failed") for number in range(90)]
    played.pods["team-a"] = [*ended, *(large_pod(number, LARGE) for number in range(90, 95))]
    found = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert len(found.objects) == 5


def test_server_without_tables_is_believed_within_the_bound(played: LargePods, monkeypatch: pytest.MonkeyPatch) -> None:
    played.pods["team-a"] = [large_pod(number, 1000) for number in range(50)]
    monkeypatch.setattr("hooks.server.clients.workload_pods.TABLE", "application/json")
    found = QueryReader(played.server).read([query_of("team-a")])[query_of("team-a")]
    assert (len(found.objects), found.fault) == (50, "")
    assert re.search(rf"limit={MOST_ROWS}&", played.asked[-1])
