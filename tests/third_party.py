"""Other projects' CRDs: the real ones where their folder is beside the project, else small stand-ins.

A stand-in has the names, versions, scope and subresources of the real CRD, and keeps every field. So every test runs
without the folder too; only what compares our objects with the real schemas is left out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.backend import Manifest

FOLDER = Path(__file__).parents[2] / "shared" / "crds"

METACONTROLLER = "metacontroller/v4.17.2"
ISTIO = "istio/1.30.3"
INFERENCE_POOL = "gateway-api-inference-extension/v1.2.1"
LWS = "lws/v0.10.0"
VOLCANO = "volcano/v1.15.1"
PROMETHEUS = "prometheus-operator/v0.93.0"

INSTALLED = (METACONTROLLER, ISTIO, INFERENCE_POOL, LWS, VOLCANO, PROMETHEUS)
"""What the control plane has from its start; folders of FOLDER."""

OPTIONAL_KINDS = ("inference-pool", "istio", "lws", "volcano")
"""The optional kinds among them, by their names of `--with`."""

NOT_AT_HAND = "the CRDs of other projects are not in ../shared/crds, so no object is compared with their schemas"
needs_schemas = pytest.mark.skipif(not FOLDER.is_dir(), reason=NOT_AT_HAND)
"""For tests that compare with the real schemas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """What a CRD says about its kind, but for the schema; the first version is the one that is stored."""

    group: str
    kind: str
    versions: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    is_namespaced: bool = True
    has_status: bool = True
    selector: str = ""
    """Where the subresource `scale` finds the pods' selector; "" where there is no such subresource."""

    @property
    def plural(self) -> str:
        return f"{self.kind.lower()}s"


STAND_INS = {
    METACONTROLLER: (
        StandIn(
            group="metacontroller.k8s.io",
            kind="CompositeController",
            versions=("v1alpha1",),
            short_names=("cc", "cctl"),
            is_namespaced=False,
        ),
        StandIn(group="metacontroller.k8s.io", kind="ControllerRevision", versions=("v1alpha1",)),
        StandIn(
            group="metacontroller.k8s.io",
            kind="DecoratorController",
            versions=("v1alpha1",),
            short_names=("dec", "decorators"),
            is_namespaced=False,
        ),
    ),
    ISTIO: (
        StandIn(
            group="networking.istio.io",
            kind="VirtualService",
            versions=("v1", "v1alpha3", "v1beta1"),
            short_names=("vs",),
        ),
    ),
    INFERENCE_POOL: (
        StandIn(group="inference.networking.k8s.io", kind="InferencePool", versions=("v1",), short_names=("infpool",)),
    ),
    LWS: (
        StandIn(
            group="leaderworkerset.x-k8s.io",
            kind="LeaderWorkerSet",
            versions=("v1",),
            short_names=("lws",),
            selector=".status.hpaPodSelector",
        ),
    ),
    VOLCANO: (
        StandIn(
            group="scheduling.volcano.sh",
            kind="PodGroup",
            versions=("v1beta1",),
            short_names=("pg", "podgroup-v1beta1"),
            has_status=False,
        ),
    ),
    PROMETHEUS: (
        StandIn(group="monitoring.coreos.com", kind="ServiceMonitor", versions=("v1",), short_names=("smon",)),
    ),
}
"""The kinds that tests use, by the folder of their real CRDs."""


def crds() -> list[Manifest]:
    """The CustomResourceDefinitions of INSTALLED: the real ones, or stand-ins where the folder is absent."""
    if FOLDER.is_dir():
        return [crd for folder in INSTALLED for crd in read_crds(folder)]
    return [stand_in_crd(kind) for folder in INSTALLED for kind in STAND_INS[folder]]


def read_crds(folder: str) -> list[Manifest]:
    """Read the real CustomResourceDefinitions of one folder of FOLDER."""
    paths = sorted((FOLDER / folder).glob("*.yaml"))
    documents = [document for path in paths for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)]
    return [document for document in documents if document and document["kind"] == "CustomResourceDefinition"]


def stand_in_crd(kind: StandIn) -> Manifest:
    """Build a CustomResourceDefinition whose schema keeps every field."""
    versions = [_version(kind, name, is_stored=name == kind.versions[0]) for name in kind.versions]
    # The API server wants the annotation on every CRD of a group below k8s.io.
    annotations = {"api-approved.kubernetes.io": "unapproved, a stand-in of tests"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}", "annotations": annotations},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": list(kind.short_names),
            },
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "versions": versions,
        },
    }


def _version(kind: StandIn, name: str, *, is_stored: bool) -> dict[str, Any]:
    scale = {
        "labelSelectorPath": kind.selector,
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    return {
        "name": name,
        "served": True,
        "storage": is_stored,
        "subresources": {**({"status": {}} if kind.has_status else {}), **({"scale": scale} if kind.selector else {})},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
