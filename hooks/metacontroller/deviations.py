"""Which wanted children are missing, or are not in the cluster as they are wanted.

Two comparisons tell the states apart. While the last applied object is not the wanted one, a change is on its way. If
it is the wanted one and the live object still differs, somebody else has changed the live object.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import StrEnum

from hooks import contract
from hooks.k8s.differences import Difference, find_difference
from hooks.k8s.types import (
    GroupVersionKind,
    Manifest,
    ReadManifest,
    annotations_of,
    controller_of,
    gvk_of,
    is_controlled_by,
    is_deleting,
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
    `is_updated`: Metacontroller updates live objects of this kind.
    """

    kind: GroupVersionKind
    name: str
    state: Deviance
    difference: Difference | None = None
    why: str = ""
    holder: str = ""
    is_updated: bool = True

    @property
    def title(self) -> str:
        """`Service s`."""
        return f"{self.kind.kind} {self.name}"


NO_OWNER = "no owner"
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
            holder = _find_holder(request, kind, name, namespace)
            yield Deviation(kind=kind, name=name, state=Deviance.MISSING, holder=holder)
        elif is_deleting(live):
            yield Deviation(kind=kind, name=name, state=Deviance.WITHHELD, why="it is being deleted")
        elif kind in unmanaged.fixed:
            if difference := find_difference({**child, "metadata": {}}, live):
                yield Deviation(kind=kind, name=name, state=Deviance.CHANGED, difference=difference, is_updated=False)
        elif kind not in unmanaged.existing:
            yield from _compare(child, live, kind)


def _compare(returned: Manifest, live: ReadManifest, kind: GroupVersionKind) -> Iterator[Deviation]:
    wanted, applied = _without_marks(returned), read_last_applied(live)
    difference = find_difference(wanted, live)
    if applied is not None and applied != returned and _without_marks(applied) != wanted:
        yield Deviation(kind=kind, name=name_of(wanted), state=Deviance.BEING_APPLIED, difference=difference)
    elif difference is not None:
        yield Deviation(kind=kind, name=name_of(wanted), state=Deviance.CHANGED, difference=difference)


def _without_marks(manifest: ReadManifest) -> ReadManifest:
    """The object without the annotations by which a rollout is held: they do not change what runs."""
    annotations = annotations_of(manifest)
    if _MARKS.isdisjoint(annotations):
        return manifest
    kept = {key: value for key, value in annotations.items() if key not in _MARKS}
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def _find_holder(request: SyncRequest, kind: GroupVersionKind, name: str, namespace: str) -> str:
    """The owner of a related object of that name; empty if there is none, or if it belongs to the parent."""
    found = request.related.get(kind, name, namespace)
    if found is None or is_controlled_by(found, request.parent["metadata"].get("uid", "")):
        return ""
    owner = controller_of(found)
    return NO_OWNER if owner is None else f"{owner.get('kind')} {owner.get('name')}"
