"""The recorded specs of a live graph: which there are, what each changed, and the graph with one of them again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, ReadManifest, controller_of, name_of
from hooks.tools.offline.diff.fields import compare_objects
from hooks.tools.operating.cluster import Cluster
from hooks.wire.policy.spec_revisions import (
    Recorded,
    UnreadableRevision,
    read_revision,
    unpack,
    without_scaling,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSpec:
    """A recorded spec; `since` is when it got its number, `generation` that of its workers, empty for none."""

    name: str
    number: int
    generation: str
    since: str
    recorded: Recorded

    def unpack(self) -> dict[str, Any]:
        """The graph's `spec`, and `annotations` if it has any of v1beta1.

        Raises:
            UnreadableRevision: it is not recorded, or cannot be read.
        """
        return unpack(self.recorded)


def read_history(cluster: Cluster, graph: ReadManifest) -> tuple[PastSpec, ...]:
    """The recorded specs of the graph, newest first.

    Raises:
        Refused: the API server does not answer, or does not show them.
    """
    namespace, selector = str(graph["metadata"]["namespace"]), f"{contract.LABEL_GRAPH}={name_of(graph)}"
    found = cluster.read_all(kinds.CONTROLLER_REVISION, namespace, labelSelector=selector)
    read = (_read(one) for one in found if _is_of(one, graph))
    return tuple(sorted((one for one in read if one is not None), key=lambda one: -one.number))


def find_changes(history: Sequence[PastSpec]) -> Iterator[tuple[PastSpec, tuple[str, ...]]]:
    """Each recorded spec with the paths of the fields in which it differs from the one before, or why they are unknown.

    The oldest has none: what was before it is not recorded.
    """
    documents = [_try_unpack(one) for one in history]
    for place, (one, document) in enumerate(zip(history, documents, strict=True)):
        before = documents[place + 1] if place + 1 < len(documents) else None
        if isinstance(document, str):
            yield one, (document,)
        elif isinstance(before, str) or before is None:
            yield one, ()
        else:
            yield one, find_changed_fields(before, document)


def find_changed_fields(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[str, ...]:
    """The paths of the fields in which two recorded graphs differ, without those of scaling."""
    return tuple(str(one.path) for one in compare_objects(_as_graph(before), _as_graph(after)))


def _as_graph(document: Mapping[str, Json]) -> ReadManifest:
    spec = document["spec"]
    services = {name: without_scaling(one) for name, one in (spec.get("services") or {}).items()}
    metadata = {"annotations": document["annotations"]} if document.get("annotations") else {}
    header = {"apiVersion": contract.GRAPH.api_version, "kind": contract.GRAPH.kind}
    return {**header, "metadata": metadata, "spec": {**spec, "services": services}}


def _try_unpack(one: PastSpec) -> dict[str, Any] | str:
    try:
        return one.unpack()
    except UnreadableRevision as unreadable:
        return str(unreadable)


def _is_of(one: ReadManifest, graph: ReadManifest) -> bool:
    owner = controller_of(one)
    return owner is not None and bool(owner.get("uid") == graph["metadata"].get("uid"))


def _read(one: ReadManifest) -> PastSpec | None:
    revision = read_revision(one)
    if revision is None:
        return None
    metadata = one["metadata"]
    written = [str(entry["time"]) for entry in metadata.get("managedFields") or () if entry.get("time")]
    return PastSpec(
        name=revision.name,
        number=revision.number,
        generation=revision.suffix,
        since=max(written, default=str(metadata.get("creationTimestamp") or "")),
        recorded=revision.recorded,
    )
