"""Metacontroller's presence, version and flags, and what else acts on the same objects."""

import json
import shlex
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.doctor.checks.metacontroller import check_presence, check_version
from hooks.tools.operating.doctor.checks.metacontroller_flags import check_flags, read_flags
from hooks.tools.operating.doctor.checks.rivals import check_metacontrollers, check_operator
from hooks.tools.operating.doctor.finding import Level
from tests.tools.operating.doctor.parts import (
    GOOD_ARGUMENTS,
    NAMESPACE,
    controller_crds,
    good,
    graph,
    hooks,
    metacontroller,
    only,
    problems,
    workload,
)


def test_missing_crds_mean_that_it_is_not_installed() -> None:
    found = only(check_presence(good(crds={})))
    assert found.finding.startswith("Metacontroller is not installed")
    assert found.remedy.startswith("helm upgrade --install metacontroller oci://")
    assert "--client-go-qps=100" in found.remedy


def test_old_crds_are_found() -> None:
    names = ("spec", "hooks", "sync", "webhook")
    schema: dict[str, Any] = {"properties": {"timeout": {}}}
    for name in reversed(names):
        schema = {"properties": {name: schema}}
    old = {
        name: {**crd, "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
        for name, crd in controller_crds().items()
    }
    found = problems(check_presence(good(crds=old)))
    assert [finding.object for finding in found] == [f"CustomResourceDefinition {name}" for name in sorted(old)]
    assert all("no field for the hooks' token" in finding.finding for finding in found)


def test_pods_that_are_not_ready_are_an_error() -> None:
    found = only(check_presence(good(workloads=(metacontroller(ready=0),))))
    assert (found.level, found.finding) == (Level.ERROR, "none of its pods is ready")


def test_one_that_runs_elsewhere_is_a_warning() -> None:
    assert only(check_presence(good(workloads=(metacontroller(replicas=0),)))).level is Level.WARNING


@pytest.mark.parametrize(
    ("tag", "level"),
    [("v4.17.2", Level.OK), ("4.18.0", Level.OK), ("v4.16.9", Level.ERROR), ("latest", Level.WARNING)],
)
def test_version_comes_from_the_image(tag: str, level: Level) -> None:
    assert [found.level for found in check_version(good(workloads=(metacontroller(tag=tag),)))] == [level]


def test_image_with_a_digest_has_a_version_too() -> None:
    found = metacontroller(tag="v4.17.2@sha256:0123")
    assert [finding.level for finding in check_version(good(workloads=(found,)))] == [Level.OK]


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["--a=1", "-b", "2", "--c", "--d=x=y"], {"a": "1", "b": "2", "c": "true", "d": "x=y"}),
        (["/usr/bin/metacontroller", "--leader-election"], {"leader-election": "true"}),
        ([], {}),
    ],
)
def test_flags_are_read(words: list[str], flags: dict[str, str]) -> None:
    assert read_flags(words) == flags


def test_low_flags_are_one_warning_and_the_remedy_keeps_the_others() -> None:
    found = only(check_flags(good(workloads=(metacontroller("--workers", "3", "--client-go-qps=100", "--x=1"),))))
    assert found.level is Level.WARNING
    assert "--client-go-burst is 10, should be 200" in found.finding
    assert "--workers is 3" in found.finding
    assert "client-go-qps" not in found.finding
    words = shlex.split(found.remedy)
    assert words[:6] == ["kubectl", "--namespace", "metacontroller", "patch", "statefulset", "metacontroller"]
    patch = json.loads(words[-1])
    value = ["--client-go-qps=100", "--x=1", "--client-go-burst=200", "--workers=10"]
    assert patch == [{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": value}]


def test_flags_too_low_for_the_resyncs_are_an_error() -> None:
    parents = tuple(graph(f"g{i}") for i in range(900))
    found = only(check_flags(good(parents=parents, workloads=(metacontroller("--workers=10"),))))
    assert found.level is Level.ERROR
    assert "The resyncs of 900 objects alone need 5.0 requests a second" in found.finding


@pytest.mark.parametrize(
    ("flag", "sentence", "more"),
    [
        ("--apply-strategy=server-side-apply", "--apply-strategy is server-side-apply", {}),
        ("--target-label-selector=team=a", "leaves out the controllers dynamo-request", {}),
        ("--v=1", "2 replicas without --leader-election", {"replicas": 2}),
    ],
)
def test_flags_that_do_not_fit_are_errors(flag: str, sentence: str, more: dict[str, Any]) -> None:
    found = only(check_flags(good(workloads=(metacontroller(*GOOD_ARGUMENTS, flag, **more),))))
    assert found.level is Level.ERROR
    assert sentence in found.finding


def test_leader_election_allows_two_replicas() -> None:
    workloads = (metacontroller(*GOOD_ARGUMENTS, "--leader-election", replicas=2),)
    assert problems(check_flags(good(workloads=workloads))) == []


def test_second_metacontroller_is_found_unless_each_selects_its_own() -> None:
    both = (metacontroller(), metacontroller(name="kubeflow"))
    found = only(check_metacontrollers(good(workloads=both)))
    assert found.remedy == "kubectl --namespace metacontroller scale statefulset kubeflow --replicas=0"
    apart = tuple(metacontroller(f"--target-label-selector=mc={name}", name=name) for name in "ab")
    assert problems(check_metacontrollers(good(workloads=apart))) == []


@pytest.mark.parametrize(
    ("kind", "level"), [("CompositeController", Level.ERROR), ("DecoratorController", Level.WARNING)]
)
def test_other_controller_of_our_kinds_is_found(kind: str, level: Level) -> None:
    rule = {"apiVersion": "nvidia.com/v1alpha1", "resource": "dynamographdeployments"}
    spec = {"parentResource": rule} if kind == "CompositeController" else {"resources": [rule]}
    other = {"kind": kind, "metadata": {"name": "other"}, "spec": spec}
    found = only(check_metacontrollers(good(controllers=(*good().controllers, other))))
    assert (found.level, found.remedy) == (level, f"kubectl delete {kind.lower()} other")


def operator(replicas: int) -> Manifest:
    labels = {"labels": {"app.kubernetes.io/name": "dynamo-operator"}}
    container = {"name": "manager", "image": "kubernetes-operator:0.9.0"}
    return workload("Deployment", "old", "dynamo-old", [container], replicas=replicas, metadata=labels)


def test_go_operator_is_found_by_its_name_while_it_runs() -> None:
    found = only(check_operator(good(workloads=(operator(1),))))
    assert found.remedy.startswith(
        "kubectl --namespace dynamo-old scale deployment old --replicas=0; dynamo-hooks migrate"
    )
    assert problems(check_operator(good(workloads=(operator(0),)))) == []


def test_operator_of_somebody_else_is_none() -> None:
    other = {
        **operator(1),
        "metadata": {"name": "x", "namespace": "y", "labels": {"control-plane": "controller-manager"}},
    }
    assert problems(check_operator(good(workloads=(other,)))) == []


@pytest.mark.parametrize(
    ("service", "policy", "level"),
    [
        ({"name": "old", "namespace": "dynamo-old", "path": "/validate"}, "Fail", Level.ERROR),
        ({"name": "old", "namespace": "dynamo-old", "path": "/validate"}, "Ignore", Level.WARNING),
        ({"name": "x", "namespace": NAMESPACE, "path": "/admission/validate/x"}, "Fail", Level.OK),
    ],
)
def test_webhooks_of_another_program_are_found(service: dict[str, str], policy: str, level: Level) -> None:
    webhook = {"clientConfig": {"service": service}, "failurePolicy": policy, "rules": [{"apiGroups": ["nvidia.com"]}]}
    found = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "w"}, "webhooks": [webhook]}
    assert [finding.level for finding in check_operator(good(webhooks=(found,)))] == [level]


def test_finalizer_that_nobody_removes_is_found() -> None:
    left = graph(finalizers=["nvidia.com/finalizer"])
    found = only(check_operator(good(parents=(left,))))
    assert "deletion never ends" in found.finding
    assert [f.object for f in problems(check_operator(good(parents=(left,), workloads=(operator(1), hooks()))))] == [
        "Deployment dynamo-old/old"
    ]
