"""What is live without the marks of a rollout that has not ended: they go when it ends, whatever is applied."""

from collections.abc import Mapping
from dataclasses import replace

from hooks.graph.change.pacing import PACING
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, annotations_of, gvk_of
from hooks.tools.world.settling import Settled, without_pace
from hooks.wire.world.objects import ObjectId, Owned

_PACED = {
    kinds.DEPLOYMENT.kind: ("minReadySeconds", "progressDeadlineSeconds", "strategy", "paused"),
    kinds.LEADER_WORKER_SET.kind: ("rolloutStrategy", "replicas"),
}
"""Fields of workloads by which the hooks pace a rollout in complete sets."""


def at_rest(before: Settled, after: Settled) -> Settled:
    """What was before; what rolls in sets has no pace, and workloads have the fields of it as they are afterwards."""
    if not any(_has_pace(one.manifest) for one in before.world.objects.values()):
        return before
    rested = {key: _rest(key, one, before, after) for key, one in before.world.objects.items()}
    return replace(before, world=replace(before.world, objects=rested))


def _rest(key: ObjectId, one: Owned, before: Settled, after: Settled) -> Owned:
    names, now = _PACED.get(key.kind, ()), after.world.find(key)
    if not names or now is None or one.owner is None or not _is_paced(one.owner, before):
        return replace(one, manifest=without_pace(one.manifest)) if _has_pace(one.manifest) else one
    if _replicas(one.owner, before) != _replicas(one.owner, after):
        names = tuple(name for name in names if name != "replicas")
    return replace(one, manifest=_with_fields(one.manifest, now.get("spec") or {}, names))


def _has_pace(manifest: Manifest) -> bool:
    return gvk_of(manifest) == contract.COMPONENT and bool(annotations_of(manifest).keys() & PACING)


def _is_paced(key: ObjectId, settled: Settled) -> bool:
    found = settled.world.find(key)
    return found is not None and _has_pace(found)


def _replicas(key: ObjectId, settled: Settled) -> Json:
    return ((settled.world.find(key) or {}).get("spec") or {}).get("replicas")


def _with_fields(manifest: Manifest, source: Mapping[str, Json], names: tuple[str, ...]) -> Manifest:
    """The object with these fields of another spec, or without those that it does not have."""
    kept = {key: value for key, value in (manifest.get("spec") or {}).items() if key not in names}
    return {**manifest, "spec": {**kept, **{name: source[name] for name in names if name in source}}}
