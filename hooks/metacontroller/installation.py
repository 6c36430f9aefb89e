"""Which of several installations an object belongs to: a label, selected by controllers and handed down to children.

The installation that serves the whole cluster takes what bears no such label.
"""

from collections.abc import Mapping

from hooks import contract
from hooks.k8s.types import Json, Manifest, ReadManifest, labels_of


def build_selector(installation: str) -> dict[str, Json]:
    """The label selector of an installation's parents; an empty name is the one of the whole cluster."""
    if installation:
        return {"matchLabels": {contract.LABEL_INSTALLATION: installation}}
    return {"matchExpressions": [{"key": contract.LABEL_INSTALLATION, "operator": "DoesNotExist"}]}


def name_controller(name: str, installation: str) -> str:
    """A controller's name; controllers are cluster-scoped, so that each installation needs names of its own."""
    return f"{name}-{installation}" if installation else name


def hand_down(parent_labels: Mapping[str, str], child: Manifest) -> Manifest:
    """The child as one of the parent's installation; only our own kinds are parents themselves and need the label."""
    installation = parent_labels.get(contract.LABEL_INSTALLATION)
    if not installation or not is_parent_kind(child):
        return child
    labels = {**labels_of(child), contract.LABEL_INSTALLATION: installation}
    return {**child, "metadata": {**child["metadata"], "labels": dict(sorted(labels.items()))}}


def is_parent_kind(manifest: ReadManifest) -> bool:
    """Whether it is of the group of the five kinds."""
    return str(manifest["apiVersion"]).partition("/")[0] == contract.GROUP
