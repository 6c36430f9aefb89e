"""The bench of many graphs counts what it says, and its floor brings graphs to Ready."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench.cluster.api_calls import count, count_child_changes, count_first_writes, describe_statuses
from bench.cluster.floor import create_floor, precompute
from bench.cluster.processors import read_memory, read_seconds
from bench.cluster.profiles import REST, sum_parts
from bench.cluster.rules import KINDS, build_crd, read_ready_objects
from bench.cluster.simulated import build_graph, is_ready, simulate
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.wire.metacontroller import install_files
from tests.cluster.audit_log import AuditLog


def entry(verb: str, resource: str, name: str, second: int, **fields: Any) -> str:
    where = {"resource": resource.partition("/")[0], "subresource": resource.partition("/")[2], "name": name}
    return json.dumps(
        {
            "verb": verb,
            "user": {"username": "metacontroller"},
            "objectRef": {**where, "namespace": "bench", "apiGroup": "g"},
            "responseStatus": {"code": 200},
            "stageTimestamp": f"2026-03-01T12:00:{second:02}.000000Z",
            **fields,
        }
    )


def test_log_is_counted_and_split_where_the_last_deployment_exists(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    lines = [
        entry("update", "graphs/status", "bench-00001", 1, requestObject={"status": {"state": "pending"}}),
        entry("update", "graphs/status", "bench-00001", 2, requestObject={"status": {"state": "pending", "a": [1]}}),
        entry("create", "deployments", "bench-00001-a", 3),
        entry("update", "parts/status", "bench-00001-a", 4),
        entry("update", "graphs/status", "bench-00001", 5, requestObject={"status": {"state": "successful", "a": [1]}}),
    ]
    log.write_text("\n".join(lines) + "\nunfinished")
    calls = AuditLog(log).read()
    assert count(calls) == {"update graphs/status": 3, "create deployments": 1, "update parts/status": 1}
    assert count_first_writes(calls) == {"graphs": 2, "parts": 1}
    told = [line.strip() for line in describe_statuses(calls)]
    assert told == [
        f"{calls[0].time % 1000:.3f} graphs/bench-00001: the first",
        f"{calls[1].time % 1000:.3f} graphs/bench-00001",
        "a[0]: - -> 1",
        f"{calls[4].time % 1000:.3f} graphs/bench-00001",
        'state: "pending" -> "successful"',
    ]


def test_changes_of_children_are_their_successful_writes_by_whoever(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    lines = [
        entry("create", "deployments", "bench-00001-a", 1),
        entry("patch", "deployments/status", "bench-00001-a", 2, user={"username": "kube-controller-manager"}),
        entry("update", "dynamocomponentdeployments/status", "bench-00001-a", 3),
        entry("get", "deployments", "bench-00001-a", 4),
        entry("create", "services", "bench-00001-a", 5, responseStatus={"code": 409}),
        entry("update", "dynamographdeployments/status", "bench-00001", 6),
        entry("create", "pods", "bench-00001-a-x", 7),
    ]
    log.write_text("\n".join(lines) + "\n")
    assert count_child_changes(AuditLog(log).read()) == 3


def test_log_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(f"{entry('create', 'deployments', 'bench-00001-a', 1)}\n" * 2)
    log = AuditLog(path)
    assert len(log.read()) == 2
    path.write_text("")
    with pytest.raises(RuntimeError, match="is a new file"):
        log.read()


def test_floor_brings_another_graph_to_ready() -> None:
    client = create_floor(precompute()).test_client()

    def hook(path: str, body: bytes) -> HookAnswer:
        answer = client.post(path, data=body)
        return answer.status_code, dict(answer.headers), answer.data

    controllers = install_files.controllers("http://floor.invalid")
    setup = Setup(hook=hook, controllers=controllers, crds=install_files.crds(), namespaces=("bench",))
    cluster = SimulatedCluster(setup)
    cluster.create(build_graph(7))
    cluster.settle()
    found = [obj for obj in cluster.everything() if obj["kind"].startswith("DynamoGraph")]
    assert [obj["metadata"]["name"] for obj in found] == ["bench-00007"]
    assert is_ready(found[0])


def test_simulation_counts_calls_and_writes() -> None:
    recorder, writes = simulate(2)
    assert writes["create deployments"] == 8
    assert recorder.calls["/component/customize"] == 8
    # one service after another appears and becomes ready here, each in several steps
    assert 2 <= writes["update dynamographdeployments/status"] <= 2 * 21


@pytest.mark.parametrize("with_rules", [True, False])
def test_definition_of_a_group_has_all_rules_or_none(with_rules: bool) -> None:
    crd = build_crd("some", with_rules=with_rules)
    assert crd["metadata"]["name"] == f"dynamographdeployments.{crd['spec']['group']}"
    assert ("x-kubernetes-validations" in orjson.dumps(crd).decode()) == with_rules


def test_changed_objects_differ_in_replicas_or_in_the_status() -> None:
    ready = read_ready_objects()
    assert set(ready) == set(KINDS)
    for objects in ready.values():
        assert objects.changed["spec"] != objects.old["spec"]
        assert objects.status["status"] != objects.old["status"]
        assert {**objects.changed, "spec": 0} == {**objects.old, "spec": 0}
        assert {**objects.status, "status": 0} == {**objects.old, "status": 0}


def test_processor_time_is_summed_by_the_first_part_that_is_in_a_stack() -> None:
    validator = "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel.(*Validator).Validate"
    lines = [
        "Type: cpu",
        "-----------+-----",
        "      20ms   runtime.mallocgc",
        f"             {validator}",
        "             k8s.io/apiextensions-apiserver/pkg/registry/customresource.statusStrategy.ValidateUpdate",
        "-----------+-----",
        "      10ms   runtime.scanobject",
        "             runtime.gcBgMarkWorker",
        "-----------+-----",
        "     1.5ms   syscall.Syscall",
    ]
    found = {part: value for part, value in sum_parts(lines).items() if value}
    assert found == {"garbage collection": 10, "CEL rules": 20, REST: 1.5}


def test_processor_seconds_are_those_of_children_by_program() -> None:
    assert all(seconds >= 0 for seconds in read_seconds().values())
    assert read_seconds().keys() == read_memory().keys()
