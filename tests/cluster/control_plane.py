"""A Kubernetes control plane of this machine's own, on 127.0.0.1 and free ports: API server, controllers, fake node."""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import requests
import yaml

from hooks.server.clients.api_server import ApiServer
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.binaries import HERE, Binaries
from tests.cluster.processes import Server, running
from tests.contract.backend import ApiRefused, Manifest
from tests.ports import free_port
from tests.waiting import PATIENCE

ADMIN = "admin"
METACONTROLLER = "metacontroller"
CHART_ACCOUNT = "system:serviceaccount:metacontroller:metacontroller"
"""Metacontroller's service account: it may do what a ClusterRoleBinding of the project gives it, and nothing else."""
HOOKS_ACCOUNT = "system:serviceaccount:dynamo-system:dynamo-hooks"
"""The hooks' service account in the plain manifests; likewise."""
READING_ACCOUNT = "system:serviceaccount:dynamo-system:dynamo-hooks-reads"
"""The account of hooks that only read: it has, in the whole session, what the plain manifests give for that."""

AsAccount = Callable[[str], ApiServer]
"""Gives the API server as a service account of a test's namespace sees it."""

USERS = {
    ADMIN: "system:masters",
    "controller-manager": "system:masters",
    "scheduler": "system:masters",
    "kwok": "system:masters",
    METACONTROLLER: "system:masters",
    CHART_ACCOUNT: "system:serviceaccounts",
    HOOKS_ACCOUNT: "system:serviceaccounts",
    READING_ACCOUNT: "system:serviceaccounts",
}


_IDLE_CONTROLLERS = (
    "root-ca-certificate-publisher-controller",
    "replicationcontroller-controller",
    "daemonset-controller",
    "node-ipam-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "endpointslice-mirroring-controller",
    "endpoints-controller",
    "persistentvolume-attach-detach-controller",
    "ttl-controller",
    "legacy-serviceaccount-token-cleaner-controller",
    "validatingadmissionpolicy-status-controller",
)
"""Controllers whose work no test looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """A running control plane; `folder` has its logs and kubeconfigs, `servers` its processes by name."""

    folder: Path
    binaries: Binaries
    server: str
    certificate: Path
    tokens: dict[str, str]
    audit_policy: Path = HERE / "audit_policy.yaml"
    servers: Mapping[str, Server] = field(default_factory=dict)

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    def client(self, user: str = ADMIN, agent: str = "cluster-tests") -> ApiClient:
        return ApiClient(self.server, self.tokens[user], self.certificate, agent)

    def token_of(self, namespace: str, account: str) -> str:
        """A new token of a service account, asked for as the kubelet does; ApiRefused where there is none."""
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        client = self.client().within(namespace)
        return str(client.create_sub("v1", "ServiceAccount", account, "token", request)["status"]["token"])

    def run(self, program: Path, *words: str) -> str:
        """Run kubectl or helm as the administrator and give its output; AssertionError with what it said.

        They remember nothing of an earlier call: an earlier test may have had other kinds served, or their versions.
        """
        command = [str(program), f"--kubeconfig={self.kubeconfig()}", *words]
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "KUBECACHEDIR": cache}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, f"{program.name} {' '.join(words)}\n{done.stderr}"
        return done.stdout

    def kubectl(self, *words: str) -> str:
        return self.run(self.binaries.kubectl, *words)

    def helm(self, *words: str) -> str:
        return self.run(self.binaries.helm, *words)

    def helm_release(self, *words: str) -> str:
        """Install or upgrade without Helm's own validation, for which it reads all schemas, 1 s each time."""
        return self.helm(*words, "--disable-openapi-validation")

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """Write the user's kubeconfig and give its path."""
        return self.write_kubeconfig(self.folder / f"{user.replace(':', '-')}.kubeconfig", user, self.tokens[user])

    def write_kubeconfig(self, path: Path, user: str, token: str) -> Path:
        """Write a kubeconfig with a user's token, which only its owner may read, and give its path."""
        cluster = {"server": self.server, "certificate-authority": str(self.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }
        path.touch(0o600)
        path.write_text(yaml.safe_dump(config))
        return path


@contextmanager
def control_plane(
    binaries: Binaries,
    folder: Path,
    crds: Iterable[Manifest],
    *,
    audit_policy: Path = HERE / "audit_policy.yaml",
) -> Iterator[ControlPlane]:
    """Start a control plane, with the CRDs installed before the controllers that must know them; stop it at the end.

    The garbage collector looks for new kinds only every 30 s, hence the order.

    Raises:
        StartFailed: one of its processes did not come up.
    """
    servers: dict[str, Server] = {}
    with ExitStack() as stack:

        def start(name: str, *command: str) -> Server:
            servers[name] = stack.enter_context(running(Server(name, command, folder)))
            return servers[name]

        stack.callback(shutil.rmtree, folder / "etcd", ignore_errors=True)  # pytest keeps its folders for three runs
        etcd = _start_etcd(start, binaries, folder)
        plane = replace(_plan(binaries, folder), audit_policy=audit_policy, servers=servers)
        apiserver = _start_apiserver(start, plane, etcd)
        api = plane.client()
        apiserver.wait_until(lambda: plane.certificate.exists() and api.is_ready())
        install_crds(api, crds)
        _start_controllers(start, plane)
        _settle_in(api)
        yield plane


def install_crds(api: ApiClient, crds: Iterable[Manifest]) -> None:
    """Apply the CRDs and wait until the API server serves them."""
    names = [api.apply(crd)["metadata"]["name"] for crd in crds]

    def established() -> bool:
        found = api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        served = {crd["metadata"]["name"] for crd in found if _has_condition(crd, "Established")}
        return served.issuperset(names)

    wait_for(established, "every CRD is established")


def _plan(binaries: Binaries, folder: Path) -> ControlPlane:
    tokens = {user: secrets.token_hex(16) for user in USERS}
    lines = [f'{tokens[user]},{user},{user},"{group}"\n' for user, group in USERS.items()]
    (folder / "tokens.csv").write_text("".join(lines))
    certificate = folder / "certificates" / "apiserver.crt"
    return ControlPlane(
        folder=folder,
        binaries=binaries,
        server=f"https://127.0.0.1:{free_port()}",
        certificate=certificate,
        tokens=tokens,
    )


def _start_etcd(start: Callable[..., Server], binaries: Binaries, folder: Path) -> str:
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    etcd = start(
        "etcd",
        str(binaries.etcd),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--logger=zap",
        "--log-level=warn",
    )
    etcd.wait_until(lambda: requests.get(f"{client}/health", timeout=PATIENCE).ok)
    return client


def _start_apiserver(start: Callable[..., Server], plane: ControlPlane, etcd: str) -> Server:
    folder = plane.folder
    key = folder / "service-accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    return start(
        "kube-apiserver",
        str(plane.binaries.kube_apiserver),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={plane.server.rpartition(':')[2]}",
        f"--cert-dir={plane.certificate.parent}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
        "--endpoint-reconciler-type=none",
        "--enable-priority-and-fairness=false",
        "--allow-privileged=true",
        f"--audit-policy-file={plane.audit_policy}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=10000",  # MB; at 100 it would begin a new file, which nobody here reads
        # Debian's etcd 3.4 cannot serve such streams: each watch that asks for one breaks off and starts again.
        "--feature-gates=WatchList=false",
    )


def _start_controllers(start: Callable[..., Server], plane: ControlPlane) -> None:
    start(
        "kube-controller-manager",
        str(plane.binaries.kube_controller_manager),
        f"--kubeconfig={plane.kubeconfig('controller-manager')}",
        f"--service-account-private-key-file={plane.folder / 'service-accounts.key'}",
        "--use-service-account-credentials=false",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
        f"--cert-dir={plane.folder / 'certificates-of-controllers'}",
        f"--controllers=*,{','.join(f'-{name}' for name in _IDLE_CONTROLLERS)}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        # An API server that rests for a while is no lost node: kwok would never let its pods be ready again.
        "--node-monitor-grace-period=10m",
    )
    start(
        "kwok",
        str(plane.binaries.kwok),
        f"--kubeconfig={plane.kubeconfig('kwok')}",
        # Other nodes have a kubelet of their own, as those of tests/e2e.
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        # Without leases the node counts as lost after 50 s, and every pod with it.
        "--node-lease-duration-seconds=40",
        "--cidr=10.0.0.1/16",
        "--node-ip=10.0.0.1",
        f"--config={HERE / 'stages.yaml'}",
    )


def _settle_in(api: ApiClient) -> None:
    for document in yaml.safe_load_all((HERE / "cluster.yaml").read_text()):
        api.create(document)
    wait_for(lambda: _has_condition(api.get("v1", "Node", "kwok-0"), "Ready"), "the node is Ready")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "probe"}]},
    }
    wait_for(lambda: _is_bound(api, pod), "pods are bound to the node when they are created")


def _is_bound(api: ApiClient, pod: Manifest) -> bool:
    try:
        return bool(api.create(pod, dry_run=True)["spec"].get("nodeName") == "kwok-0")
    except ApiRefused as error:
        if error.code == 403:  # the policy is there before its parameters are compiled
            return False
        raise


def _has_condition(obj: Manifest | None, kind: str) -> bool:
    conditions: list[dict[str, Any]] = (obj or {}).get("status", {}).get("conditions") or []
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)
