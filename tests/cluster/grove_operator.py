"""Grove's real operator on the cluster, where its binary and its CRDs are found."""

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
import yaml

from tests import third_party
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ADMIN, ControlPlane, install_crds
from tests.cluster.groups import make_certificate
from tests.cluster.groves_kinds import remove_kinds
from tests.cluster.processes import Server, running
from tests.contract.backend import ApiRefused, Manifest
from tests.ports import free_port
from tests.waiting import PATIENCE

PROGRAM = "grove-operator"
EXEMPT = (ADMIN, "controller-manager", "scheduler", "kwok")
"""Whom Grove's authorizer lets change what Grove has made: its own account, and Kubernetes' controllers."""
CRDS = "grove/v0.1.0-alpha.12-rc1"
SECONDS = 120.0
"""Grove looks again every five seconds, and the hooks read pods that nobody tells them of every ten to thirty."""
_REGISTRATION = "admissionregistration.k8s.io/v1"


def find_operator() -> Path | None:
    """Find the operator's binary: $GROVE_OPERATOR, else `grove-operator` on PATH; None when there is none."""
    found = os.environ.get("GROVE_OPERATOR") or shutil.which(PROGRAM)
    return Path(found).resolve() if found else None


needs_operator = pytest.mark.skipif(
    find_operator() is None or not third_party.FOLDER.is_dir(),
    reason="no grove-operator on PATH or in $GROVE_OPERATOR, or no ../shared/crds: only the in-memory cluster plays it",
)


@contextmanager
def running_grove(
    plane: ControlPlane, folder: Path, *, topology: bool = False, authorizer: bool = False
) -> Iterator[Server]:
    """Install Grove's kinds, start its operator with its webhooks, and remove all that at the end."""
    operator, api = find_operator(), plane.client()
    assert operator is not None
    crds = third_party.read_crds(CRDS)
    install_crds(api, crds)
    certificate, webhooks, health = make_certificate(folder), free_port(), free_port()
    configuration = folder / "grove.yaml"
    configuration.write_text(
        yaml.safe_dump(_configure(webhooks, health, certificate.parent, topology=topology, authorizer=authorizer))
    )
    variables = (f"KUBECONFIG={plane.kubeconfig(ADMIN)}", "GROVE_INIT_CONTAINER_IMAGE=grove-initc")
    command = ["env", *variables, str(operator), f"--config={configuration}"]
    if authorizer:
        command = _in_pod(folder, command)
    with running(Server(PROGRAM, command, folder)) as server:
        server.wait_until(lambda: requests.get(f"http://127.0.0.1:{health}/readyz", timeout=PATIENCE).ok)
        registrations = [api.create(document) for document in _register(webhooks, certificate, authorizer=authorizer)]
        wait_for(lambda: _admits(api), "Grove's webhooks answer")
        try:
            yield server
        finally:
            for found in registrations:
                api.delete(_REGISTRATION, found["kind"], found["metadata"]["name"])
            remove_kinds(api, crds)


def _configure(webhooks: int, health: int, certificates: Path, *, topology: bool, authorizer: bool) -> Manifest:
    """The operator's configuration file.

    Source: ai-dynamo/grove, operator/api/config/v1alpha1/types.go.
    """
    at = {"bindAddress": "127.0.0.1"}
    certificate = {"serverCertDir": str(certificates), "certProvisionMode": "manual"}
    syncs = {"concurrentSyncs": 3}
    return {
        "apiVersion": "operator.config.grove.io/v1alpha1",
        "kind": "OperatorConfiguration",
        "runtimeClientConnection": {"qps": 300, "burst": 600},
        "leaderElection": {"enabled": False},
        "server": {
            "webhooks": {**at, "port": webhooks, **certificate},
            "healthProbes": {**at, "port": health},
            "metrics": {**at, "port": free_port()},
        },
        "controllers": {"podCliqueSet": syncs, "podClique": syncs, "podCliqueScalingGroup": syncs},
        "logLevel": "info",
        "logFormat": "json",
        "authorizer": {"enabled": authorizer, "exemptServiceAccountUserNames": list(EXEMPT)},
        "topologyAwareScheduling": {"enabled": topology},
        "scheduler": {"profiles": [{"name": "default-scheduler"}], "defaultProfileName": "default-scheduler"},
    }


def _in_pod(folder: Path, command: list[str]) -> list[str]:
    """The command in a mount of its own, where the file of a pod says which account Grove has: one that nobody uses."""
    account = folder / "account"
    account.mkdir()
    (account / "namespace").write_text("grove-system")
    at = "/var/run/secrets/kubernetes.io/serviceaccount"
    mounted = f'mount -t tmpfs none /var/run && mkdir -p {at} && mount --bind "$0" {at} && exec "$@"'
    named = ["env", "GROVE_OPERATOR_SERVICE_ACCOUNT_NAME=grove-operator"]
    return ["unshare", "--mount", *named, "sh", "-c", mounted, str(account), *command]


def _register(port: int, certificate: Path, *, authorizer: bool) -> list[Manifest]:
    written, changed = ("CREATE", "UPDATE"), ("CREATE", "UPDATE", "DELETE")
    hooks: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
        ("MutatingWebhookConfiguration", "default-podcliqueset", ("podcliquesets",), written),
        ("ValidatingWebhookConfiguration", "validate-podcliqueset", ("podcliquesets",), written),
        ("ValidatingWebhookConfiguration", "validate-clustertopology", ("clustertopologybindings",), written),
    ]
    if authorizer:
        parts = ("podcliques", "podcliquescalinggroups")
        hooks.append(("ValidatingWebhookConfiguration", "authorizer-webhook", parts, changed))
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    return [
        {
            "apiVersion": _REGISTRATION,
            "kind": kind,
            "metadata": {"name": f"grove-{path}"},
            "webhooks": [
                {
                    "name": f"{path}.grove.test",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Fail",
                    "clientConfig": {"url": f"https://127.0.0.1:{port}/webhooks/{path}", "caBundle": bundle},
                    "rules": [
                        {
                            "apiGroups": ["grove.io"],
                            "apiVersions": ["v1alpha1"],
                            "operations": list(operations),
                            "resources": list(resources),
                        }
                    ],
                }
            ],
        }
        for kind, path, resources, operations in hooks
    ]


def _admits(api: ApiClient) -> bool:
    pod = {"containers": [{"name": "main", "image": "probe"}]}
    clique = {"name": "main", "spec": {"roleName": "main", "replicas": 1, "podSpec": pod}}
    metadata = {"name": "probe", "namespace": "default"}
    spec = {"replicas": 1, "template": {"cliques": [clique]}}
    probe = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": metadata, "spec": spec}
    try:
        return bool(api.create(probe, dry_run=True))
    except ApiRefused as error:
        if error.code == 500:  # the webhook cannot be called yet
            return False
        raise
