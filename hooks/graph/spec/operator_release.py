"""The release that a graph began with: the annotation where it is written, else what its children keep.

A graph without children takes what its images say. Its components, or its PodCliqueSet, keep that in the annotation
that the user's object lacks, so what a graph starts does not depend on whether admission wrote it there. A graph that
runs without the annotation anywhere keeps running so.
"""

from collections.abc import Iterable, Iterator, Mapping

from hooks.component.spec.operator_release import UNWRITTEN, agree_on_release, choose_operator_release
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, gvk_of
from hooks.language.api.base import read_parent
from hooks.language.api.graph import GraphDeployment
from hooks.wire.metacontroller.last_applied import read_applied_annotations, read_applied_spec

_NAME = contract.ANNOTATION_ORIGIN_VERSION
_KEEPING = frozenset({contract.COMPONENT, kinds.POD_CLIQUE_SET})


def find_operator_release(graph: ReadManifest, children: Iterable[ReadManifest]) -> str | None:
    """What live children keep of a graph whose annotation is not written; None for a graph without children.

    A service that says its own origin says nothing of the graph's.
    """
    return agree_on_release(
        {release for child in children if gvk_of(child) in _KEEPING for release in _read(child, graph)}
    )


def begin(graph: GraphDeployment, kept: str | None) -> GraphDeployment:
    """The graph with the annotation, as if it were written; `kept` is what its children keep, None without children."""
    if is_written(graph.metadata.annotations, graph.spec.annotations) or kept == UNWRITTEN:
        return graph
    release = choose_operator_release(graph.spec.services.values()) if kept is None else kept
    metadata = graph.metadata.model_copy(update={"annotations": {**graph.metadata.annotations, _NAME: release}})
    return graph.model_copy(update={"metadata": metadata})


def find_missing_operator_release(graph: ReadManifest) -> str | None:
    """The release that a graph which is about to be created begins with; None if it says one. Never raises."""
    read = _read_graph(graph)
    begun = begin(read, None)
    return None if begun is read else begun.metadata.annotations[_NAME]


def read_operator_release(graph: ReadManifest) -> str:
    """The release with which a graph begins that is created as it is, written or not. Never raises."""
    begun = begin(_read_graph(graph), None)
    return {**begun.spec.annotations, **begun.metadata.annotations}[_NAME]


def with_operator_release(graph: ReadManifest, children: Iterable[ReadManifest]) -> Manifest:
    """The graph with the annotation that its children keep; as it is if it has one, or if they keep none."""
    own, spec = annotations_of(graph), graph.get("spec") or {}
    kept = None if is_written(own, spec.get("annotations") or {}) else find_operator_release(graph, children)
    if kept is None:
        return dict(graph)
    return {**graph, "metadata": {**graph["metadata"], "annotations": {**own, _NAME: kept}}}


def is_written(own: Mapping[str, Json], of_spec: Mapping[str, Json]) -> bool:
    """Whether one of a graph's own annotations, or of those for all services, is the origin."""
    return _NAME in own or _NAME in of_spec


def _read_graph(graph: ReadManifest) -> GraphDeployment:
    """What decides about the origin; fields that do not fit are left out, as the hook cannot read them either."""
    metadata = graph.get("metadata")
    own = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    readable = {"metadata": {"name": "", "namespace": "", "annotations": own}, "spec": graph.get("spec")}
    return read_parent(GraphDeployment, readable)[0]


def _read(child: ReadManifest, graph: ReadManifest) -> Iterator[str]:
    """The origin that one child keeps; of two records the applied one counts, which nobody edits by accident.

    Where a PodCliqueSet has lost both, its pods say it. Fields may have any type.
    """
    if gvk_of(child) == kinds.POD_CLIQUE_SET:
        record = {**annotations_of(child), **read_applied_annotations(child)}
        yield str(record.get(_NAME, next(_of_cliques(child), UNWRITTEN)))
        return
    spec = _map(read_applied_spec(child)) or _map(child.get("spec"))
    service = _map(_map(_map(graph.get("spec")).get("services")).get(str(spec.get("serviceName"))))
    if _NAME not in _map(service.get("annotations")):
        yield str(_map(spec.get("annotations")).get(_NAME, UNWRITTEN))


def _of_cliques(child: ReadManifest) -> Iterator[Json]:
    cliques = _map(_map(child.get("spec")).get("template")).get("cliques")
    for clique in cliques if isinstance(cliques, list) else ():
        if _NAME in (found := _map(_map(clique).get("annotations"))):
            yield found[_NAME]


def _map(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
