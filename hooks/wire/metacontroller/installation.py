"""Several installations in one cluster: a label of a parent says which one serves it.

Controllers select parents by the label. The installation for the whole cluster serves parents without it.
"""

from collections.abc import Iterable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, labels_of

FINALIZER_PREFIX = "metacontroller.io/"


def build_selector(installation: str) -> dict[str, Json]:
    """The label selector of an installation's parents; an empty name is the installation for the whole cluster."""
    if installation:
        return {"matchLabels": {contract.LABEL_INSTALLATION: installation}}
    return {"matchExpressions": [{"key": contract.LABEL_INSTALLATION, "operator": "DoesNotExist"}]}


def name_controller(name: str, installation: str) -> str:
    """A controller's name in an installation; controllers are cluster-scoped, so each installation needs its own."""
    return f"{name}-{installation}" if installation else name


def name_finalizer(controller: ReadManifest) -> str:
    """The finalizer that Metacontroller adds to the parents of a controller which has a finalize hook."""
    return f"{FINALIZER_PREFIX}{controller['kind'].lower()}-{controller['metadata']['name']}"


def label_like_parent(parent_labels: Mapping[str, str], child: Manifest) -> Manifest:
    """The child, with the label of its parent's installation if it has one of our kinds and so is a parent itself."""
    installation = parent_labels.get(contract.LABEL_INSTALLATION)
    if not installation or not is_parent_kind(child):
        return child
    labels = {**labels_of(child), contract.LABEL_INSTALLATION: installation}
    return {**child, "metadata": {**child["metadata"], "labels": dict(sorted(labels.items()))}}


def is_parent_kind(manifest: ReadManifest) -> bool:
    """Whether the object has one of our own kinds."""
    return str(manifest["apiVersion"]).partition("/")[0] == contract.GROUP


def read_installation(manifest: ReadManifest) -> str | None:
    """The value of an object's label, which may be empty; None if it has no label."""
    return labels_of(manifest).get(contract.LABEL_INSTALLATION)


def command_to_free(manifest: ReadManifest) -> str:
    """The command that removes the label from an object, so that the installation for the whole cluster serves it."""
    metadata = manifest["metadata"]
    named = f"{manifest['kind'].lower()} {metadata['name']}"
    return f"kubectl --namespace {metadata['namespace']} label {named} {contract.LABEL_INSTALLATION}-"


def command_to_free_all(kinds: Iterable[str], namespace: str, installation: str) -> str:
    """The command that removes this label from all objects of these kinds in a namespace."""
    named, label = ",".join(sorted({kind.lower() for kind in kinds})), contract.LABEL_INSTALLATION
    return f"kubectl --namespace {namespace} label {named} --selector {label}={installation} {label}-"


def command_to_claim(namespace: str, installation: str) -> str:
    """The command that gives a namespace the label: its installation alone judges the labelled objects in it."""
    return f"kubectl label namespace {namespace} {contract.LABEL_INSTALLATION}={installation}"


def command_to_release(namespace: str) -> str:
    """The command that removes the label from a namespace."""
    return f"kubectl label namespace {namespace} {contract.LABEL_INSTALLATION}-"
