"""Which wanted children are missing, or are not in the cluster as they are wanted.

Two comparisons tell the states apart. While the last applied object is not the wanted one, a change is on its way. If
it is the wanted one and the live object still differs, another writer has changed the live object.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from hooks.ground import contract
from hooks.ground.k8s.deletion import advise_deletion, why_deleting
from hooks.ground.k8s.differences import FieldDifference, find_difference
from hooks.ground.k8s.pod_sets import pods_by_role
from hooks.ground.k8s.same import MAX_REMEMBERED, ByIdentity
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    Manifest,
    ReadManifest,
    annotations_of,
    controller_of,
    gvk_of,
    is_controlled_by,
    labels_of,
    name_of,
)
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.last_applied import read_last_applied
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.accepted_changes import NOTHING_ACCEPTED, AcceptedChanges


class OrphanedBy(StrEnum):
    """Whose an object without an owner was, that has the name of a missing child of the parent and its labels."""

    GO_OPERATOR = "Go operator"
    UNLABELLED = "unlabelled"
    """The parent's own, without the label by which Metacontroller knows it."""
    DELETED = "deleted"
    """That of a deleted parent of the same name, whose children were left."""


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
    `orphaned_by` is set if that object is the parent's by its labels, and Metacontroller does not take it for a child;
    `former` is the uid of the parent that it was made for, by its label. `ending` says that it is being deleted, and
    what holds it, and `remedy` what to do about that; both are empty if it is not.
    `is_updated`: Metacontroller updates live objects of this kind.
    """

    kind: GroupVersionKind
    name: str
    state: Deviance
    difference: FieldDifference | None = None
    why: str = ""
    holder: str = ""
    orphaned_by: OrphanedBy | None = None
    former: str = ""
    ending: str = ""
    remedy: str = ""
    is_updated: bool = True

    @property
    def title(self) -> str:
        """`Service s`."""
        return f"{self.kind.kind} {self.name}"


NO_OWNER, DELETED = "no owner", "a deleted"
_MARKS = frozenset({contract.ANNOTATION_RENDERING, contract.ANNOTATION_ROLLOUT, contract.ANNOTATION_SEES_WORKERS_OF})


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
    wanted: Iterable[Manifest],
    request: SyncRequest,
    unmanaged: Unmanaged = UPDATED,
    accepted: AcceptedChanges = NOTHING_ACCEPTED,
) -> tuple[Deviation, ...]:
    """The wanted children that are missing, or not as wanted but for accepted changes, in the order given."""
    return tuple(_find(Children.of(wanted), request, unmanaged, accepted))


def _find(
    wanted: Children, request: SyncRequest, unmanaged: Unmanaged, accepted: AcceptedChanges
) -> Iterator[Deviation]:
    default = request.parent["metadata"]["namespace"]
    for place in wanted.places:
        kind, name = place.kind, place.name
        live = request.children.get(kind, name, place.namespace or default)
        if live is None:
            found = request.related.get(kind, name, place.namespace or default)
            orphaned_by, holder = _find_orphaner(found, request.parent), _find_holder(found, request.parent)
            former = (
                labels_of(found).get(contract.LABEL_CONTROLLER_UID, "") if found is not None and orphaned_by else ""
            )
            yield Deviation(
                kind=kind,
                name=name,
                state=Deviance.MISSING,
                holder=holder,
                orphaned_by=orphaned_by,
                former=former,
                ending=why_deleting(found) if found is not None else "",
                remedy=advise_deletion(found) if found is not None else "",
            )
        elif why := why_deleting(live):
            yield Deviation(kind=kind, name=name, state=Deviance.WITHHELD, why=why)
        elif kind in unmanaged.fixed:
            if deviation := _compare_fixed(place.same.value, live):
                yield deviation
        elif kind not in unmanaged.existing and (deviation := _compare(place.same, ByIdentity(live), accepted)):
            yield deviation


def _compare_fixed(wanted: ReadManifest, live: ReadManifest) -> Deviation | None:
    """Compare the content of two objects, without labels and annotations."""
    difference = find_difference({**wanted, "metadata": {}}, live)
    if difference is None:
        return None
    kind, name = gvk_of(wanted), name_of(wanted)
    return Deviation(kind=kind, name=name, state=Deviance.CHANGED, difference=difference, is_updated=False)


@lru_cache(maxsize=MAX_REMEMBERED)
def _compare(
    returned: ByIdentity[ReadManifest], same: ByIdentity[ReadManifest], accepted: AcceptedChanges
) -> Deviation | None:
    """Compare two objects once: plans and parsed objects are cached, so most calls have the same two."""
    wanted, live = _without_marks(returned.value), same.value
    kind, name, applied = gvk_of(wanted), name_of(wanted), read_last_applied(live)
    difference = find_difference(wanted, live, accepted.accepts)
    if applied is not None and applied != returned.value and _without_marks(applied) != wanted:
        return Deviation(kind=kind, name=name, state=Deviance.BEING_APPLIED, difference=difference)
    if difference is not None:
        return Deviation(kind=kind, name=name, state=Deviance.CHANGED, difference=difference)
    return None


def _without_marks(manifest: ReadManifest) -> ReadManifest:
    """The object without annotations by which a rollout is held or graphs know each other: they change no pod."""
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


def _find_orphaner(found: ReadManifest | None, parent: ReadManifest) -> OrphanedBy | None:
    """Whose the object was; None if it is another owner's."""
    if found is None:
        return None
    is_ours = contract.ANNOTATION_LAST_APPLIED in annotations_of(found)
    if is_left_behind(found, parent):
        return OrphanedBy.UNLABELLED if is_ours else OrphanedBy.GO_OPERATOR
    has_labels = any(_names_parent(labels, parent) for labels in _find_labels(found))
    return OrphanedBy.DELETED if is_ours and controller_of(found) is None and has_labels else None


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
    selector = spec.get("selector") or {}
    yield labels_of(found)
    yield selector.get("matchLabels") or selector
    yield from (pods.labels for pods in pods_by_role(found))


def _find_holder(found: ReadManifest | None, parent: ReadManifest) -> str:
    """The owner of an object that has the name of a child; empty if there is none, or if it belongs to the parent."""
    if found is None or is_controlled_by(found, parent["metadata"].get("uid", "")):
        return ""
    owner = controller_of(found)
    if owner is None:
        return NO_OWNER
    if (owner.get("kind"), owner.get("name")) == (parent["kind"], name_of(parent)):
        return f"{DELETED} {owner.get('kind')} of this name"  # an owner of another uid, which the parent has replaced
    return f"{owner.get('kind')} {owner.get('name')}"
