"""How the Go operator's objects are recognised."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.migration.upstream import (
    RunningOperator,
    find_running,
    is_left_for,
    is_webhook_configuration,
)

GRAPH = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}}


def operator(*args: str, replicas: int = 1, ready: int = 0, name: str = "dynamo-operator") -> Manifest:
    labels = {"app.kubernetes.io/name": name, "control-plane": "controller-manager"}
    pod = {"containers": [{"name": "proxy"}, {"name": "manager", "args": list(args)}]}
    spec = {"replicas": replicas, "template": {"metadata": {"labels": labels}, "spec": pod}}
    metadata = {"name": "manager", "namespace": "dynamo-system", "labels": labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": spec,
        "status": {"readyReplicas": ready},
    }


@pytest.mark.parametrize(
    ("found", "runs"),
    [
        (operator(), True),
        (operator(replicas=0), False),
        (operator(replicas=0, ready=1), True),
        (operator(name="grove-operator"), False),
    ],
    ids=["wanted", "stopped", "stopping", "another-operator"],
)
def test_operator_runs_if_it_is_wanted_or_has_a_ready_pod(found: Manifest, runs: bool) -> None:
    assert bool(list(find_running([found]))) is runs


@pytest.mark.parametrize(
    ("args", "watched"),
    [
        ((), ""),
        (("--leader-elect", "--restrictedNamespace=team"), "team"),
        (("--restrictedNamespace", "team"), "team"),
    ],
    ids=["cluster", "with-sign", "two-words"],
)
def test_restricted_operator_serves_one_namespace(args: tuple[str, ...], watched: str) -> None:
    (found,) = find_running([operator(*args)])
    assert found == RunningOperator(namespace="dynamo-system", name="manager", watched=watched)


def webhooks(service: str, group: str = "nvidia.com") -> Manifest:
    client = {"service": {"name": service, "namespace": "dynamo-system"}}
    webhook = {"name": "a", "clientConfig": client, "rules": [{"apiGroups": [group]}]}
    return {"metadata": {"name": "x"}, "webhooks": [webhook]}


@pytest.mark.parametrize(
    ("found", "theirs"),
    [
        (webhooks("dynamo-platform-dynamo-operator-webhook-service"), True),
        (webhooks("dynamo-hooks-admission"), False),
        (webhooks("grove-webhook-service", "grove.io"), False),
        ({"metadata": {"name": "x"}}, False),
    ],
    ids=["theirs", "ours", "another-operator", "empty"],
)
def test_webhooks_are_theirs_by_service_and_group(found: Manifest, theirs: bool) -> None:
    assert is_webhook_configuration(found) is theirs


def child(kind: str, name: str, api_version: str = "v1", **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "n", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


RBAC = {"labels": {"app.kubernetes.io/managed-by": "dynamo-operator"}}
CLIQUES = {"template": {"cliques": [{"labels": {"nvidia.com/dynamo-graph-deployment-name": "g"}}]}}


@pytest.mark.parametrize(
    ("found", "is_left"),
    [
        (child("Service", "g-x", metadata={"labels": {"nvidia.com/dynamo-graph-deployment-name": "g"}}), True),
        (child("Service", "g-x", metadata={"labels": {"nvidia.com/dynamo-graph-deployment-name": "h"}}), False),
        (child("Service", "g-x"), False),
        (child("Ingress", "g-x", metadata={"annotations": {"nvidia.com/last-applied-hash": "1"}}), True),
        (child("ServiceAccount", "g-k8s-service-discovery", metadata=RBAC), True),
        (child("ServiceAccount", "g-k8s-service-discovery"), False),
        (child("PodCliqueSet", "g", "grove.io/v1alpha1", spec=CLIQUES), True),
        (child("PodCliqueSet", "g", "grove.io/v1alpha1", spec={"template": {"cliques": [{}]}}), False),
        (child("Deployment", "g", "apps/v1", spec={"selector": {"matchLabels": {"nvidia.com/selector": "g"}}}), True),
        (child("Deployment", "g", "apps/v1", spec={"selector": {"matchLabels": {"nvidia.com/selector": "h"}}}), False),
        (child("PersistentVolumeClaim", "data"), False),
    ],
    ids=[
        "label",
        "other-graph",
        "bare",
        "applied",
        "account",
        "bare-account",
        "cliques",
        "bare-cliques",
        "selector",
        "other-selector",
        "claim",
    ],
)
def test_object_without_owner_is_the_graphs_by_what_it_says(found: Manifest, is_left: bool) -> None:
    assert is_left_for(found, GRAPH) is is_left
