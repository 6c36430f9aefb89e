"""The commands that several checks name as remedies."""

from hooks import __version__
from hooks.ground.k8s.types import ReadManifest

METACONTROLLER_VERSION = "4.17.2"
GOOD_FLAGS = {
    "client-go-qps": "100",
    "client-go-burst": "200",
    "workers": "10",
    "discovery-interval": "20s",
}
"""Metacontroller's flags that hold with hundreds of graphs; its own defaults do not."""

_ARGUMENTS = ",".join(
    (
        "--zap-log-level=4",
        "--health-probe-bind-address=:8081",
        *(f"--{name}={value}" for name, value in GOOD_FLAGS.items()),
    )
)
INSTALL_METACONTROLLER = (
    "helm upgrade --install metacontroller oci://ghcr.io/metacontroller/metacontroller-helm "
    f"--version {METACONTROLLER_VERSION} --namespace metacontroller --create-namespace "
    f"--set serviceAccount.name=metacontroller-helm --set 'commandArgs={{{_ARGUMENTS}}}'"
)
UPDATE_METACONTROLLERS_CRDS = (
    "kubectl apply --server-side --force-conflicts -f https://raw.githubusercontent.com/metacontroller/metacontroller/"
    f"v{METACONTROLLER_VERSION}/manifests/production/metacontroller-crds-v1.yaml"
)
_APPLY = "kubectl apply --server-side --force-conflicts -f -"
APPLY_CRDS = f"dynamo-hooks crds | {_APPLY}"
MIGRATE = "dynamo-hooks migrate --all-namespaces --apply"


_CHART = f"chart/ is a folder of the source at {__version__}, which this package does not have"


def install_hooks(*, takes_crds: bool) -> str:
    """The command that installs the chart, CRDs included; with `takes_crds` they exist, and may belong to another."""
    command = "helm upgrade --install dynamo-hooks chart/ --namespace dynamo-system --create-namespace"
    command += " --take-ownership" if takes_crds else ""
    return f"{command} --set image.repository=REGISTRY/dynamo-hooks  # the image: docs/install.md; {_CHART}"


def upgrade_hooks(namespace: str = "dynamo-system", release: str = "dynamo-hooks", values: str = "") -> str:
    """The command that applies the chart again, with the values of the release, and these options."""
    command = f"helm upgrade {release} chart/ --namespace {namespace} --reset-then-reuse-values{values}"
    return f"{command}  # {_CHART}"


def apply_both_versions(converter: ReadManifest) -> str:
    """The command that applies the definitions with v1beta1, which the webhook of that `clientConfig` converts."""
    service = converter.get("service") or {}
    where = f"--service {service.get('namespace')}/{service.get('name')}"
    if url := str(converter.get("url") or ""):
        where = f"--url {url.removesuffix('/convert')}"
    return f"dynamo-hooks crds --v1beta1 {where} | {_APPLY}"
