"""Graphs as if they had begun with a release that their manifests do not say."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hooks.graph.spec.operator_release import is_written
from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest
from hooks.tools.offline.manifests.document import Document


def as_begun_with(documents: Iterable[Document], origin: str) -> Iterator[Document]:
    """The documents; graphs that say no origin have this one, unless it is empty."""
    for document in documents:
        is_silent = origin and document.kind == contract.GRAPH and not document.faults and _is_silent(document.object)
        yield _begin(document, origin) if is_silent else document


def _is_silent(graph: Manifest) -> bool:
    spec = graph.get("spec")
    of_spec = spec.get("annotations") if isinstance(spec, Mapping) else None
    return not is_written(_map(graph["metadata"].get("annotations")), _map(of_spec))


def _begin(document: Document, origin: str) -> Document:
    beta = document.beta
    return replace(document, object=_add(document.object, origin), beta=None if beta is None else _add(beta, origin))


def _add(graph: Manifest, origin: str) -> Manifest:
    annotations = {**_map(graph["metadata"].get("annotations")), contract.ANNOTATION_ORIGIN_VERSION: origin}
    return {**graph, "metadata": {**graph["metadata"], "annotations": annotations}}


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
