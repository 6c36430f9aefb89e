"""Finds labels and annotations that the API server would refuse on any object.

Source: Kubernetes, apimachinery pkg/util/validation (IsQualifiedName, IsValidLabelValue); an annotation's key is
lower-cased before the check.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.names import is_annotation_key, is_label_key, is_label_value
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import spec as rules

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_COST = re.compile(r"0|-?[1-9][0-9]*")
_OF_ALL_PODS = frozenset(
    {
        contract.LABEL_COMPONENT,
        contract.LABEL_COMPONENT_TYPE,
        contract.LABEL_DISCOVERY_BACKEND,
        contract.LABEL_DISCOVERY_ENABLED,
        contract.LABEL_GRAPH,
        contract.LABEL_MODEL_HASH,
        contract.LABEL_NAMESPACE,
        contract.LABEL_SELECTOR,
        contract.LABEL_SUB_COMPONENT_TYPE,
    }
)
"""Our labels of pods, which replace labels of the user."""


def validate_metadata(spec: ComponentSpec, path: FieldPath, *, replaced: Collection[str]) -> Iterator[Problem]:
    """All problems of a spec's labels and annotations; `replaced` are keys of `labels` whose values reach no object."""
    yield from validate_labels(spec.labels, spec.annotations, path, replaced=replaced)
    if spec.extra_pod_metadata:
        labels, annotations = spec.extra_pod_metadata.labels, spec.extra_pod_metadata.annotations
        yield from _find_label_problems(labels, path / "extraPodMetadata.labels", _OF_ALL_PODS)
        yield from _find_annotation_problems(annotations, path / "extraPodMetadata.annotations")
        cost = annotations.get(_DELETION_COST)
        if cost is not None and not _is_cost(cost):
            yield rules.DELETION_COST.at(path / "extraPodMetadata.annotations" / Key(_DELETION_COST), value=cost)
    if spec.ingress and spec.ingress.enabled:
        yield from _find_label_problems(spec.ingress.labels, path / "ingress.labels", ())
        yield from _find_annotation_problems(spec.ingress.annotations, path / "ingress.annotations")


def validate_labels(
    labels: Mapping[str, str], annotations: Mapping[str, str], path: FieldPath, *, replaced: Collection[str]
) -> Iterator[Problem]:
    """Problems of `labels` and `annotations` at that path; the values of `replaced` labels do not count."""
    if labels:
        yield from _find_label_problems(labels, path / "labels", replaced)
    if annotations:
        yield from _find_annotation_problems(annotations, path / "annotations")


def _is_cost(text: str) -> bool:
    return _COST.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31


def _find_label_problems(labels: Mapping[str, str], path: FieldPath, ignored: Collection[str]) -> Iterator[Problem]:
    for key, value in sorted(labels.items()):
        if not is_label_key(key):
            yield rules.LABEL_KEY.at(path / Key(key), key=key)
        if key not in ignored and not is_label_value(value):
            yield rules.LABEL_VALUE.at(path / Key(key), value=value)


def _find_annotation_problems(keys: Iterable[str], path: FieldPath) -> Iterator[Problem]:
    for key in sorted(keys):
        if not is_annotation_key(key):
            yield rules.ANNOTATION_KEY.at(path / Key(key), key=key)
