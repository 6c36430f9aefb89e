"""Labels, annotations, strategies, accounts and pull secrets of a component."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.wire.policy.rendering_mark import RENDERING_REVISION
from tests import make
from tests.component.render import answer, deployment, only

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
SURGE = "nvidia.com/deployment-rolling-update-max-surge"
UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
STRATEGY = "nvidia.com/deployment-strategy"


def rolling(surge: int | str, unavailable: int | str) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


STRATEGIES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "none": ({}, ROLLING),
    "unknown": ({STRATEGY: "Whatever"}, ROLLING),
    "rolling": ({STRATEGY: "RollingUpdate"}, ROLLING),
    "recreate": ({STRATEGY: "Recreate"}, {"type": "Recreate"}),
    "slow ramp": ({STRATEGY: "RampedSlowRollout"}, rolling(1, 0)),
    "best effort": ({STRATEGY: "BestEffortControlledRollout"}, rolling(0, "20%")),
    "amounts": ({SURGE: "1", UNAVAILABLE: "0"}, rolling(1, 0)),
    "one amount": ({SURGE: "50%"}, rolling("50%", "25%")),
    "amount with zeros in front": ({SURGE: "010%"}, rolling("10%", "25%")),
}


@pytest.mark.parametrize(("annotations", "strategy"), STRATEGIES.values(), ids=STRATEGIES.keys())
def test_deployment_is_rolled_out_as_the_annotations_say(annotations: dict[str, str], strategy: Any) -> None:
    assert deployment({"annotations": annotations})["spec"]["strategy"] == strategy


def test_endpoint_picker_is_recreated_whatever_is_said() -> None:
    spec = {
        "componentType": "epp",
        "eppConfig": {"configMapRef": {"name": "c", "key": "k"}},
        "annotations": {STRATEGY: "RollingUpdate"},
    }
    assert deployment(spec)["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(("given", "replicas"), [(None, 1), (0, 0), (3, 3)])
def test_replicas_absent_are_one(given: int | None, replicas: int) -> None:
    assert deployment({} if given is None else {"replicas": given})["spec"]["replicas"] == replicas


def pod_metadata(spec: dict[str, Any], **settings: str) -> Manifest:
    found: Manifest = deployment(spec, **settings)["spec"]["template"]["metadata"]
    return found


def test_pods_of_a_graphs_worker_carry_the_labels_that_others_select_by() -> None:
    spec = {
        "componentType": "worker",
        "subComponentType": "decode",
        "serviceName": "Decode",
        "labels": {"team": "a"},
        "modelRef": {"name": "Qwen/Qwen3-0.6B"},
    }
    assert pod_metadata(spec)["labels"] == {
        "team": "a",
        "nvidia.com/metrics-enabled": "true",
        "nvidia.com/selector": "c",
        "nvidia.com/dynamo-graph-deployment-name": "g",
        "nvidia.com/dynamo-namespace": "default-g",
        "nvidia.com/dynamo-component": "Decode",
        "nvidia.com/dynamo-component-type": "worker",
        "nvidia.com/dynamo-sub-component-type": "decode",
        "nvidia.com/dynamo-base-model-hash": "fb68f5a6",
        "nvidia.com/dynamo-discovery-backend": "kubernetes",
        "nvidia.com/dynamo-discovery-enabled": "true",
    }


def test_pods_of_a_component_that_stands_alone_carry_an_empty_graph() -> None:
    labels = deployment({}, graph="")["spec"]["template"]["metadata"]["labels"]
    assert labels["nvidia.com/dynamo-graph-deployment-name"] == ""


def test_pods_are_without_discovery_labels_under_etcd() -> None:
    assert not [label for label in pod_metadata({}, discovery_backend="etcd")["labels"] if "discovery" in label]


def test_users_labels_break_no_selector() -> None:
    stolen = {
        "nvidia.com/selector": "x",
        "nvidia.com/dynamo-component": "x",
        "nvidia.com/dynamo-namespace": "x",
        "nvidia.com/dynamo-component-type": "x",
    }
    spec = {"componentType": "worker", "labels": stolen, "extraPodMetadata": {"labels": stolen}}
    found = deployment(spec)["spec"]
    labels = found["template"]["metadata"]["labels"]
    assert found["selector"]["matchLabels"] == {"nvidia.com/selector": "c"}
    assert labels["nvidia.com/selector"] == "c"
    assert "x" not in labels.values()


def test_metrics_label_gives_way_to_the_annotation_and_to_the_user() -> None:
    label = "nvidia.com/metrics-enabled"
    assert label not in pod_metadata({"annotations": {"nvidia.com/enable-metrics": "false"}})["labels"]
    assert pod_metadata({"extraPodMetadata": {"labels": {label: "no"}}})["labels"][label] == "no"


def test_labels_of_the_component_are_copied_but_for_those_of_other_programs() -> None:
    parent = make.component("c", "g", labels={"a": "spec", "b": "spec"})
    parent["metadata"]["labels"] = {
        "a": "meta",
        "controller-uid": "u-g",
        "nvidia.com/dynamo-installation": "team",
    }
    assert only(answer(parent).children, "Deployment")["metadata"]["labels"] == {"a": "meta", "b": "spec"}


OF_RELEASES = {
    "helm.sh/chart": "c-1.2.3",
    "app.kubernetes.io/version": "1.2.3",
    "argocd.argoproj.io/instance": "x",
    "helm.toolkit.fluxcd.io/name": "x",
    "kustomize.toolkit.fluxcd.io/namespace": "x",
}
OF_USERS = {"app.kubernetes.io/name": "x", "helm.sh/charts": "x", "toolkit.fluxcd.io.example/x": "x", "version": "1"}


def test_labels_that_change_with_each_release_stay_off_the_pods_unless_the_spec_has_them() -> None:
    parent = make.component("c", "g", labels={"helm.sh/chart": "spec"})
    parent["metadata"]["labels"] = {**OF_RELEASES, **OF_USERS}
    found = only(answer(parent).children, "Deployment")
    assert found["metadata"]["labels"] == {**OF_RELEASES, **OF_USERS}
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert {key: labels[key] for key in labels if not key.startswith("nvidia.com/")} == {
        **OF_USERS,
        "helm.sh/chart": "spec",
    }


def test_annotations_of_the_service_stay_on_objects_and_those_for_pods_reach_pods() -> None:
    spec = {
        "annotations": {"a": "service", "b": "service", "nvidia.com/restartAt": "r1"},
        "extraPodMetadata": {"annotations": {"b": "pod"}},
        "modelRef": {"name": "M"},
    }
    found = deployment(spec)
    annotations = dict(found["metadata"]["annotations"])
    assert annotations.pop("nvidia.com/dynamo-hooks-rendering").startswith(f"{RENDERING_REVISION}.")
    assert annotations == {
        "a": "service",
        "b": "pod",
        "nvidia.com/restartAt": "r1",
        "nvidia.com/dynamo-base-model": "M",
        "nvidia.com/discovered-for-pods": '{"imagePullSecrets":[]}',
    }
    assert found["spec"]["template"]["metadata"]["annotations"] == {"b": "pod", "nvidia.com/restartAt": "r1"}


EPP = {"componentType": "epp", "eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
PLANNER = {"componentType": "planner"}
OWN = {"extraPodSpec": {"serviceAccountName": "mine"}}
ACCOUNTS: dict[str, tuple[dict[str, Any], str, str, list[Manifest], str]] = {
    "graph under kubernetes discovery": ({}, "g", "kubernetes", [], "g-k8s-service-discovery"),
    "graph under etcd": ({}, "g", "etcd", [], "default"),
    "graph under etcd, labelled account": ({}, "g", "etcd", [make.account("b"), make.account("a")], "a"),
    "planner": (PLANNER, "g", "kubernetes", [], "g-planner"),
    "endpoint picker": (EPP, "g", "kubernetes", [], "g-epp"),
    "user's own": (OWN, "g", "kubernetes", [make.account("a")], "mine"),
    "user's own for a planner": ({**PLANNER, **OWN}, "g", "kubernetes", [], "mine"),
    "by its former name": ({"extraPodSpec": {"serviceAccount": "old"}}, "g", "kubernetes", [], "old"),
    "alone": ({}, "", "kubernetes", [], "default"),
    "alone, labelled account": (
        {},
        "",
        "kubernetes",
        [make.account("b"), make.account("a"), make.account("0", "no")],
        "a",
    ),
    "planner alone": (PLANNER, "", "kubernetes", [], "default"),
}


@pytest.mark.parametrize(("spec", "graph", "discovery", "related", "expected"), ACCOUNTS.values(), ids=ACCOUNTS.keys())
def test_pods_run_under_the_account_that(
    spec: dict[str, Any], graph: str, discovery: str, related: list[Manifest], expected: str
) -> None:
    facts = make.facts(discovery_backend=discovery)
    found = answer(make.component("c", graph, **spec), related=related, facts=facts).children
    pod = only(found, "Deployment")["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == expected
    assert "serviceAccount" not in pod


def pull_secrets(spec: dict[str, Any], *related: Manifest) -> Any:
    found = answer(make.component("c", "g", **spec), related=related).children
    return only(found, "Deployment")["spec"]["template"]["spec"].get("imagePullSecrets")


def image(name: str, **pod: Any) -> dict[str, Any]:
    return {"extraPodSpec": {"mainContainer": {"image": name}, **pod}}


NVCR, HUB = make.pull_secret("z-nvcr", "nvcr.io"), make.pull_secret("hub", "https://index.docker.io/v1/")


def test_pull_secrets_of_the_images_registries_stand_behind_the_users() -> None:
    spec = image(
        "nvcr.io/x/y:1", imagePullSecrets=[{"name": "own"}], initContainers=[{"name": "i", "image": "busybox"}]
    )
    assert pull_secrets(spec, NVCR, HUB, make.pull_secret("other", "ghcr.io")) == [
        {"name": "own"},
        {"name": "hub"},
        {"name": "z-nvcr"},
    ]


def test_pull_secret_that_the_user_names_is_not_named_twice() -> None:
    assert pull_secrets(image("nvcr.io/x", imagePullSecrets=[{"name": "z-nvcr"}]), NVCR) == [{"name": "z-nvcr"}]


@pytest.mark.parametrize(("value", "found"), [("true", None), ("false", [{"name": "hub"}]), ("x", [{"name": "hub"}])])
def test_pull_secrets_are_switched_off_only_by_true(value: str, found: Any) -> None:
    annotations = {"nvidia.com/disable-image-pull-secret-discovery": value}
    assert pull_secrets({**image("busybox"), "annotations": annotations}, HUB) == found


def test_no_pull_secret_is_named_for_another_registry() -> None:
    assert pull_secrets({}, NVCR) is None
