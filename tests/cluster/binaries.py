"""The programs of the control plane: where they are, and how the Go ones are built from this folder's go.mod."""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
BIN = Path(os.environ.get("CLUSTER_PROGRAMS") or HERE / ".bin").absolute()
"""Where the built programs are; clones may share a folder, as one of another go.mod is built again."""

PACKAGES = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
    "helm": "helm.sh/helm/v3/cmd/helm",
}
"""Command to Go package; each is a `tool` of go.mod."""

VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
"""Where Kubernetes keeps its version; unset it reads `v0.0.0-master+$Format:%H$`, which Helm cannot parse."""

HELM_VERSION_PACKAGES = ("helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules")
"""Where Helm keeps the Kubernetes version it assumes without a cluster; unset it is 1.20."""


class BuildFailed(Exception):
    """`go build` failed; the message ends with what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """Paths of the programs that make up the control plane."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kube_scheduler: Path
    kubectl: Path
    kwok: Path
    helm: Path


def missing() -> str | None:
    """Say in one sentence what must be installed before anything can be built or started; None when all is there."""
    wanted = {
        "go": "Go 1.26 or later (https://go.dev/dl)",
        "etcd": "etcd (apt-get install etcd-server)",
        "openssl": "openssl (apt-get install openssl)",
        "setpriv": "setpriv (apt-get install util-linux)",
    }
    missing = [how for tool, how in wanted.items() if shutil.which(tool) is None]
    return f"the cluster tests need {' and '.join(missing)}" if missing else None


def build(say: Callable[[str], None]) -> None:
    """Build what is missing or was built from another go.mod; `say` is told what is going on, a line at a time.

    Raises:
        BuildFailed: a build failed.
    """
    BIN.mkdir(parents=True, exist_ok=True)
    stale = [name for name in PACKAGES if not _is_current(name)]
    if stale:
        say(f"building {', '.join(stale)}: minutes on the first run, cached afterwards")
        started = time.monotonic()
        _build(stale)
        say(f"built in {time.monotonic() - started:.0f} s")


def found() -> Binaries:
    """Where the programs are, once they are built.

    Raises:
        BuildFailed: etcd is not installed.
    """
    etcd = shutil.which("etcd")
    if etcd is None:
        raise BuildFailed("etcd is not on PATH")
    paths = {name.replace("-", "_"): BIN / name for name in PACKAGES}
    return Binaries(etcd=Path(etcd), **paths)


def kubernetes_version() -> str:
    """Read Kubernetes' version, such as `v1.36.3`, from go.mod."""
    for line in (HERE / "go.mod").read_text().splitlines():
        match line.split():
            case ["k8s.io/kubernetes", version, *_]:
                return version
    raise BuildFailed("go.mod names no version of k8s.io/kubernetes")


def _build(names: Iterable[str]) -> None:
    # By one command, as one program is compiled while another is linked, which takes one core for long.
    command = ["go", "build", "-ldflags", _linker_flags(), "-o", f"{BIN}/", *(PACKAGES[name] for name in names)]
    environment = {**os.environ, "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"{' '.join(command)}\n{done.stderr[-4000:]}")
    for name in names:
        _stamp(name).write_text(_fingerprint())


def _linker_flags() -> str:
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    helm = {"k8sVersionMajor": major, "k8sVersionMinor": minor}
    sets = [f"-X {package}.{key}={value}" for package in VERSION_PACKAGES for key, value in values.items()]
    sets += [f"-X {package}.{key}={value}" for package in HELM_VERSION_PACKAGES for key, value in helm.items()]
    return " ".join(["-s", "-w", *sets])


def _is_current(name: str) -> bool:
    stamp = _stamp(name)
    return (BIN / name).is_file() and stamp.is_file() and stamp.read_text() == _fingerprint()


def _stamp(name: str) -> Path:
    return BIN / f"{name}.stamp"


def _fingerprint() -> str:
    parts = [(HERE / "go.mod").read_bytes(), (HERE / "go.sum").read_bytes(), _linker_flags().encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
