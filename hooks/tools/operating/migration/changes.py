"""What a step writes into its object: label, owner references, mark, record of the last apply, finalizers.

Pure and idempotent: the change of an object that has it already is the same object. So a killed run is run again.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, controller_of, gvk_of, labels_of
from hooks.language.crds.owner_versions import find_foreign_owner, name_owner
from hooks.language.crds.stored import apply_defaults, prune
from hooks.tools.operating.migration.steps import Change, OwnerReference
from hooks.wire.metacontroller.children import MAX_CHILD_BYTES, find_fault
from hooks.wire.policy.rendering_mark import FOREIGN_REVISION, read_mark

_SERVER_METADATA = ("name", "namespace", "labels", "annotations")
_OTHERS_ANNOTATIONS = ("deployment.kubernetes.io/", "kubectl.kubernetes.io/")
_CHANGED = ("labels", "annotations", "ownerReferences", "finalizers")
_ALLOCATED = frozenset(
    {"clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy", "sessionAffinity", "healthCheckNodePort"}
)
"""Fields of a Service that the API server sets."""
_TOKENS = frozenset({"secrets", "imagePullSecrets"})
"""Fields of a ServiceAccount that controllers of the cluster set."""


def as_ours(manifest: ReadManifest) -> Manifest:
    """An object of our kinds as the API server shows it once our CRDs are installed; others as they are.

    The Go operator's CRDs may know other fields, and have other defaults.
    """
    return apply_defaults(prune(manifest))


class Taken(Exception):
    """The object belongs to another owner by now; the message is a sentence."""


def refer_beside(owner: ReadManifest) -> OwnerReference:
    """The reference by which an object is deleted with its owners, and that gives its owner no control."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def make_change(change: Change, live: ReadManifest) -> Manifest:
    """The object with the change; equal to `live` if it has it already.

    Raises:
        Taken: another object controls it.
    """
    metadata: dict[str, Any] = dict(live["metadata"])
    if change.owner is not None:
        _check_free(live, change.owner)
        metadata["labels"] = {**labels_of(live), contract.LABEL_CONTROLLER_UID: str(change.owner["uid"])}
    if change.owner is not None or change.beside or find_foreign_owner(live):
        metadata["ownerReferences"] = [name_owner(one) for one in _merge_owners(live, change)]
    if change.finalizer in (metadata.get("finalizers") or ()):
        metadata["finalizers"] = [found for found in metadata["finalizers"] if found != change.finalizer]
    changed = {**live, "metadata": metadata}
    if change.mark and contract.ANNOTATION_RENDERING not in annotations_of(live):
        changed = _annotate(changed, contract.ANNOTATION_RENDERING, change.mark)
    if change.is_recorded and contract.ANNOTATION_LAST_APPLIED not in annotations_of(live):
        changed = _annotate(changed, contract.ANNOTATION_LAST_APPLIED, canonical_json(read_content(changed)))
    return changed


def find_patch(change: Change, live: ReadManifest) -> dict[str, Json]:
    """The JSON merge patch of `metadata` for the change, without preconditions; {} if the object has it already.

    Raises:
        Taken: another object controls it.
    """
    before, after = live["metadata"], make_change(change, live)["metadata"]
    patch: dict[str, Json] = {}
    for key in _CHANGED:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if isinstance(new, Mapping):
            patch[key] = {name: value for name, value in new.items() if (old or {}).get(name) != value}
        else:
            patch[key] = new
    return patch


def read_content(live: ReadManifest) -> Manifest:
    """The object as a hook would return it to change nothing: without what the cluster writes, and without nulls."""
    live = as_ours(live)
    metadata = {key: live["metadata"][key] for key in _SERVER_METADATA if live["metadata"].get(key)}
    if annotations := {key: text for key, text in annotations_of(live).items() if not _is_others(key)}:
        metadata["annotations"] = annotations
    else:
        metadata.pop("annotations", None)
    fields = {key: value for key, value in live.items() if key not in {"metadata", "status"}}
    content: Manifest = _without_nulls({**fields, "metadata": metadata})
    match gvk_of(live):
        case kinds.SERVICE:
            return {**content, "spec": _of_service(content.get("spec") or {})}
        case kinds.SERVICE_ACCOUNT:
            return {key: value for key, value in content.items() if key not in _TOKENS}
        case kinds.POD_GROUP:
            return {**content, "spec": {"minMember": (content.get("spec") or {}).get("minMember", 1)}}
        case _:
            return content


def unmark(live: ReadManifest) -> ReadManifest:
    """The object without the mark of an earlier run, and without what that run recorded; others stay as they are."""
    mark = read_mark(live)
    if mark is None or mark.revision != FOREIGN_REVISION:
        return live
    ours = {contract.ANNOTATION_RENDERING, contract.ANNOTATION_LAST_APPLIED}
    annotations = {key: text for key, text in annotations_of(live).items() if key not in ours}
    return {**live, "metadata": {**live["metadata"], "annotations": annotations}}


def find_obstacle(live: ReadManifest) -> str:
    """Why no hook could return the object as it is, as half a sentence; empty if one can."""
    content = read_content(live)
    size = len(orjson.dumps(content))
    if size > MAX_CHILD_BYTES:
        return f"it has {size} bytes as JSON, and Metacontroller can record {MAX_CHILD_BYTES}"
    return find_fault(content) or ""


def _check_free(live: ReadManifest, owner: OwnerReference) -> None:
    """Check that the object has no other controller; an earlier one of the same kind and name does not count."""
    found = controller_of(live)
    if found is not None and found.get("uid") != owner["uid"] and not is_same_name(found, owner):
        raise Taken(f"it belongs to {found.get('kind')} {found.get('name')}")


def is_same_name(reference: Mapping[str, Json], other: Mapping[str, Json]) -> bool:
    """Whether two references name one kind and name; with two uids, the object of one of them is gone."""
    group = str(reference.get("apiVersion", "")).partition("/")[0]
    other_group = str(other.get("apiVersion", "")).partition("/")[0]
    return (group, reference.get("kind"), reference.get("name")) == (other_group, other.get("kind"), other.get("name"))


def _merge_owners(live: ReadManifest, change: Change) -> list[OwnerReference]:
    """The references of others as they are, in their order, then new ones; none to a namesake that is gone."""
    wanted = [*([change.owner] if change.owner else []), *change.beside]
    by_uid = {str(one["uid"]): one for one in wanted}
    merged: list[OwnerReference] = []
    for found in live["metadata"].get("ownerReferences") or ():
        if found.get("uid") in by_uid:
            merged.append(_keep_form(found, by_uid.pop(found["uid"])))
        elif not any(is_same_name(found, one) for one in wanted):
            merged.append(found)
    return [*merged, *by_uid.values()]


def _keep_form(found: OwnerReference, wanted: OwnerReference) -> OwnerReference:
    """The reference as it stands if it says the same about control, whatever it says about `blockOwnerDeletion`.

    It names the owner by our version: the version that it names may not be served for ever.
    """
    return name_owner(found) if bool(found.get("controller")) is bool(wanted.get("controller")) else wanted


def _annotate(manifest: Manifest, key: str, value: str) -> Manifest:
    annotations = {**annotations_of(manifest), key: value}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def _is_others(annotation: str) -> bool:
    return annotation == contract.ANNOTATION_LAST_APPLIED or annotation.startswith(_OTHERS_ANNOTATIONS)


def _of_service(spec: Mapping[str, Json]) -> dict[str, Json]:
    ports = [{key: value for key, value in port.items() if key != "nodePort"} for port in spec.get("ports") or ()]
    kept = {key: value for key, value in spec.items() if key not in _ALLOCATED}
    if kept.get("clusterIP") != "None":
        kept.pop("clusterIP", None)
    return {**kept, **({"ports": ports} if ports else {})}


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value
