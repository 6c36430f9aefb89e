"""A recorded call in parts: the object that it is about, its children, what was wanted; and the call with others."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, controller_of, gvk_of, object_key
from hooks.server.recording.calls import Answered, RecordedCall
from hooks.wire.policy.holding import HELD
from hooks.wire.world.applying import apply
from hooks.wire.world.objects import ObjectId, Owned, World

_PARENT = ("parent", "object")
_CHILDREN = ("children", "attachments")
"""In a request of a composite controller, and in one of a decorator; in an answer likewise."""


def parent_of(call: RecordedCall) -> Manifest:
    """The object that the call is about."""
    found: Manifest = next(call.request[key] for key in _PARENT if call.request.get(key))
    return found


def id_of(call: RecordedCall) -> ObjectId:
    """Which object the call is about."""
    return ObjectId.of(parent_of(call))


def owner_of(manifest: ReadManifest) -> ObjectId | None:
    """The object's controller, None if it has none."""
    found = controller_of(manifest)
    if found is None:
        return None
    group = str(found.get("apiVersion", "")).rpartition("/")[0]
    where = str(manifest["metadata"].get("namespace") or "")
    return ObjectId(namespace=where, kind=str(found.get("kind")), name=str(found.get("name")), group=group)


def stage_of(call: RecordedCall) -> str:
    """`sync`, `finalize` or `customize`."""
    return call.path.rpartition("/")[2]


def children_of(call: RecordedCall) -> dict[ObjectId, Manifest]:
    """The live children that the call shows."""
    where = str(parent_of(call)["metadata"].get("namespace") or "")
    kinds = [found for key in _CHILDREN for found in (call.request.get(key) or {}).values()]
    return {ObjectId.of(one, where): one for found in kinds for one in found.values()}


def wanted_of(answered: Answered) -> list[Manifest] | None:
    """The children that an answer wants; None if it is an error, or about something else."""
    if answered.code != 200 or not isinstance(answered.answer, Mapping):
        return None
    return [child for key in _CHILDREN for child in answered.answer.get(key) or ()]


def is_held(answered: Answered) -> bool:
    """Whether the answer says that workloads wait with new defaults."""
    status = answered.answer.get("status") if isinstance(answered.answer, Mapping) else None
    found = find_condition((status or {}).get("conditions") or (), HELD)
    return found is not None and found.get("status") == "True"


def with_children(call: RecordedCall, children: Iterable[Manifest]) -> RecordedCall:
    """The same call with these live children."""
    name = next((key for key in _CHILDREN if key in call.request), _CHILDREN[0])
    by_kind: dict[str, dict[str, Json]] = {key: {} for key in call.request.get(name) or {}}
    where = str(parent_of(call)["metadata"].get("namespace") or "")
    for one in children:
        own = str(one["metadata"].get("namespace") or "")
        key = str(one["metadata"]["name"]) if own == where else object_key(one)
        by_kind.setdefault(gvk_of(one).key, {})[key] = one
    return replace(call, request={**call.request, name: by_kind})


def with_parent(call: RecordedCall, wanted: ReadManifest) -> RecordedCall:
    """The same call about its object as another answer wants it; the status and what identifies it stay."""
    live = parent_of(call)
    own = {key: wanted["metadata"].get(key) or {} for key in ("labels", "annotations")}
    changed = {**live, **{key: value for key, value in wanted.items() if key not in {"metadata", "status"}}}
    changed["metadata"] = {**live["metadata"], **own}
    name = next(key for key in _PARENT if call.request.get(key))
    return replace(call, request={**call.request, name: changed})


def apply_answer(call: RecordedCall, wanted: Iterable[Manifest]) -> tuple[dict[ObjectId, Manifest], set[ObjectId]]:
    """The children once the answer is applied, and which of them are deleted and created again on the way."""
    parent, children = parent_of(call), list(wanted)
    key = ObjectId.of(parent)
    first = World(objects={key: Owned(manifest=parent)}).with_children(parent, children_of(call))
    once = apply(children, parent, first)
    twice = apply(children, parent, once)
    after = dict(twice.owned.get(key, {}))
    return after, {one for one in after if one in first.objects and one not in once.objects}
