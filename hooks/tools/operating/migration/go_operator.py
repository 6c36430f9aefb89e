"""From which release of the Go operator a cluster's graphs came, and which components it would not use any more.

A Go operator from 1.0 on writes the generation of a graph's workers into an annotation of the graph, and its own
release into graphs that are created under it. Its Deployment says its release while it exists.

Source: Dynamo operator 1.5, internal/controller/dgd_worker_rollout_reconciler.go, and its Helm chart.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hooks.component.image.runtime_version import (
    CURRENT_SINCE,
    RuntimeVersion,
    is_since,
    parse_image_version,
    parse_version,
)
from hooks.component.spec.subject import ComponentType
from hooks.graph.seen.upstream_generations import generation_of
from hooks.ground import contract
from hooks.ground.k8s.pod_sets import pod_spec_of
from hooks.ground.k8s.types import ReadManifest, annotations_of, labels_of, name_of
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.live_reader import LiveReader, find_installed
from hooks.tools.operating.migration.reading import read_operators

_GENERATIONS = ("nvidia.com/current-worker-hash", "nvidia.com/current-worker-hash-v2")
"""Annotations by which a Go operator from 1.0 on finds the workers of a graph."""
_OLDEST, _NEWEST = RuntimeVersion(0, 9), RuntimeVersion(1, 5)
"""The releases that are assumed where nothing says one: before 1.0, and from 1.0 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurplusComponent:
    """A component that a Go operator would not use, so that it would run beside the operator's own of its service."""

    namespace: str
    name: str
    graph: str
    service: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOperator:
    """The release of the Go operator, and in half a sentence how it is known.

    `installed` are the optional kinds of the cluster, `beside` the components that the operator would not use.
    `unread` are sentences about what could not be read.
    """

    release: RuntimeVersion
    evidence: str
    installed: frozenset[str] = frozenset()
    beside: tuple[SurplusComponent, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def has_generations(self) -> bool:
        """Whether it names workers by their generation, and owners by v1beta1."""
        return is_since(self.release, CURRENT_SINCE)


def read_go_operator(cluster: Cluster, namespace: str = "") -> GoOperator:
    """Read where the graphs of one namespace, or of all if `namespace` is empty, came from. It writes nothing.

    Raises:
        Refused: the API server does not answer, or does not show graphs and components.
    """
    reader = LiveReader(cluster=cluster)
    operators = read_operators(reader)
    graphs = tuple(cluster.read_all(contract.GRAPH, namespace))
    release, evidence = find_release(operators, graphs)
    has_generations = is_since(release, CURRENT_SINCE)
    components = tuple(cluster.read_all(contract.COMPONENT, namespace)) if has_generations else ()
    return GoOperator(
        release=release,
        evidence=evidence,
        installed=find_installed(cluster),
        beside=tuple(find_beside(graphs, components)),
        unread=reader.warnings,
    )


def find_release(operators: Iterable[ReadManifest], graphs: Iterable[ReadManifest]) -> tuple[RuntimeVersion, str]:
    """The release of the Go operator, and how it is known."""
    for one in operators:
        if release := _release_of(one):
            return release, f"as Deployment {one['metadata'].get('namespace', '')}/{name_of(one)} says"
    managed = [one for one in graphs if any(key in annotations_of(one) for key in _GENERATIONS)]
    if not managed:
        return _OLDEST, "as no graph has the annotations of a later one"
    written = (annotations_of(one).get(contract.ANNOTATION_ORIGIN_VERSION, "").removeprefix("v") for one in managed)
    begun = [version for text in written if is_since(version := parse_version(text), CURRENT_SINCE)]
    newest = max(filter(None, begun), default=None)
    if newest is None:
        return _NEWEST, "a guess: a graph has the annotations of one from 1.0 on, and none says its release"
    return newest, "the newest with which a graph says that it began"


def find_beside(graphs: Iterable[ReadManifest], components: Iterable[ReadManifest]) -> Iterator[SurplusComponent]:
    """The components of workers whose names a Go operator from 1.0 on does not use.

    It ends them itself when it rolls the workers, which it does not do in a graph with a service over several nodes. In
    such a graph it also leaves components of an earlier generation, which the hooks changed under their names.
    """
    by_name = {(_namespace(one), name_of(one)): one for one in graphs}
    for one in components:
        labels, spec = labels_of(one), one.get("spec") or {}
        graph, service = str(labels.get(contract.LABEL_GRAPH) or ""), str(labels.get(contract.LABEL_COMPONENT) or "")
        owner = by_name.get((_namespace(one), graph))
        if owner is None or not service or not ComponentType.of(str(spec.get("componentType") or "")).is_worker:
            continue
        is_changed = _has_several_nodes(owner) and not labels.get(contract.LABEL_WORKER_HASH)
        if is_changed or not generation_of(name_of(one), graph, service):
            yield SurplusComponent(namespace=_namespace(one), name=name_of(one), graph=graph, service=service)


def _release_of(operator: ReadManifest) -> RuntimeVersion | None:
    """The release that a Deployment of the operator says in its label, else by its image."""
    if release := parse_version(str(labels_of(operator).get("app.kubernetes.io/version") or "").removeprefix("v")):
        return release
    images = (str(one.get("image") or "") for one in pod_spec_of(operator).get("containers") or ())
    return next(filter(None, map(parse_image_version, images)), None)


def _has_several_nodes(graph: ReadManifest) -> bool:
    services = ((graph.get("spec") or {}).get("services") or {}).values()
    return any(one.get("multinode") for one in services if isinstance(one, dict))


def _namespace(manifest: ReadManifest) -> str:
    return str(manifest["metadata"].get("namespace") or "")
