"""Warnings about fields that only v1beta1 has, of an object that is stored in v1alpha1.

Such a field is kept in an annotation, so nothing renders it. Who wrote it learns that from the status, too.
"""

from collections.abc import Mapping

from hooks.conversion import Version, convert
from hooks.conversion.versions import spec_annotation
from hooks.k8s.types import GroupVersionKind, Json
from hooks.problems import texts_of
from hooks.validation.v1beta1 import find_v1beta1_warnings


def find_kept_warnings(
    kind: GroupVersionKind, annotations: Mapping[str, str], spec: Mapping[str, Json]
) -> tuple[str, ...]:
    """The warnings, with paths of v1beta1; `spec` needs only the names of services, and `multinode`."""
    if spec_annotation(kind.kind) not in annotations:
        return ()
    stored = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"annotations": dict(annotations)},
        "spec": spec,
    }
    return texts_of(find_v1beta1_warnings(convert(stored, Version.BETA)))


def write_nodes(node_count: int) -> dict[str, Json]:
    """The field `multinode` of a component, as far as these warnings depend on it; {} on one node."""
    return {"multinode": {"nodeCount": node_count}} if node_count > 1 else {}
