"""LeaderWorkerSets on the cluster: by the real manager where its binary is found, else kwok says that all is up.

The manager needs its webhooks, which give the pods of a group their place; on a real cluster they are behind a Service,
here the API server calls them at 127.0.0.1.
"""

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import yaml

from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ADMIN, ControlPlane, install_crds
from tests.cluster.processes import Server, running
from tests.contract.backend import Manifest
from tests.ports import free_port
from tests.waiting import PATIENCE

HERE = Path(__file__).parent
PROGRAM = "lws-manager"
_GROUP = "leaderworkerset.x-k8s.io"
_NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
_REGISTRATION = "admissionregistration.k8s.io/v1"
_SETS = f"{_GROUP.replace('.', '-')}-v1-leaderworkerset"


def find_manager() -> Path | None:
    """Find the manager's binary: $LWS_MANAGER, else `lws-manager` on PATH; None when there is none."""
    found = os.environ.get("LWS_MANAGER") or shutil.which(PROGRAM)
    return Path(found).resolve() if found else None


@contextmanager
def running_groups(plane: ControlPlane, folder: Path, *, makes_gangs: bool = False) -> Iterator[bool]:
    """Let LeaderWorkerSets come up; gives whether the real manager does it, with pods.

    `makes_gangs`: the manager makes Volcano's PodGroups, for which it needs only their kind.
    """
    manager = find_manager()
    if manager is None:
        command = [
            str(plane.binaries.kwok),
            f"--kubeconfig={plane.kubeconfig('kwok')}",
            "--manage-nodes-with-annotation-selector=test/none=true",
            f"--config={HERE / 'stages_of_groups.yaml'}",
        ]
        with running(Server("kwok-of-groups", command, folder)):
            yield False
    else:
        with _running_manager(plane, manager, folder, makes_gangs=makes_gangs):
            yield True


@contextmanager
def _running_manager(plane: ControlPlane, manager: Path, folder: Path, *, makes_gangs: bool) -> Iterator[None]:
    webhooks, health, api = free_port(), free_port(), plane.client()
    certificate = make_certificate(folder)
    _install_unused_kinds(api)
    configuration = folder / "lws.yaml"
    gangs = {"gangSchedulingManagement": {"schedulerProvider": "volcano"}} if makes_gangs else {}
    configuration.write_text(yaml.safe_dump({**_configure(webhooks, health, certificate.parent), **gangs}))
    command = ["env", f"KUBECONFIG={plane.kubeconfig(ADMIN)}", str(manager), f"--config={configuration}"]
    with running(Server(PROGRAM, command, folder)) as server:
        server.wait_until(lambda: requests.get(f"http://127.0.0.1:{health}/readyz", timeout=PATIENCE).ok)
        server.wait_until(lambda: _answers(webhooks, certificate))
        registrations = [api.create(document) for document in _register(webhooks, certificate)]
        try:
            yield
        finally:
            for found in registrations:
                api.delete(_REGISTRATION, found["kind"], found["metadata"]["name"])


def make_certificate(folder: Path) -> Path:
    """A certificate of its own authority, as `tls.crt` beside `tls.key`."""
    home = folder / "certificates"
    home.mkdir(exist_ok=True)
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(home / "tls.key"), "-out", str(home / "tls.crt")]
    subprocess.run(words, check=True, capture_output=True)
    return home / "tls.crt"


def _configure(webhooks: int, health: int, certificates: Path) -> Manifest:
    """The manager's configuration file.

    Source: kubernetes-sigs/lws, api/config/v1alpha1/configuration_types.go.
    """
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "webhook": {"port": webhooks, "host": "127.0.0.1", "certDir": str(certificates)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
    }


def _install_unused_kinds(api: ApiClient) -> None:
    """Kinds that newer managers watch and we never use: without them they do not start."""
    group = "disaggregatedset.x-k8s.io"
    for kind in ("DisaggregatedSet", "DisaggregatedSetRoleScaler"):
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [version]}
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        install_crds(api, [{**definition, "metadata": {"name": f"{plural}.{group}"}, "spec": spec}])


def _register(port: int, certificate: Path) -> list[Manifest]:
    sets = {"apiGroups": [_GROUP], "apiVersions": ["v1"], "resources": ["leaderworkersets"]}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    both, create = ["CREATE", "UPDATE"], ["CREATE"]
    mutating = [(f"mutate-{_SETS}", sets, both), ("mutate--v1-pod", pods, create)]
    validating = [(f"validate-{_SETS}", sets, both), ("validate--v1-pod", pods, both)]
    return [
        {
            "apiVersion": _REGISTRATION,
            "kind": kind,
            "metadata": {"name": "lws"},
            "webhooks": [_hook(port, certificate, path, {**rule, "operations": on}) for path, rule, on in hooks],
        }
        for kind, hooks in (
            ("MutatingWebhookConfiguration", mutating),
            ("ValidatingWebhookConfiguration", validating),
        )
    ]


def _hook(port: int, certificate: Path, path: str, rule: Manifest) -> Manifest:
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    return {
        "name": f"{path.replace('--', '-')}.lws.test",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/{path}", "caBundle": bundle},
        "rules": [rule],
        # Pods of other tests, and of other programs, are none of its business.
        "objectSelector": ({"matchExpressions": [{"key": _NAME_LABEL, "operator": "Exists"}]} if "pod" in path else {}),
    }


def _answers(port: int, certificate: Path) -> bool:
    """Whether the webhooks are served; any answer will do, as there is no question in it."""
    url = f"https://127.0.0.1:{port}/mutate-{_SETS}"
    return requests.post(url, verify=str(certificate), timeout=PATIENCE).status_code < 500
