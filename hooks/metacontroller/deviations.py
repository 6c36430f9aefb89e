"""Which wanted children are missing, or are not in the cluster as they are wanted.

Two comparisons tell the states apart. While the last applied object is not the wanted one, a change is on its way. If
it is the wanted one and the live object still differs, somebody else has changed the live object.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from hooks import contract
from hooks.k8s.differences import Difference, find_difference
from hooks.k8s.types import (
    GroupVersionKind,
    Json,
    Manifest,
    ReadManifest,
    annotations_of,
    controller_of,
    gvk_of,
    is_controlled_by,
    is_deleting,
    labels_of,
    name_of,
)
from hooks.metacontroller.last_applied import read_last_applied
from hooks.metacontroller.protocol import SyncRequest


class Deviance(StrEnum):
    """How a child differs from what is wanted."""

    MISSING = "missing"
    WITHHELD = "withheld"
    """It is not returned, or not changed, until another object is deleted."""
    BEING_APPLIED = "being applied"
    CHANGED = "changed"
    """It differs although the wanted object was applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A wanted child that is not in the cluster as it is wanted.

    `difference` is the first field that differs, None for none. `why` is half a sentence about a withheld child.
    `holder` is the owner of the object that has the name of a missing child, empty if no such object is seen.
    `is_left_behind`: that object is the parent's, as the Go operator made it, and Metacontroller does not know it.
    `is_updated`: Metacontroller updates live objects of this kind.
    """

    kind: GroupVersionKind
    name: str
    state: Deviance
    difference: Difference | None = None
    why: str = ""
    holder: str = ""
    is_left_behind: bool = False
    is_updated: bool = True

    @property
    def title(self) -> str:
        """`Service s`."""
        return f"{self.kind.kind} {self.name}"


NO_OWNER = "no owner"
_MAX_COMPARED = 512
"""About as many as the objects whose parsed values are kept, so that the cache keeps few others in memory."""
_MARKS = frozenset({contract.ANNOTATION_RENDERING, contract.ANNOTATION_ROLLOUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmanaged:
    """Child kinds that Metacontroller does not update: of `existing` ones only the existence counts.

    Of `fixed` ones the content counts, but not labels and annotations, which may be those of an older version.
    """

    existing: Set[GroupVersionKind] = frozenset()
    fixed: Set[GroupVersionKind] = frozenset()


UPDATED = Unmanaged()
"""Metacontroller updates all kinds."""


def find_deviations(
    wanted: Iterable[Manifest], request: SyncRequest, unmanaged: Unmanaged = UPDATED
) -> tuple[Deviation, ...]:
    """The wanted children that are missing or not as wanted, in the order given."""
    return tuple(_find(wanted, request, unmanaged))


def _find(wanted: Iterable[Manifest], request: SyncRequest, unmanaged: Unmanaged) -> Iterator[Deviation]:
    default = request.parent["metadata"]["namespace"]
    for child in wanted:
        kind, name, namespace = gvk_of(child), name_of(child), child["metadata"].get("namespace", default)
        live = request.children.get(kind, name, namespace)
        if live is None:
            found = request.related.get(kind, name, namespace)
            left, holder = is_left_behind(found, request.parent), _find_holder(found, request.parent)
            yield Deviation(kind=kind, name=name, state=Deviance.MISSING, holder=holder, is_left_behind=left)
        elif is_deleting(live):
            yield Deviation(kind=kind, name=name, state=Deviance.WITHHELD, why="it is being deleted")
        elif kind in unmanaged.fixed:
            if difference := find_difference({**child, "metadata": {}}, live):
                yield Deviation(kind=kind, name=name, state=Deviance.CHANGED, difference=difference, is_updated=False)
        elif kind not in unmanaged.existing and (deviation := _compare(_Same(child), _Same(live))):
            yield deviation


class _Same:
    """An object as a key of a cache, equal to itself alone; the cache refers to it, so no other gets its identity."""

    __slots__ = ("value",)

    def __init__(self, value: ReadManifest) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


@lru_cache(maxsize=_MAX_COMPARED)
def _compare(returned: _Same, live: _Same) -> Deviation | None:
    """Compare two objects once: plans and parsed objects are cached, so most calls have the same two."""
    wanted, applied = _without_marks(returned.value), read_last_applied(live.value)
    kind, name, difference = gvk_of(wanted), name_of(wanted), find_difference(wanted, live.value)
    if applied is not None and applied != returned.value and _without_marks(applied) != wanted:
        return Deviation(kind=kind, name=name, state=Deviance.BEING_APPLIED, difference=difference)
    if difference is not None:
        return Deviation(kind=kind, name=name, state=Deviance.CHANGED, difference=difference)
    return None


def _without_marks(manifest: ReadManifest) -> ReadManifest:
    """The object without the annotations by which a rollout is held: they do not change what runs."""
    annotations = annotations_of(manifest)
    if _MARKS.isdisjoint(annotations):
        return manifest
    kept = {key: value for key, value in annotations.items() if key not in _MARKS}
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def is_left_behind(found: ReadManifest | None, parent: ReadManifest) -> bool:
    """Whether an object is the parent's, as the Go operator made it, and Metacontroller does not take it for a child.

    Metacontroller's children have the label `controller-uid`. It takes the owner reference from an object without this
    label; what remains are the labels that both programs write.
    """
    if found is None or contract.LABEL_CONTROLLER_UID in labels_of(found):
        return False
    uid = parent["metadata"].get("uid", "")
    if is_controlled_by(found, uid):
        return True
    return controller_of(found) is None and any(_names_parent(labels, parent) for labels in _find_labels(found))


def _names_parent(labels: Mapping[str, Json], parent: ReadManifest) -> bool:
    """Whether labels say that an object belongs to a graph or to a component; names of others are not accepted."""
    name = name_of(parent)
    if parent["kind"] == contract.GRAPH.kind:
        return labels.get(contract.LABEL_GRAPH) == name
    spec = parent.get("spec") or {}
    graph = labels_of(parent).get(contract.LABEL_GRAPH) or (spec.get("labels") or {}).get(contract.LABEL_GRAPH)
    service = spec.get("serviceName")
    of_service = graph and labels.get(contract.LABEL_GRAPH) == graph and labels.get(contract.LABEL_COMPONENT) == service
    return labels.get(contract.LABEL_SELECTOR) == name or bool(of_service)


def _find_labels(found: ReadManifest) -> Iterator[Mapping[str, Json]]:
    """The labels of an object, of its selector, and of its pods."""
    spec = found.get("spec") or {}
    template, selector = spec.get("template") or {}, spec.get("selector") or {}
    group = spec.get("leaderWorkerTemplate") or {}
    yield labels_of(found)
    yield selector.get("matchLabels") or selector
    for one in (template, group.get("workerTemplate") or {}):
        yield (one.get("metadata") or {}).get("labels") or {}
    for clique in template.get("cliques") or ():
        yield clique.get("labels") or {}


def _find_holder(found: ReadManifest | None, parent: ReadManifest) -> str:
    """The owner of an object that has the name of a child; empty if there is none, or if it belongs to the parent."""
    if found is None or is_controlled_by(found, parent["metadata"].get("uid", "")):
        return ""
    owner = controller_of(found)
    return NO_OWNER if owner is None else f"{owner.get('kind')} {owner.get('name')}"
