"""Whoever waits for our objects by kstatus or kubectl waits for our Ready, no more and no less."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.language.crds import apply_defaults
from tests import make
from tests.graph import world
from tests.kstatus import Kstatus, compute, kubectl_waits, store_answer

GOLDEN = Path(__file__).parent / "golden"
SYNCS = sorted(path.parent for path in GOLDEN.glob("*/sync/*/response.yaml"))
KINDS = (contract.GRAPH, contract.COMPONENT, contract.MODEL, contract.GRAPH_REQUEST, contract.SCALING_ADAPTER)
DECORATED = frozenset({contract.MODEL.kind, contract.SCALING_ADAPTER.kind})


def read_call(call: Path) -> Manifest:
    """The parent as it is stored after the answer."""
    request = yaml.load((call / "request.yaml").read_text(), yaml.CSafeLoader)
    answer = yaml.load((call / "response.yaml").read_text(), yaml.CSafeLoader)
    parent = request.get("parent") or request["object"]
    return store_answer(parent, answer["status"], decorator=parent["kind"] in DECORATED)


def ready_of(obj: Manifest) -> dict[str, Any]:
    (ready,) = [condition for condition in obj["status"]["conditions"] if condition["type"] == "Ready"]
    found: dict[str, Any] = ready
    return found


def assert_agreed(obj: Manifest) -> None:
    """Current if and only if Ready is True, and of this generation; kubectl says the same."""
    is_ready = ready_of(obj)["status"] == "True"
    assert ready_of(obj)["observedGeneration"] == obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
    assert (compute(obj) is Kstatus.CURRENT) is is_ready
    assert kubectl_waits(obj) is not is_ready
    later = {**obj, "metadata": {**obj["metadata"], "generation": obj["metadata"]["generation"] + 1}}
    assert compute(later) is Kstatus.IN_PROGRESS
    assert kubectl_waits(later)
    going = {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
    assert compute(going) is Kstatus.TERMINATING


@pytest.mark.parametrize("call", SYNCS, ids=lambda path: "/".join(path.parts[-3:]))
def test_recorded_status_is_what_kstatus_makes_of_it(call: Path) -> None:
    assert_agreed(read_call(call))


def test_recorded_statuses_are_both_ready_and_not() -> None:
    found = {(call.parts[-3], ready_of(read_call(call))["status"]) for call in SYNCS}
    assert {("graph", "True"), ("graph", "False"), ("component", "True"), ("component", "False")} <= found


@pytest.mark.parametrize("call", SYNCS, ids=lambda path: "/".join(path.parts[-3:]))
def test_nothing_says_that_it_is_stalled_or_reconciling(call: Path) -> None:
    types = {condition["type"] for condition in read_call(call)["status"]["conditions"]}
    assert not types & {"Stalled", "Reconciling"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_object_that_no_hook_has_seen_is_not_current(kind: GroupVersionKind) -> None:
    metadata = {"name": "x", "namespace": make.NAMESPACE, "generation": 1}
    stored = apply_defaults({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {}})
    assert compute(stored) is Kstatus.IN_PROGRESS
    assert kubectl_waits(stored)


def test_graph_on_its_way_is_current_at_its_end_alone() -> None:
    """From the first answer to readiness, then a change, as the cluster would bring it about."""
    parent, seen = make.graph(), []
    children: list[Manifest] = []
    for turn in range(6):
        if turn == 3:
            parent = {**make.graph(envs=[{"name": "A", "value": "1"}]), "status": parent["status"]}
            parent["metadata"]["generation"] = 2
            assert compute(parent) is Kstatus.IN_PROGRESS
        answer = world.ask(parent, children)
        assert answer.status is not None
        parent = store_answer(parent, json.loads(json.dumps(answer.status)), decorator=False)
        assert_agreed(parent)
        seen.append(compute(parent))
        applied = world.apply(children, answer.children)
        children = world.run(applied) if turn in {1, 4} else applied
    expected = [Kstatus.IN_PROGRESS, Kstatus.IN_PROGRESS, Kstatus.CURRENT]
    assert seen == expected * 2


def test_refused_spec_is_in_progress_with_all_its_problems() -> None:
    parent = make.graph({"a": {"replicas": -1}, "b": {"replicas": -1}})
    answer = world.ask(parent)
    assert answer.status is not None
    stored = store_answer(parent, answer.status, decorator=False)
    assert compute(stored) is Kstatus.IN_PROGRESS
    assert len(answer.problems) == 2
    assert all(problem.text in ready_of(stored)["message"] for problem in answer.problems)
