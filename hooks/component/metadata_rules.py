"""Labels and annotations with which the API server refuses every object that carries them.

Source: Kubernetes, apimachinery pkg/util/validation (IsQualifiedName, IsValidLabelValue); an annotation's key is
lower-cased before it is judged.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from hooks import contract
from hooks.api.component_spec import ComponentSpec
from hooks.k8s.names import is_annotation_key, is_label_key, is_label_value

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
"""Labels of pods that are set over the user's."""

_KEY = "use letters, digits, -, _ and . between letters or digits, at most 63, with or without a domain and / before"


def validate_metadata(spec: ComponentSpec, path: str, *, replaced: Collection[str]) -> Iterator[str]:
    """All problems of a spec's labels and annotations; `replaced` are those of `labels` that no object gets."""
    if spec.labels:
        yield from _labels(spec.labels, f"{path}.labels", replaced)
    if spec.annotations:
        yield from _annotations(spec.annotations, f"{path}.annotations")
    if spec.extra_pod_metadata:
        yield from _labels(spec.extra_pod_metadata.labels, f"{path}.extraPodMetadata.labels", _OF_ALL_PODS)
        yield from _annotations(spec.extra_pod_metadata.annotations, f"{path}.extraPodMetadata.annotations")
    if spec.ingress and spec.ingress.enabled:
        yield from _labels(spec.ingress.labels, f"{path}.ingress.labels", ())
        yield from _annotations(spec.ingress.annotations, f"{path}.ingress.annotations")


def _labels(labels: Mapping[str, str], path: str, replaced: Collection[str]) -> Iterator[str]:
    for key, value in sorted(labels.items()):
        if not is_label_key(key):
            yield f"{path}[{key}]: {key!r} is no key of a label; {_KEY}"
        if key not in replaced and not is_label_value(value):
            yield (
                f"{path}[{key}]: {value!r} is no label value; use letters, digits, -, _ and . between letters or "
                "digits, at most 63"
            )


def _annotations(keys: Iterable[str], path: str) -> Iterator[str]:
    for key in sorted(keys):
        if not is_annotation_key(key):
            yield f"{path}[{key}]: {key!r} is no key of an annotation; {_KEY}"
