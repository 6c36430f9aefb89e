"""What must hold when the hooks are replaced by a version that renders other pods."""

from collections.abc import Iterator

import orjson

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, annotations_of
from hooks.wire.policy import rendering_mark
from tests.sequences.calls import Call
from tests.sequences.secrets import shows_missing_image
from tests.sequences.world import Step, World
from tests.templates import find_templates

_WORKLOADS = (kinds.DEPLOYMENT.kind, kinds.LEADER_WORKER_SET.kind, kinds.POD_CLIQUE_SET.kind)
_PARTS = (kinds.POD_CLIQUE.kind, kinds.POD_CLIQUE_SCALING_GROUP.kind)


def upgrades_roll_nothing(_world: World, step: Step) -> Iterator[str]:
    """A new version changes templates of workloads with ready pods only with the spec, or where the user says now."""
    for call in step.calls:
        is_asked = annotations_of(call.parent).get(contract.ANNOTATION_ROLLOUT) == "now"
        if call.stage == "sync" and call.said and not is_asked and not shows_missing_image(call):
            yield from _faults(call)


def _faults(call: Call) -> Iterator[str]:
    for kind in _WORKLOADS:
        wanted = call.wanted(kind)
        for live in call.children(kind):
            name, applied = live["metadata"]["name"], _read_applied(live)
            if name not in wanted or applied is None or "deletionTimestamp" in live["metadata"]:
                continue
            before, after = rendering_mark.read_mark(applied), rendering_mark.read_mark(wanted[name])
            is_same_wish = before is not None and after is not None and before.digest == after.digest
            if is_same_wish and find_templates([applied]) != find_templates([wanted[name]]) and _is_serving(live, call):
                yield f"{kind} {name} gets another template, {before} to {after}, although nobody asked for it"


def _read_applied(live: Manifest) -> Manifest | None:
    text = annotations_of(live).get(contract.ANNOTATION_LAST_APPLIED)
    return None if text is None else orjson.loads(text)


def _is_serving(live: Manifest, call: Call) -> bool:
    if live["kind"] != kinds.POD_CLIQUE_SET.kind:
        return bool((live.get("status") or {}).get("readyReplicas"))
    related = (call.request.get("related") or {}).values()
    parts = [found.get("status") or {} for group in related for found in group.values() if found["kind"] in _PARTS]
    return any(status.get("readyReplicas") or status.get("availableReplicas") for status in parts)
