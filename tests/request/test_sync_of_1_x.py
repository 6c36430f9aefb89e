"""The sync of a request whose profiler is of Dynamo 1.x: what is read before, its progress, and guesses."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.language.versions import convert
from hooks.request.spec.names import output_config_map_name
from hooks.request.sync import sync
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer
from hooks.wire.metacontroller.queries import ObjectSource, answer_with
from tests import make
from tests.request import world
from tests.request.test_graph_overrides import FOUND
from tests.request.test_profiler_spec import HARDWARE, stored

FILE = contract.PROFILER_FINAL_OUTPUT
LACKS: dict[str, Any] = {"hardware": {}}
Profiled = tuple[Manifest, list[Manifest], list[Manifest]]


def read_from(*objects: Manifest, fault: str = "") -> ObjectSource:
    """A cluster that has these objects beside those of the request, or that nobody may read."""

    def answer(queries: Iterable[ObjectQuery]) -> dict[ObjectQuery, QueryAnswer]:
        return {query: QueryAnswer(objects=tuple(_find(query)), fault=fault) for query in queries}

    def _find(query: ObjectQuery) -> list[Manifest]:
        alike = [one for one in objects if one["kind"] == query.kind.kind and not fault]
        return [one for one in alike if not query.name or one["metadata"]["name"] == query.name]

    return ObjectSource(read=answer)


def ask(
    parent: Manifest,
    children: Iterable[Manifest] = (),
    related: Iterable[Manifest] = (),
    source: ObjectSource | None = None,
    **settings: str,
) -> SyncAnswer:
    """Sync with what is read on demand; of a request of v1beta1 as it is stored."""
    seen = [*related, world.namespace(make.NAMESPACE)]
    request = make.sync_request(parent, children, seen, shown=[contract.GRAPH])
    facts = Facts(now=make.NOW, settings=parse_settings({}, {**world.IMAGE, **settings}))
    return answer_with(sync, source or read_from())(request, facts)


def status(answer: SyncAnswer) -> dict[str, Any]:
    assert answer.status is not None
    return answer.status


def kinds_of(answer: SyncAnswer) -> set[str]:
    return {child["kind"] for child in answer.children}


def profiled(data: dict[str, str] | None = None, *, ended: str = "Complete", **spec: Any) -> Profiled:
    """A request, its Job, and the output ConfigMap with these keys."""
    parent = stored(autoApply=True, **spec)
    job = next(child for child in ask(parent).children if child["kind"] == "Job")
    conditions = [world.condition(ended, message="m")] if ended else []
    children = [make.observed(job, status={"conditions": conditions})]
    uid = {contract.ANNOTATION_REQUEST_UID: "u-qwen"}
    related = [world.config_map(output_config_map_name("qwen"), data, annotations=uid)] if data else []
    return world.after(parent, ask(parent)), children, related


def test_nodes_are_read_before_the_job_is_made_and_kept_in_the_status() -> None:
    answer = ask(stored(**LACKS), source=read_from(world.node("a"), world.node("b")))
    expected = {"gpuSku": "h100_sxm", "vramMb": 81559, "numGpusPerNode": 8, "totalGpus": 16}
    assert status(answer)["hardware"] == expected
    (job,) = [child for child in answer.children if child["kind"] == "Job"]
    assert '"totalGpus":16' in job["spec"]["template"]["spec"]["containers"][0]["args"][1]
    again = ask(world.after(stored(**LACKS), answer), source=read_from())
    assert status(again)["hardware"] == expected, "nodes are read once"


def test_nothing_is_read_where_the_request_says_its_hardware() -> None:
    answer = ask(stored(), source=read_from(fault="nobody may read"))
    assert (status(answer)["state"], answer.queries) == ("Pending", ())
    assert status(answer)["hardware"] == HARDWARE


@pytest.mark.parametrize(
    ("source", "settings", "why"),
    [
        (read_from(), {}, "no node has the labels"),
        (read_from(fault="the hooks may not read Node objects"), {}, "nodes could not be read: the hooks may not read"),
        (read_from(world.node("a")), {"installation": "a"}, "a namespace-restricted installation does not read nodes"),
    ],
    ids=["no nodes", "no rights", "restricted"],
)
def test_hardware_that_cannot_be_read_is_asked_for_by_name(source: ObjectSource, settings: Any, why: str) -> None:
    answer = ask(stored(hardware={"numGpusPerNode": 8}), source=source, **settings)
    kind, reason, text = world.condition_of(answer, "Validation")
    assert (kind, reason) == ("False", "ValidationFailed")
    assert text.startswith(f"spec.hardware: {why}")
    assert text.endswith("; write gpuSku, totalGpus into it")
    assert kinds_of(answer) == set()
    assert answer.resync_after_seconds == (0 if settings else 60)


def test_refused_request_goes_on_when_there_are_nodes() -> None:
    failed = world.after(stored(**LACKS), ask(stored(**LACKS)))
    assert status(ask(failed, source=read_from(world.node("a"))))["state"] == "Pending"


def test_missing_claim_of_the_model_is_refused_before_the_search() -> None:
    parent = stored(modelCache={"pvcName": "models"})
    text = "spec.modelCache.pvcName: PersistentVolumeClaim models not found in namespace default; "
    assert world.condition_of(ask(parent), "Validation")[2].startswith(text)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "models", "namespace": "default"},
    }
    assert status(ask(parent, source=read_from(claim)))["state"] == "Pending"
    assert status(ask(parent, source=read_from(fault="nobody may read")))["state"] == "Pending", "it may be there"


@pytest.mark.parametrize(
    "phase",
    [
        *("Initializing", "SweepingPrefill", "SweepingDecode", "SelectingConfig", "BuildingCurves", "GeneratingDGD"),
        "Done",
    ],
)
def test_phase_of_the_profiler_is_in_the_status_while_it_runs(phase: str) -> None:
    parent, children, related = profiled({"phase": phase, "message": "3/12"}, ended="")
    answer = ask(parent, children, related)
    assert (status(answer)["state"], status(answer)["profilingPhase"]) == ("Profiling", phase)
    assert world.condition_of(answer, "Profiling") == ("False", phase, "Profiling is in progress: 3/12")
    assert convert(world.after(parent, answer), "v1beta1")["status"]["profilingPhase"] == phase


def test_phase_that_nobody_knows_is_left_out() -> None:
    parent, children, related = profiled({"phase": "Dreaming"}, ended="")
    answer = ask(parent, children, related)
    assert "profilingPhase" not in status(answer)
    assert world.condition_of(answer, "Profiling")[1] == "ProfilingRunning"


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        ("Initializing", "InitializingFailed"),
        ("SweepingPrefill", "SweepingPrefillFailed"),
        ("SweepingDecode", "SweepingDecodeFailed"),
        ("SelectingConfig", "SelectingConfigFailed"),
        ("BuildingCurves", "BuildingCurvesFailed"),
        ("GeneratingDGD", "GeneratingDGDFailed"),
        ("", "ProfilingFailed"),
    ],
)
def test_failed_profiler_says_its_phase_and_why(phase: str, reason: str) -> None:
    data = {"phase": phase, "profiler_status": "failed", "profiler_error": "no such model"}
    parent, children, related = profiled(data, ended="Failed")
    answer = ask(parent, children, related)
    assert world.condition_of(answer, "Profiling") == (
        "False",
        reason,
        "profiling job failed: m: no such model",
    )
    assert world.condition_of(answer, "Succeeded")[:2] == ("False", reason)
    assert "profilingPhase" not in status(answer)


def test_progress_alone_is_no_output() -> None:
    parent, children, related = profiled({"phase": "Done"})
    assert status(ask(parent, children, related))["state"] == "Profiling"


def test_graph_is_created_under_the_requests_name() -> None:
    parent, children, related = profiled({FILE: FOUND, "phase": "Done", "profiler_status": "success"})
    answer = ask(parent, children, related)
    (graph,) = [child for child in answer.children if child["kind"] == contract.GRAPH.kind]
    assert graph["metadata"]["name"] == "qwen-dgd"
    beta = convert(world.after(parent, answer), "v1beta1")["status"]
    assert beta["phase"] == "Deploying"
    assert beta["profilingResults"]["selectedConfig"]["metadata"]["name"] == "qwen-dgd"


GUESS = {FILE: FOUND, "unverified": "SLA is unverified (t4): no performance estimates"}


def test_guess_waits_until_it_is_accepted() -> None:
    parent, children, related = profiled(GUESS)
    waiting = ask(parent, children, related)
    assert contract.GRAPH.kind not in kinds_of(waiting)
    assert status(waiting)["state"] == "Ready"
    assert world.condition_of(waiting, "Verified")[:2] == ("False", "Unverified")
    ready = world.condition_of(waiting, "Ready")
    assert ready[:2] == ("False", "WaitingForAcceptance")
    assert ready[2].endswith('annotate the request with nvidia.com/accept-unverified: "true"')
    assert ("Warning", "Unverified") in {(one.type, one.reason) for one in waiting.effects}  # type: ignore[union-attr]
    assert world.condition_of(waiting, "Succeeded") == ("True", "SpecGenerated", ready[2]), "the column says it"
    later = world.after(parent, waiting)
    annotations = {**later["metadata"].get("annotations", {}), contract.ANNOTATION_ACCEPT_UNVERIFIED: "true"}
    accepted = {**later, "metadata": {**later["metadata"], "annotations": annotations}}
    assert contract.GRAPH.kind in kinds_of(ask(accepted, children, related))
    assert contract.GRAPH.kind in kinds_of(ask(accepted, children)), "what the status says is enough"
    assert contract.GRAPH.kind not in kinds_of(ask(later, children))


def test_setting_lets_guesses_be_applied() -> None:
    parent, children, related = profiled(GUESS)
    answer = ask(parent, children, related, unverified_graphs="apply")
    assert contract.GRAPH.kind in kinds_of(answer)
    assert world.condition_of(answer, "Verified")[:2] == ("False", "Unverified")


def test_deleted_graph_is_a_failure_in_v1beta1() -> None:
    parent, children, related = profiled({FILE: FOUND})
    for state in ("pending", "successful"):
        graph = world.graph(state, name="qwen-dgd")
        parent = world.after(parent, ask(parent, [*children, graph], [*related, graph]))
    assert convert(parent, "v1beta1")["status"]["phase"] == "Deployed"
    assert find_condition(parent["status"]["conditions"], "Succeeded")["reason"] == "Deployed"  # type: ignore[index]
    gone = ask(parent, children, related)
    assert status(gone)["state"] == "DeploymentDeleted"
    assert world.condition_of(gone, "Succeeded")[:2] == ("False", "DeploymentDeleted")
    assert convert(world.after(parent, gone), "v1beta1")["status"]["phase"] == "Failed"


def test_replicas_of_the_graph_are_summed() -> None:
    parent, children, related = profiled({FILE: FOUND})
    services = {"a": {"replicas": 2, "availableReplicas": 1}, "b": {"replicas": 1, "readyReplicas": 1}, "c": "odd"}
    graph = world.graph("pending", name="qwen-dgd")
    graph["status"]["services"] = services
    answer = ask(parent, [*children, graph], [*related, graph])
    assert status(answer)["deploymentInfo"] == {"replicas": 3, "availableReplicas": 2}


def test_hardware_of_another_spec_is_an_edit() -> None:
    parent, children, related = profiled({"phase": "Done"}, ended="")
    running = world.after(parent, ask(parent, children, related))
    edited = {**stored(hardware={**HARDWARE, "totalGpus": 4}, autoApply=True), "status": running["status"]}
    answer = ask(edited, children, related)
    assert world.condition_of(answer, "Ready")[1] == "SpecChangeRejected"


def test_kind_of_a_query_is_one_that_the_hooks_may_list() -> None:
    answer = sync(make.sync_request(stored(**LACKS)), make.facts())
    assert {query.kind for query in answer.queries} == {kinds.NODE}
    assert answer.waits
