"""Whole syncs of a request: each state, each failure, what is created, and which Events there are."""

import re
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.k8s.workloads import build_job
from hooks.ground.problems import texts_of
from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.request.plan import profiling_job
from hooks.request.plan.request import plan_request
from hooks.request.seen.observe import observe
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.sync import finalize
from tests import make
from tests.hostile_yaml import DEEP, WIDE
from tests.request import jobs, world
from tests.request.world import OTHER, ask, children, condition_of, events_of

ACCESS = ["RoleBinding/qwen-profiling-binding", "ServiceAccount/qwen-profiling"]
CONDITIONS = ["Ready", "Succeeded", "Validation", "Profiling", "SpecGenerated", "DeploymentReady", "Valid"]
DELETED = "Deployment was deleted by user. Create a new DGDR to redeploy."
REJECTED = (
    "Cannot modify spec in state '{}'. DynamoGraphDeploymentRequest is immutable once profiling starts. Create a new "
    "resource with a different name instead."
)


IGNORED = "the spec was changed after the end, which does nothing: delete the request, and create it again"
HARDWARE = {"sweep": {"aic_system": "h200_sxm"}, "hardware": {"numGpusPerNode": 8}}


def state(answer: Any) -> str:
    return str(answer.status["state"])


def profiled(**spec: Any) -> tuple[Manifest, Manifest]:
    """A request whose Job was seen running, and that Job when it is done."""
    parent = jobs.request(**spec)
    return world.known(parent, [world.job(parent)]), world.job(parent, ended="Complete")


def deployed(**spec: Any) -> tuple[Manifest, Manifest]:
    """A request whose graph is ready, and its Job."""
    parent, job = profiled(autoApply=True, **spec)
    found = [job, world.output()]
    return world.known(parent, found, [*found, world.graph("pending")], [*found, world.graph("successful")]), job


def test_first_answer_asks_for_the_job_and_has_every_condition() -> None:
    answer = ask(jobs.request())
    assert state(answer) == "Pending"
    assert children(answer) == ["Job/profile-qwen", *ACCESS]
    assert [c["type"] for c in answer.status["conditions"]] == CONDITIONS  # type: ignore[index]
    assert condition_of(answer, "Validation") == ("True", "ValidationPassed", "The spec is valid")
    assert condition_of(answer, "Ready") == ("False", "ProfilingPending", "Profiling has not begun")
    assert answer.status["backend"] == "vllm"  # type: ignore[index]
    assert events_of(answer) == [("Normal", "Initialized", "DGDR initialized successfully")]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"sweep": {"use_ai_configurator": True}}, "AIC profiling job created"),
        ({"sweep": {"use_ai_configurator": False}}, "Profiling job created"),
        ({}, "Profiling job created"),
    ],
)
def test_running_job_is_profiling(config: Any, text: str) -> None:
    parent = world.known(jobs.request(config=config), [])
    answer = ask(parent, [world.job(parent)])
    assert state(answer) == "Profiling"
    assert children(answer) == ["Job/profile-qwen", *ACCESS]
    assert "spec" not in answer.children[0], "an existing Job is kept by a stub"
    assert condition_of(answer, "Profiling") == ("False", "ProfilingRunning", "Profiling is in progress")
    assert events_of(answer) == [("Normal", "ProfilingJobCreated", text)]


def test_graph_that_will_be_applied_waits_for_its_spec_while_the_job_runs() -> None:
    parent = world.known(jobs.request(autoApply=True), [])
    answer = ask(parent, [world.job(parent)])
    message = "There is no generated spec to be applied"
    assert condition_of(answer, "DeploymentReady") == ("False", "WaitingForSpec", message)


def test_running_job_needs_nothing_of_what_it_was_made_of() -> None:
    parent = jobs.request(configMapRef={"name": "base"})
    base = world.config_map("base", {"disagg.yaml": "a: b"})
    pending = world.after(parent, ask(parent, related=[base]))
    answer = ask(pending, [world.job(parent, related=[base])], hooks_image="")
    assert state(answer) == "Profiling"
    assert children(answer) == ["Job/profile-qwen", *ACCESS]


def test_trouble_of_a_pod_is_reported_while_the_job_runs() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    parent = jobs.request()
    answer = ask(parent, [world.job(parent)], [world.pod(phase="Pending", profiler=waiting)])
    text = "Pod: p, Container: profiler, Reason: ImagePullBackOff, Message: no such image"
    assert condition_of(answer, "Profiling")[2] == f"Profiling is in progress; {text}"
    assert state(answer) == "Profiling"


def test_generated_graph_is_kept_in_the_status() -> None:
    parent, job = profiled()
    answer = ask(parent, [job], [world.output()])
    assert state(answer) == "Ready"
    assert children(answer) == ["Job/profile-qwen"], "the account's rights end with profiling"
    assert answer.status["generatedDeployment"] == world.generated()  # type: ignore[index]
    assert answer.status["profilingResults"] == "configmap/dgdr-output-qwen"  # type: ignore[index]
    assert condition_of(answer, "Profiling") == ("True", "ProfilingCompleted", "Profiling job completed successfully")
    text = "Generated spec is available in status.generatedDeployment"
    assert condition_of(answer, "SpecGenerated") == ("True", "SpecGenerated", text)
    assert condition_of(answer, "Ready") == ("True", "SpecGenerated", text)
    assert condition_of(answer, "DeploymentReady")[1] == "AutoApplyDisabled"
    assert events_of(answer) == [("Normal", "SpecGenerated", text)]


def test_generated_graph_stays_when_output_and_job_are_gone() -> None:
    parent, job = profiled()
    ready = world.known(parent, [job, world.output()])
    answer = ask(ready)
    assert world.after(ready, answer)["status"] == ready["status"]
    assert children(answer) == []
    assert events_of(answer) == []


def test_output_is_waited_for_when_the_job_is_seen_first() -> None:
    parent, job = profiled()
    answer = ask(parent, [job])
    assert state(answer) == "Profiling"
    assert answer.resync_after_seconds > 0
    assert condition_of(answer, "Profiling")[0] == "True"
    missing = "output ConfigMap dgdr-output-qwen not found - profiling may not have completed yet"
    late = ask(parent, [job], now=world.later(3))
    assert state(late) == "Failed"
    assert condition_of(late, "SpecGenerated") == ("False", "GenerationFailed", missing)
    assert events_of(late)[-1] == ("Warning", "GenerationFailed", missing)


def test_output_of_an_earlier_request_of_the_same_name_does_not_count() -> None:
    parent, job = profiled()
    assert state(ask(parent, [job], [world.output(uid="u-earlier")])) == "Profiling"


def test_output_does_not_count_while_the_job_runs() -> None:
    parent = jobs.request()
    assert state(ask(parent, [world.job(parent)], [world.output()])) == "Profiling"


@pytest.mark.parametrize(
    ("spec", "output", "message"),
    [
        ({}, world.output(key="other.yaml"), "key config_with_planner.yaml not found in ConfigMap dgdr-output-qwen"),
        (
            {"useMocker": True},
            world.output(),
            "key mocker_config_with_planner.yaml not found in ConfigMap dgdr-output-qwen",
        ),
        ({}, world.output("a: b"), "no DynamoGraphDeployment found in YAML content"),
        (
            {},
            world.output("a: ["),
            "failed to parse YAML content: line 2 of key config_with_planner.yaml in ConfigMap dgdr-output-qwen: did",
        ),
        (
            {"deploymentOverrides": {"name": "n" * 60}},
            world.output(),
            f"the graph cannot be named {'n' * 60}: spec.services[Frontend]: the name",
        ),
    ],
)
def test_unusable_output_fails_for_good(spec: Any, output: Manifest, message: str) -> None:
    parent, job = profiled(**spec)
    answer = ask(parent, [job], [output])
    assert state(answer) == "Failed"
    assert condition_of(answer, "SpecGenerated")[1] == "GenerationFailed"
    assert condition_of(answer, "SpecGenerated")[2].startswith(message)
    assert condition_of(answer, "Ready") == condition_of(answer, "SpecGenerated")
    again = ask(world.after(parent, answer), [job], [world.output()])
    assert state(again) == "Failed", "a failure is final"
    assert again.status == answer.status
    assert events_of(again) == []


@pytest.mark.parametrize("text", [*DEEP.values(), *WIDE.values()], ids=[*DEEP, *WIDE])
def test_output_beyond_a_bound_fails_with_the_name_of_its_config_map(text: str) -> None:
    parent, job = profiled()
    answer = ask(parent, [job], [world.output(text)])
    assert state(answer) == "Failed"
    begin, message = condition_of(answer, "SpecGenerated")[2].split(" in ConfigMap dgdr-output-qwen: ")
    assert re.fullmatch(r"failed to parse YAML content: line \d+ of key config_with_planner.yaml", begin)
    assert re.match("it is nested more than|it has more than|it has %TAG|its aliases stand for more than", message)


@pytest.mark.parametrize("text", [DEEP["brackets"], WIDE["aliases of aliases"]], ids=["deep", "wide"])
def test_output_that_becomes_hostile_changes_nothing_of_a_running_graph(text: str) -> None:
    parent, job = profiled(autoApply=True)
    running = world.after(parent, ask(parent, [job], [along("a")]))
    created = ask(running, [job, world.graph()], [along("a")])
    (beside,) = [make.observed(child) for child in created.children if child["kind"] == "ConfigMap"]
    running = world.after(running, created)
    observed = [job, beside, world.graph("successful")]
    assert ask(running, observed, [world.output(text)]) == ask(running, observed, [along("a")])


PROFILER = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
COPIER = {"terminated": {"exitCode": 1, "reason": "Error", "message": "the profiler failed"}}


@pytest.mark.parametrize(
    ("pods", "details"),
    [
        ([], ""),
        ([world.pod(profiler=PROFILER)], ". Details: Pod: p, Container: profiler, ExitCode: 137, Reason: OOMKilled"),
        (
            [world.pod(profiler=PROFILER, output_copier=COPIER)],
            ". Details: Pod: p, Container: profiler, ExitCode: 137, Reason: OOMKilled",
        ),
        (
            [world.pod(profiler={"terminated": {"exitCode": 0}}, output_copier=COPIER)],
            ". Details: Pod: p, Container: output-copier, ExitCode: 1, Reason: Error, Message: the profiler failed",
        ),
        ([{**world.pod(), "status": {"phase": "Failed", "reason": "Evicted"}}], ". Details: Pod: p, Reason: Evicted"),
        ([{**world.pod(profiler=PROFILER), "metadata": {"name": "of another Job"}}], ""),
    ],
    ids=["no pods", "profiler", "profiler before copier", "copier", "evicted", "another Job's pod"],
)
@pytest.mark.parametrize("ended", ["Failed", "FailureTarget"])
def test_failed_job_fails_at_once_and_says_where(pods: list[Manifest], details: str, ended: str) -> None:
    parent, _ = profiled()
    answer = ask(parent, [world.job(parent, ended=ended, message="Job has failed")], pods)
    text = f"profiling job failed: Job has failed{details}"
    assert state(answer) == "Failed"
    assert condition_of(answer, "Profiling") == ("False", "ProfilingFailed", text)
    assert events_of(answer) == [("Warning", "ProfilingCheckFailed", text)]
    assert children(answer) == ["Job/profile-qwen"], "the failed Job stays for its log"


def test_deleted_job_fails_while_it_was_needed() -> None:
    parent, _ = profiled()
    answer = ask(parent)
    assert state(answer) == "Failed"
    text = "profiling job failed: Job profile-qwen was deleted before its output was found"
    assert condition_of(answer, "Profiling") == ("False", "ProfilingFailed", text)
    assert children(answer) == []


def test_graph_is_created_beside_the_request_and_anchored_to_its_namespace() -> None:
    parent, job = profiled(autoApply=True)
    answer = ask(parent, [job], [world.output()])
    assert state(answer) == "Deploying"
    assert children(answer) == ["DynamoGraphDeployment/found", "Job/profile-qwen"]
    metadata = answer.children[0]["metadata"]
    assert metadata["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "u-default"}
    ]
    assert metadata["labels"] == {
        "dgdr.nvidia.com/name": "qwen",
        "dgdr.nvidia.com/namespace": "default",
        "nvidia.com/managed-by": "dynamo-operator",
    }
    assert answer.children[0]["spec"] == world.generated()["spec"]
    assert condition_of(answer, "SpecGenerated")[2] == "DynamoGraphDeployment spec generated successfully"
    assert "deployment" not in answer.status, "the status names nothing that was not observed"  # type: ignore[operator]


def test_release_of_the_request_is_that_of_all_services_of_the_created_graph() -> None:
    parent, job = profiled(autoApply=True, runtimeVersionOverride="0.9.1")
    answer = ask(parent, [job], [world.output()])
    services = answer.children[0]["spec"]["services"]
    assert {name: one["runtimeVersionOverride"] for name, one in services.items()} == {
        "Frontend": "0.9.1",
        "Worker": "0.9.1",
    }
    assert answer.status["generatedDeployment"] == world.generated()  # type: ignore[index]


def test_release_that_is_no_version_is_refused() -> None:
    answer = ask(jobs.request(runtimeVersionOverride="1.6"))
    assert texts_of(answer.problems) == ('spec.runtimeVersionOverride must be a semantic version such as "1.1.0"',)


def test_overrides_are_laid_over_the_created_graph_only() -> None:
    overrides = {
        "name": "mine",
        "namespace": OTHER,
        "labels": {"team": "a", "nvidia.com/managed-by": "me"},
        "annotations": {"note": "b"},
        "workersImage": "img:2",
    }
    parent, job = profiled(autoApply=True, deploymentOverrides=overrides)
    answer = ask(parent, [job], [world.output()])
    assert children(answer) == [f"DynamoGraphDeployment/{OTHER}/mine", "Job/profile-qwen"]
    graph = answer.children[0]
    assert graph["metadata"]["labels"]["team"] == "a"
    assert graph["metadata"]["labels"]["nvidia.com/managed-by"] == "me"
    assert graph["metadata"]["annotations"] == {"note": "b"}
    assert graph["metadata"]["ownerReferences"][0]["uid"] == f"u-{OTHER}"
    images = {name: s["extraPodSpec"]["mainContainer"]["image"] for name, s in graph["spec"]["services"].items()}
    assert images == {"Frontend": "img:1", "Worker": "img:2"}
    assert answer.status["generatedDeployment"] == world.generated()  # type: ignore[index]


def along(*names: str) -> Manifest:
    """An output with ConfigMaps beside the graph."""
    config_maps = [world.config_map(name, {"a": "b"}) for name in names]
    return world.output(yaml.safe_dump_all([*config_maps, world.generated()]))


def test_config_maps_are_created_after_the_graph_that_owns_them_and_never_changed() -> None:
    parent, job = profiled(autoApply=True)
    first = ask(parent, [job], [along("a", "b")])
    assert not any(child["kind"] == "ConfigMap" for child in first.children)
    parent, graph = world.after(parent, first), world.graph(uid="u-found")
    answer = ask(parent, [job, graph], [along("a", "b")])
    created = [child for child in answer.children if child["kind"] == "ConfigMap"]
    assert [(child["metadata"]["name"], child["data"]) for child in created] == [("a", {"a": "b"}), ("b", {"a": "b"})]
    assert created[0]["metadata"]["ownerReferences"] == [
        {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "found", "uid": "u-found"}
    ]
    mine, theirs = make.observed(created[0]), world.config_map("b", {"of": "somebody else"})
    again = ask(world.after(parent, answer), [job, graph, mine], [along("a", "b"), theirs])
    (kept,) = [child for child in again.children if child["kind"] == "ConfigMap"]
    assert kept == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


def test_config_maps_in_another_namespace_are_created_once() -> None:
    parent, job = profiled(autoApply=True, deploymentOverrides={"namespace": OTHER})
    parent, graph = world.after(parent, ask(parent, [job], [along("a")])), world.graph(namespace=OTHER)
    answer = ask(parent, [job, graph], [along("a")])
    assert f"ConfigMap/{OTHER}/a" in children(answer)
    there = world.config_map("a", {"a": "b"}, namespace=OTHER)
    again = ask(world.after(parent, answer), [job, graph], [along("a"), there])
    assert f"ConfigMap/{OTHER}/a" not in children(again)


def test_config_maps_for_a_graph_that_the_user_applies_belong_to_the_namespace() -> None:
    parent, job = profiled()
    (found,) = [child for child in ask(parent, [job], [along("a")]).children if child["kind"] == "ConfigMap"]
    assert [owner["kind"] for owner in found["metadata"]["ownerReferences"]] == ["Namespace"]


def test_request_that_names_another_namespace_is_refused_before_it_is_profiled() -> None:
    parent = jobs.request(autoApply=True, deploymentOverrides={"namespace": "kube-system"})
    answer = ask(parent, request_namespaces="own")
    assert (state(answer), children(answer)) == ("Failed", [])
    assert "spec.deploymentOverrides.namespace: is kube-system" in condition_of(answer, "Validation")[2]


def test_profiled_request_creates_nothing_in_a_namespace_that_is_not_allowed() -> None:
    """The setting was changed meanwhile, or somebody made a Job and a status that let the request seem profiled."""
    parent, job = profiled(autoApply=True, deploymentOverrides={"namespace": OTHER})
    answer = ask(parent, [job], [along("a")], request_namespaces="own")
    assert (state(answer), children(answer)) == ("Failed", ["Job/profile-qwen"])
    assert (
        f"spec.deploymentOverrides.namespace: is {OTHER}: a request creates" in condition_of(answer, "SpecGenerated")[2]
    )


def test_status_leads_no_graph_and_no_config_map_into_another_namespace() -> None:
    parent, job = profiled(autoApply=True)
    forged = {"created": True, "name": "x", "namespace": OTHER, "state": "successful"}
    status = {**parent["status"], "state": "Deploying", "deployment": forged, "generatedDeployment": world.generated()}
    graphs: tuple[list[Any], ...] = ([], [world.graph("successful", namespace=OTHER, name="x")])
    for found in graphs:
        answer = ask({**parent, "status": status}, [job], [along("a"), *found], request_namespaces="own")
        assert children(answer) == ["Job/profile-qwen"]


def test_graph_that_is_in_another_namespace_already_is_followed_when_the_setting_no_longer_allows_it() -> None:
    parent, job = profiled(autoApply=True, deploymentOverrides={"namespace": OTHER})
    graph = world.graph("successful", namespace=OTHER)
    answer = ask(parent, [job], [world.output(), graph], request_namespaces="own")
    assert state(answer) == "Ready"


def test_graph_waits_for_its_namespace() -> None:
    parent, job = profiled(autoApply=True, deploymentOverrides={"namespace": "absent"})
    answer = ask(parent, [job], [world.output()])
    assert state(answer) == "Deploying"
    text = "DGD found cannot be created: namespace absent not found; create it"
    assert condition_of(answer, "DeploymentReady") == ("False", "DeploymentCreationFailed", text)
    assert children(answer) == ["Job/profile-qwen"]


def test_graph_that_cannot_be_created_is_reported_after_a_while() -> None:
    parent, job = profiled(autoApply=True)
    waiting = world.known(parent, [job, world.output()])
    answer = ask(waiting, [job], [world.output()], now=world.later(6))
    assert condition_of(answer, "DeploymentReady")[1] == "DeploymentCreationFailed"
    assert "DynamoGraphDeployment/found" in children(answer), "it is tried again all the same"


def test_graph_that_comes_up_is_followed() -> None:
    parent, job = profiled(autoApply=True)
    creating = world.known(parent, [job, world.output()])
    graph = world.graph("pending", message="g-w: x")
    answer = ask(creating, [job, graph], [world.output(), graph])
    assert state(answer) == "Deploying"
    assert answer.status["deployment"] == {  # type: ignore[index]
        "name": "found",
        "namespace": "default",
        "state": "pending",
        "created": True,
    }
    text = "DGD found created, waiting for Ready: g-w: x"
    assert condition_of(answer, "DeploymentReady") == ("False", "DeploymentInProgress", text)
    assert events_of(answer) == [("Normal", "DeploymentCreated", "DGD found created, waiting for Ready")]
    assert "spec" not in answer.children[0], "a user's edit is never reverted"
    late = ask(world.after(creating, answer), [job, graph], [world.output(), graph], now=world.later(61))
    assert state(late) == "Deploying"
    assert condition_of(late, "DeploymentReady")[1] == "DeploymentOverdue"
    old = {**graph, "metadata": {**graph["metadata"], "creationTimestamp": "2026-01-01T00:00:00Z"}}
    fresh = ask(world.after(creating, answer), [job, old], [world.output(), old])
    assert condition_of(fresh, "DeploymentReady")[1] == "DeploymentInProgress", "an older graph has its hour too"


def test_successful_graph_makes_the_request_ready() -> None:
    parent, job = profiled(autoApply=True)
    pending = world.known(parent, [job, world.output()], [job, world.output(), world.graph("pending")])
    graph = world.graph("successful")
    answer = ask(pending, [job, graph], [world.output(), graph])
    assert state(answer) == "Ready"
    assert condition_of(answer, "DeploymentReady") == ("True", "DeploymentReady", "DGD found is ready")
    assert condition_of(answer, "Ready")[0] == "True"
    assert events_of(answer) == [("Normal", "DeploymentReady", "DGD found is ready")]


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"generation": 2}, "its generation 2 is not processed yet, only 1"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "it is being deleted"),
    ],
    ids=["newer generation", "being deleted"],
)
def test_request_is_not_ready_while_the_status_of_its_graph_is_outdated(metadata: dict[str, Any], why: str) -> None:
    parent, job = deployed()
    graph = world.graph("successful", **metadata)
    answer = ask(parent, [job, graph], [world.output(), graph])
    assert state(answer) == "Deploying"
    text = f"Deployment degraded to pending: {why}"
    assert condition_of(answer, "DeploymentReady") == ("False", "DeploymentDegraded", text)
    assert condition_of(answer, "Ready")[0] == "False"


def test_degraded_graph_is_reported_and_comes_back() -> None:
    parent, job = deployed()
    graph = world.graph("failed", message="g-w: x")
    answer = ask(parent, [job, graph], [world.output(), graph])
    assert state(answer) == "Deploying"
    text = "Deployment degraded to failed: g-w: x"
    assert condition_of(answer, "DeploymentReady") == ("False", "DeploymentDegraded", text)
    degraded = ("Warning", "DeploymentDegraded", "DynamoGraphDeployment found degraded from Ready to failed")
    assert events_of(answer) == [degraded]
    after = world.after(parent, answer)
    still = ask(after, [job, graph], [world.output(), graph])
    assert world.after(after, still)["status"] == after["status"]
    graph = world.graph("successful")
    assert state(ask(after, [job, graph], [world.output(), graph])) == "Ready"


def test_event_is_one_however_often_the_same_change_is_seen() -> None:
    parent, job = deployed()
    graph = world.graph("failed")
    first = ask(parent, [job, graph], [world.output(), graph])
    stale = ask(parent, [job, graph], [world.output(), graph], now=world.later(1))
    assert first.effects == stale.effects
    recovered = ask(world.after(parent, first), [job, world.graph("successful")], [world.graph("successful")])
    assert [event[1] for event in events_of(recovered)] == ["DeploymentReady"]
    again = ask(world.after(parent, recovered), [job, graph], [world.output(), graph], now=world.later(2))
    assert events_of(again) == events_of(first)
    third = ask(world.after(parent, ask(parent, [job, graph], [graph], now=world.later(1))), [job, graph], [graph])
    assert events_of(third) == []


@pytest.mark.parametrize("seen", ["pending", "successful"])
def test_graph_deleted_by_the_user_is_not_created_again(seen: str) -> None:
    parent, job = profiled(autoApply=True)
    found = [job, world.output()]
    parent = world.known(parent, found, [*found, world.graph(seen)])
    answer = ask(parent, [job], [world.output()])
    assert state(answer) == "DeploymentDeleted"
    assert condition_of(answer, "DeploymentReady") == ("False", "DeploymentDeleted", DELETED)
    assert answer.status["deployment"]["state"] == "Deleted"  # type: ignore[index]
    assert events_of(answer) == [("Warning", "DeploymentDeleted", f"DynamoGraphDeployment found: {DELETED}")]
    assert children(answer) == ["Job/profile-qwen"]
    after = world.after(parent, answer)
    again = ask(after, [job, world.graph("successful")], [world.output(), world.graph("successful")])
    assert world.after(after, again)["status"] == after["status"], "the state is final"
    assert "DynamoGraphDeployment/found" in children(again), "what exists is never deleted"


@pytest.mark.parametrize(("request_name", "expected"), [("qwen", "Ready"), ("other", "DeploymentDeleted")])
def test_graph_that_a_go_operator_created_for_the_request_is_not_missed(request_name: str, expected: str) -> None:
    created = {"name": "found", "namespace": make.NAMESPACE, "created": True, "state": "successful"}
    parent = {**jobs.request(autoApply=True), "status": {"state": "Ready", "deployment": created}}
    labels = {"dgdr.nvidia.com/name": request_name, "dgdr.nvidia.com/namespace": make.NAMESPACE}
    graph = world.graph("successful", ours=False)
    live = {**graph, "metadata": {**graph["metadata"], "labels": labels}}
    answer = ask(parent, [], [live])
    assert state(answer) == expected
    assert children(answer) == []


def test_graph_in_another_namespace_is_followed_though_it_is_no_child() -> None:
    parent, job = profiled(autoApply=True, deploymentOverrides={"namespace": OTHER})
    creating = world.known(parent, [job, world.output()])
    graph = world.graph("successful", namespace=OTHER)
    answer = ask(creating, [job], [world.output(), graph])
    assert state(answer) == "Ready"
    assert children(answer) == ["Job/profile-qwen"], "it is not created again"
    gone = ask(world.after(creating, answer), [job], [world.output()])
    assert state(gone) == "DeploymentDeleted"


def test_graph_that_was_there_before_is_used_as_it_is() -> None:
    parent, job = profiled(autoApply=True)
    graph = world.graph("pending", ours=False)
    answer = ask(parent, [job], [world.output(), graph])
    assert state(answer) == "Deploying"
    assert children(answer) == ["Job/profile-qwen"]
    assert (
        condition_of(answer, "DeploymentReady")[2]
        == "DGD found already existed and is used unchanged, waiting for Ready"
    )
    assert [event[1] for event in events_of(answer)] == ["SpecGenerated"]


@pytest.mark.parametrize("status", [None, {"state": "nonsense"}], ids=["lost", "unknown state"])
def test_lost_status_is_found_again(status: Any) -> None:
    parent, job = deployed()
    lost = {**parent, "status": status}
    graph = world.graph("successful")
    answer = ask(lost, [job, graph], [world.output(), graph])
    assert world.after(parent, answer)["status"] == parent["status"]


NOT_DISCOVERED = (
    "GPU hardware info required but auto-discovery failed. Add hardware config to spec.profilingConfig.config "
    "(hardware.numGpusPerNode, hardware.gpuModel, hardware.gpuVramMib)"
)
EDITED = {"model": "another/model"}


def edited(parent: Manifest, **spec: Any) -> Manifest:
    metadata = {**parent["metadata"], "generation": parent["metadata"]["generation"] + 1}
    return {**parent, "metadata": metadata, "spec": {**parent["spec"], **spec}}


def test_edit_before_the_job_exists_is_used() -> None:
    pending = world.known(jobs.request(), [])
    answer = ask(edited(pending, **EDITED))
    assert state(answer) == "Pending"
    job = answer.children[0]
    assert "another/model" in str(job["spec"]["template"]["spec"]["containers"][0]["args"])


@pytest.mark.parametrize("is_lost", [False, True], ids=["status known", "status lost"])
def test_edit_after_profiling_began_is_refused_until_it_is_undone(is_lost: bool) -> None:
    parent, _ = profiled()
    job = world.job(parent)
    changed = edited(parent, **EDITED)
    changed = {**changed, "status": None} if is_lost else changed
    answer = ask(changed, [job])
    assert state(answer) == "Profiling"
    assert children(answer) == ["Job/profile-qwen"]
    assert condition_of(answer, "Validation")[:2] == ("False", "SpecChangeRejected")
    assert condition_of(answer, "Ready")[2].startswith(REJECTED.format("Profiling"))
    assert events_of(answer) == [("Warning", "SpecChangeRejected", REJECTED.format("Profiling"))]
    frozen = world.after(changed, answer)
    assert state(ask(frozen, [world.job(parent, ended="Complete")], [world.output()])) == "Profiling"
    assert events_of(ask(frozen, [job])) == [], "it is reported once"
    assert events_of(ask(edited(frozen, model="a third"), [job])) == events_of(answer), "and again for another edit"
    undone = edited(frozen, model=parent["spec"]["model"])
    thawed = ask(undone, [world.job(parent, ended="Complete")], [world.output()])
    assert state(thawed) == "Ready"
    assert condition_of(thawed, "Validation")[0] == "True"


def test_edit_of_a_ready_request_is_refused_without_its_job() -> None:
    parent, _ = deployed()
    graph = world.graph("successful")
    answer = ask(edited(parent, autoApply=False), [graph], [graph])
    assert state(answer) == "Ready"
    assert condition_of(answer, "Validation")[1] == "SpecChangeRejected"
    assert children(answer) == ["DynamoGraphDeployment/found"], "the graph is kept"


def test_default_written_out_is_no_edit() -> None:
    parent, job = deployed()
    graph = world.graph("successful")
    answer = ask(edited(parent, useMocker=False), [job, graph], [world.output(), graph])
    assert condition_of(answer, "Validation")[0] == "True"


def test_edit_of_a_failed_request_has_no_effect() -> None:
    parent, _ = profiled()
    failed = world.known(parent, [world.job(parent, ended="Failed")])
    answer = ask(edited(failed, **EDITED))
    assert state(answer) == "Failed"
    assert condition_of(answer, "Profiling") == condition_of(ask(failed), "Profiling")
    assert events_of(answer) == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"profilerImage": "p:1.6.1@sha256:12", "config": HARDWARE},
            (
                "spec.profilingConfig.profilerImage: names an image by its digest; the profiler would give the same "
                "digest to images of workers, which do not exist; name the image by a tag"
            ),
        ),
        ({"configMapRef": {"name": "base"}}, "ConfigMap base not found in namespace default"),
        (
            {"enableGpuDiscovery": True},
            f"{NOT_DISCOVERED}: no nodes found in cluster",
        ),
    ],
)
def test_refused_spec_fails_and_recovers_when_it_is_put_right(spec: Any, message: str) -> None:
    parent = jobs.request(**spec)
    answer = ask(parent)
    assert state(answer) == "Failed"
    assert children(answer) == []
    assert condition_of(answer, "Validation") == ("False", "ValidationFailed", message)
    assert texts_of(answer.problems) == (message,)
    assert events_of(answer) == [("Warning", "ValidationFailed", message)]
    failed = world.after(parent, answer)
    base, node = world.config_map("base", {"disagg.yaml": "a: b"}), world.node("n")
    fixed = {**failed, "spec": jobs.request(**{**spec, "profilerImage": "p"})["spec"]}
    again = ask(fixed, related=[base, node])
    assert state(again) == "Pending"
    assert events_of(again) == [("Normal", "Initialized", "DGDR initialized successfully")]


def test_request_that_profiles_with_a_later_release_stays_as_it_is() -> None:
    parent = jobs.request(profilerImage="p:1.6.1")
    job = world.job(jobs.request())
    running = world.after(parent, ask(parent, [job]))
    assert state(ask(running, [job])) == "Profiling"
    assert ask(running).problems == ()


def test_key_missing_in_the_base_graph_is_named() -> None:
    parent = jobs.request(configMapRef={"name": "base", "key": "k"})
    answer = ask(parent, related=[world.config_map("base", {"disagg.yaml": "a: b"})])
    assert condition_of(answer, "Validation")[2] == "key k not found in ConfigMap base"


def test_job_that_cannot_be_built_is_reported() -> None:
    answer = ask(jobs.request(), hooks_image="")
    assert state(answer) == "Failed"
    assert condition_of(answer, "Profiling")[1] == "JobCreationFailed"
    assert "hooks_image" in condition_of(answer, "Profiling")[2]
    assert [event[1] for event in events_of(answer)] == ["Initialized", "ProfilingJobFailed"]
    assert state(ask(world.after(jobs.request(), answer))) == "Pending", "it is tried again"


def test_failure_that_another_operator_found_is_final() -> None:
    found = [{"type": "Validation", "status": "False", "reason": "ValidationFailed", "message": "m"}]
    parent = {**jobs.request(), "status": {"state": "Failed", "conditions": found}}
    answer = ask(parent)
    assert state(answer) == "Failed"
    assert children(answer) == []


def test_job_that_does_not_appear_is_reported_and_tried_again() -> None:
    parent = world.known(jobs.request(), [])
    answer = ask(parent, now=world.later(6))
    assert state(answer) == "Pending"
    assert condition_of(answer, "Profiling")[:2] == ("False", "JobCreationFailed")
    assert "Job/profile-qwen" in children(answer)


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"enableGpuDiscovery": True}, "can only be set to true for cluster-wide operators"),
        ({"deploymentOverrides": {"namespace": OTHER}}, "in the request's own namespace only"),
    ],
)
def test_restricted_installation_refuses_what_reaches_beyond_its_namespace(spec: Any, part: str) -> None:
    answer = ask(jobs.request(**spec), related=[world.node("n")], installation="team-a")
    assert state(answer) == "Failed"
    assert part in condition_of(answer, "Validation")[2]


def test_graph_of_a_restricted_installation_is_its_own() -> None:
    parent, job = profiled(autoApply=True)
    labelled = {**parent, "metadata": {**parent["metadata"], "labels": {contract.LABEL_INSTALLATION: "team-a"}}}
    answer = ask(labelled, [job], [world.output()], installation="team-a")
    assert answer.children[0]["metadata"]["labels"][contract.LABEL_INSTALLATION] == "team-a"


def test_labels_of_another_owner_are_left_behind() -> None:
    foreign = {contract.LABEL_INSTALLATION: "team-b", contract.LABEL_CONTROLLER_UID: "u-other", "kept": "yes"}
    found = world.generated()
    text = yaml.safe_dump({**found, "metadata": {**found["metadata"], "labels": foreign}})
    parent, job = profiled(autoApply=True)
    labels = ask(parent, [job], [world.output(text)]).children[0]["metadata"]["labels"]
    assert labels["kept"] == "yes"
    assert not {contract.LABEL_INSTALLATION, contract.LABEL_CONTROLLER_UID} & labels.keys()


def test_discovered_hardware_goes_into_the_profilers_configuration() -> None:
    answer = ask(jobs.request(enableGpuDiscovery=True), related=[world.node("n")])
    (text,) = [a for a in answer.children[0]["spec"]["template"]["spec"]["containers"][0]["args"] if "sla:" in a]
    for line in ("gpuModel: NVIDIA-H100-80GB-HBM3", "gpuVramMib: 81559", "numGpusPerNode: 8", "system: h100_sxm"):
        assert line in text


def test_hardware_by_hand_needs_no_discovery() -> None:
    config = {"hardware": {"num_gpus_per_node": 8}}
    assert state(ask(jobs.request(config=config, enableGpuDiscovery=True))) == "Pending"


def test_spec_that_cannot_be_read_leaves_everything_as_it_is() -> None:
    parent, _ = profiled()
    job = world.job(parent)
    broken = edited(parent, profilingConfig=[])
    answer = ask(broken, [job])
    assert state(answer) == "Profiling"
    assert children(answer) == ["Job/profile-qwen"]
    assert condition_of(answer, "Validation")[1] == "ValidationFailed"


def test_end_keeps_the_graph_and_asks_for_nothing_new() -> None:
    parent, job = deployed()
    going = {**parent, "metadata": {**parent["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
    answer = finalize(make.sync_request(going, [job, world.graph("successful")]), make.facts())
    assert answer.finalized
    assert children(answer) == ["DynamoGraphDeployment/found", "Job/profile-qwen"]


def test_job_is_built_once_where_it_is_created_and_not_at_all_where_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def count(metadata: Any, **fields: Any) -> Manifest:
        built.append(metadata["name"])
        return build_job(metadata, **fields)

    parent = jobs.request()
    job = world.job(parent)
    monkeypatch.setattr(profiling_job, "build_job", count)
    assert "Job/profile-qwen" in children(ask(parent))
    assert built == ["profile-qwen"]
    assert "Job/profile-qwen" in children(ask(parent, [job]))
    assert "Job/profile-qwen" not in children(ask(jobs.request(profilerImage="")))
    assert built == ["profile-qwen"]


def test_plan_of_a_request_is_a_value() -> None:
    parent = jobs.request()
    request = make.sync_request(parent)
    seen, previous, facts = (
        observe(request),
        PreviousRequestStatus.of(request),
        make.facts(hooks_image=jobs.HOOKS_IMAGE),
    )
    one, other = (plan_request(parse_parent(GraphRequest, parent), seen, previous, facts) for _ in range(2))
    assert one == other
    assert one.job is not None
    assert one.job.spec_hash == one.spec_hash


def test_edit_of_a_failed_request_is_said_to_do_nothing_as_long_as_it_is_there() -> None:
    parent = jobs.request()
    failed = world.known(parent, [world.job(parent, ended="Failed")])
    before = condition_of(ask(failed), "Ready")
    edited = {**failed, "spec": {**failed["spec"], "model": "another/model"}}
    for _ in range(2):
        answer = ask(edited)
        assert (state(answer), children(answer)) == ("Failed", [])
        status, reason, message = condition_of(answer, "Ready")
        assert (status, reason) == before[:2]
        assert message == f"{before[2]}; {IGNORED}"
        edited = {**edited, "status": answer.status}
    undone = ask({**edited, "spec": failed["spec"]})
    assert condition_of(undone, "Ready") == before
