"""Requests of the Go operator: running, finished, and with a graph that they created."""

from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.migration.changes import make_change, refer_beside
from hooks.tools.operating.migration.steps import Action, Phase
from hooks.wire.world.ownership import controller_reference
from tests.tools.operating.migration import left_behind
from tests.tools.operating.migration.left_behind import NAMESPACE, typed
from tests.tools.operating.migration.test_planner import left, plan, steps_of, the_step

SPACE = {**typed(kinds.NAMESPACE), "metadata": {"name": NAMESPACE, "uid": "space"}}
CREATED = {"state": "Deploying", "deployment": {"name": "llm", "namespace": NAMESPACE, "created": True}}
BY_REQUEST = {"dgdr.nvidia.com/name": "sla", "dgdr.nvidia.com/namespace": NAMESPACE}


def request(**status: Any) -> Manifest:
    config = {"profilerImage": "example.com/profiler:1", "config": {"sla": {"ttft": 200}}}
    spec = {"model": "Qwen/Qwen3-0.6B", "backend": "vllm", "autoApply": True, "profilingConfig": config}
    metadata = {"name": "sla", "namespace": NAMESPACE, "uid": "r", "generation": 1}
    return {**typed(contract.GRAPH_REQUEST), "metadata": metadata, "spec": spec, "status": status}


def job_of(parent: Manifest, **status: Any) -> Manifest:
    labels = {"app": "dynamo-profiler", "dgdr": "sla", "nvidia.com/managed-by": "dynamo-operator"}
    job = {**typed(kinds.JOB), "metadata": {"name": "profile-sla", "labels": labels}, "spec": {"template": {}}}
    return {**left_behind.own(job, parent), "status": status}


def test_running_job_is_adopted_and_never_changed() -> None:
    parent = request(state="Profiling")
    made = plan(parent, job_of(parent), SPACE)
    step = the_step(made, kinds.JOB)
    assert step.action is Action.ADOPT
    assert step.change is not None
    assert step.change.owner == controller_reference(parent)
    assert not step.change.is_recorded
    assert made.restarts == 0


def test_job_that_lost_its_owner_is_found_by_its_label() -> None:
    parent = request(state="Profiling")
    job = job_of(parent)
    lost = {**job, "metadata": {**job["metadata"], "ownerReferences": []}}
    assert the_step(plan(parent, lost, SPACE), kinds.JOB).why == "it had lost its owner; child of " + TITLE
    unlabelled = {**lost, "metadata": {**lost["metadata"], "labels": {}, "annotations": {}}}
    assert [step.action for step in steps_of(plan(parent, unlabelled, SPACE), kinds.JOB)] in ([], [Action.LEAVE])


TITLE = "DynamoGraphDeploymentRequest sla"


def test_finished_job_stays() -> None:
    parent = request(state="Ready")
    complete = [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    made = plan(parent, job_of(parent, conditions=complete, completionTime="2026-01-01T00:00:00Z"), SPACE)
    assert the_step(made, kinds.JOB).action is Action.ADOPT


def test_graph_of_a_request_outlives_it() -> None:
    graph, *rest = left()
    labelled = {**graph, "metadata": {**graph["metadata"], "labels": BY_REQUEST}}
    made = plan(request(**CREATED), labelled, *rest, SPACE)
    (step,) = (one for one in steps_of(made, contract.GRAPH) if one.action is not Action.FREE)
    assert step.action is Action.ADOPT
    assert step.change is not None
    assert step.change.owner == controller_reference(request())
    assert step.change.beside == (refer_beside(SPACE),)
    owners = make_change(step.change, labelled)["metadata"]["ownerReferences"]
    assert [one["kind"] for one in owners] == [contract.GRAPH_REQUEST.kind, "Namespace"]
    assert step.phase is Phase.OTHERS
    assert made.restarts == 0


def test_graph_of_an_earlier_request_of_that_name_is_not_taken() -> None:
    graph, *rest = left()
    labelled = {**graph, "metadata": {**graph["metadata"], "labels": BY_REQUEST}}
    made = plan(request(state="Pending"), labelled, *rest, SPACE)
    assert [one.action for one in steps_of(made, contract.GRAPH)] == [Action.FREE]


def test_graph_is_not_taken_without_a_namespace_that_keeps_it() -> None:
    graph, *rest = left()
    labelled = {**graph, "metadata": {**graph["metadata"], "labels": BY_REQUEST}}
    made = plan(request(**CREATED), labelled, *rest)
    assert Action.ADOPT not in {one.action for one in steps_of(made, contract.GRAPH)}
