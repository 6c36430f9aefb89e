"""The objects that a test gives: placed and completed as a cluster holds them, the last one of each name counts."""

from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, ReadManifest, annotations_of, controller_of, name_of
from hooks.ground.problems import join_texts
from hooks.language.crds import find_faults
from hooks.language.versions import convert
from hooks.language.versions.served import is_beside
from hooks.tools.offline.simulator.resources import Catalogue, UnknownKind
from hooks.tools.offline.simulator.store import ApiError, Ref, ref_of
from hooks.wire.world.merge import LAST_APPLIED, with_last_applied
from hooks.wire.world.ownership import controller_reference, with_owner

NAMESPACE = "default"
_WRITTEN_METADATA = ("name", "namespace", "labels", "annotations")
"""What a hook returns of an object's metadata; the rest is the server's or Metacontroller's."""


def choose_uid(ref: Ref, _serial: int = 0) -> str:
    """A uid that follows from an object's kind and name, so that it is the same in every run of a test."""
    digest = sha256(f"{ref.group}/{ref.kind}/{ref.namespace}/{ref.name}".encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[12:15]}-8{digest[15:18]}-{digest[18:30]}"


def flatten(given: Iterable[Any]) -> list[Manifest]:
    """The objects of a list whose items are objects or lists of objects."""
    found: list[Manifest] = []
    for item in given:
        found += [as_stored(item)] if isinstance(item, Mapping) else flatten(item)
    return found


def as_stored(obj: ReadManifest) -> Manifest:
    """The object in the version that the cluster stores: one of v1beta1 becomes v1alpha1.

    Raises:
        ApiError: 422, the schema of v1beta1 does not allow it.
    """
    if not is_beside(obj):
        return dict(obj)
    if faults := find_faults(obj):
        raise ApiError(422, "Invalid", f"{obj['kind']} {name_of(obj)}: {join_texts(faults)}")
    return convert(obj, contract.VERSION)


def put_in_place(obj: ReadManifest, catalogue: Catalogue) -> Manifest:
    """The object, in the namespace `default` if it needs a namespace and names none.

    Raises:
        LookupError: the cluster does not have the kind.
    """
    try:
        resource = catalogue.of(obj["apiVersion"], obj["kind"])
    except UnknownKind as unknown:
        raise LookupError(f"{unknown}; kinds that are not in every cluster must stand in `installed`") from None
    if not resource.namespaced or obj["metadata"].get("namespace"):
        return dict(obj)
    return {**obj, "metadata": {**obj["metadata"], "namespace": NAMESPACE}}


def complete(obj: Manifest, timestamp: str) -> Manifest:
    """The object with the metadata that every stored object has."""
    system = {"uid": choose_uid(ref_of(obj)), "creationTimestamp": timestamp, "generation": 1}
    return {**obj, "metadata": {**system, **obj["metadata"]}}


def is_stored(obj: ReadManifest) -> bool:
    """Whether the object comes from a cluster: then it has a uid."""
    return bool(obj["metadata"].get("uid"))


def keep_last(objects: Iterable[Manifest]) -> list[Manifest]:
    """The objects without those that a later one of the same kind and name replaces, and without what those control.

    What a replaced object controls stays if it stands behind the replacement.
    """
    kept: dict[Ref, Manifest] = {}
    for obj in objects:
        ref = ref_of(obj)
        if (replaced := kept.get(ref)) is not None:
            kept = {ref_of(one): one for one in drop_below(kept.values(), {_uid_of(replaced)})}
        kept[ref] = obj
    return list(kept.values())


def drop_below(objects: Collection[Manifest], uids: Collection[str]) -> list[Manifest]:
    """The objects without those that the objects with these uids control, directly or not."""
    by_uid = {_uid_of(obj): obj for obj in objects}

    def is_below(obj: Manifest) -> bool:
        owner = controller_of(obj)
        if owner is None:
            return False
        above = by_uid.get(owner["uid"])
        return owner["uid"] in uids or (above is not None and is_below(above))

    return [obj for obj in objects if not is_below(obj)]


def _uid_of(obj: Manifest) -> str:
    return str(obj["metadata"].get("uid") or choose_uid(ref_of(obj)))


def with_history(obj: Manifest) -> Manifest:
    """The object with the annotation that says that it was applied as it stands; unchanged if it has one."""
    if LAST_APPLIED in annotations_of(obj):
        return obj
    metadata = {key: obj["metadata"][key] for key in _WRITTEN_METADATA if key in obj["metadata"]}
    return with_last_applied(obj, {**{key: obj[key] for key in obj if key != "status"}, "metadata": metadata})


def adopt(child: Manifest, parent: Manifest) -> Manifest:
    """The child as Metacontroller created it for this parent."""
    stored = with_history(child)
    labels = {**(stored["metadata"].get("labels") or {}), contract.LABEL_CONTROLLER_UID: parent["metadata"]["uid"]}
    return with_owner({**stored, "metadata": {**stored["metadata"], "labels": labels}}, controller_reference(parent))
