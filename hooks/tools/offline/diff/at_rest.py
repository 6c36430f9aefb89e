"""What is live without the marks of a rollout that has not ended: they go when it ends, whatever is applied."""

from collections.abc import Mapping
from dataclasses import replace

from hooks.graph.change.pacing import has_pace
from hooks.ground.k8s.types import Json, Manifest
from hooks.ground.k8s.workloads import PACED_FIELDS
from hooks.tools.world.settling import Settled, without_pace
from hooks.wire.world.objects import ObjectId, Owned


def at_rest(before: Settled, after: Settled) -> Settled:
    """What was before; what rolls in sets has no pace, and workloads have the fields of it as they are afterwards."""
    if not any(has_pace(one.manifest) for one in before.world.objects.values()):
        return before
    rested = {key: _rest(key, one, before, after) for key, one in before.world.objects.items()}
    return replace(before, world=replace(before.world, objects=rested))


def _rest(key: ObjectId, one: Owned, before: Settled, after: Settled) -> Owned:
    names, now = PACED_FIELDS.get(key.kind, frozenset()), after.world.find(key)
    if not names or now is None or one.owner is None or not _is_paced(one.owner, before):
        return replace(one, manifest=without_pace(one.manifest)) if has_pace(one.manifest) else one
    if _replicas(one.owner, before) != _replicas(one.owner, after):
        names -= {"replicas"}
    return replace(one, manifest=_with_fields(one.manifest, now.get("spec") or {}, names))


def _is_paced(key: ObjectId, settled: Settled) -> bool:
    found = settled.world.find(key)
    return found is not None and has_pace(found)


def _replicas(key: ObjectId, settled: Settled) -> Json:
    return ((settled.world.find(key) or {}).get("spec") or {}).get("replicas")


def _with_fields(manifest: Manifest, source: Mapping[str, Json], names: frozenset[str]) -> Manifest:
    """The object with these fields of another spec, or without those that it does not have."""
    kept = {key: value for key, value in (manifest.get("spec") or {}).items() if key not in names}
    return {**manifest, "spec": {**kept, **{name: source[name] for name in sorted(names) if name in source}}}
