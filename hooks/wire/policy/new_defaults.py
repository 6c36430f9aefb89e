"""The hold itself: which existing workloads, and which objects beside them, are returned as they were last applied.

`held` has the digests and the marks. Whether a workload has ready pods, and what its neighbours are, is known only to
the hook that renders it.
"""

from collections.abc import Collection, Iterable, Mapping

from hooks.ground import contract
from hooks.ground.k8s import kinds, pod_sets
from hooks.ground.k8s.conditions import Condition
from hooks.ground.k8s.pods import single_variables
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    Manifest,
    ReadManifest,
    annotations_of,
    gvk_of,
    is_deleting,
    name_of,
)
from hooks.ground.settings import Settings
from hooks.wire.metacontroller.last_applied import read_last_applied
from hooks.wire.policy.rendering_mark import FOREIGN_REVISION, NOT_ROLLING, mark, read_mark

HELD = "Held"
REASON = "NewDefaultsWait"
NOW = "now"

MARKED = pod_sets.ROLLING | {contract.COMPONENT}
"""Kinds that hooks mark with the rendering that they come from, so that they can be held."""
FOLLOWING = frozenset(
    {kinds.SERVICE, kinds.INGRESS, kinds.VIRTUAL_SERVICE, kinds.CONFIG_MAP, kinds.INFERENCE_POOL}
    | {kinds.SERVICE_ACCOUNT, kinds.ROLE, kinds.POD_GROUP}
)
"""Kinds that belong to the pods of a held workload. A Secret is none: its content follows another Secret's."""
_STRATEGY = "updateStrategy"
"""Field of a PodCliqueSet that decides about later changes of its pods, and restarts none itself."""
_SIZED = frozenset({kinds.POD_GROUP})
"""Kinds of which there is one for each replica."""


def takes_new_defaults(parent: ReadManifest, settings: Settings) -> bool:
    """Whether the parent's annotation or the setting lets workloads take new defaults now."""
    is_asked = annotations_of(parent).get(contract.ANNOTATION_ROLLOUT) == NOW
    return is_asked or settings.new_defaults == NOW


def find_held(wanted: Manifest, live: ReadManifest | None) -> Manifest | None:
    """The workload as it was last applied, with the wanted replicas and strategy, if new defaults would restart pods.

    None if it does not exist yet, or has no mark; if the present revision rendered it; if its spec has changed; or if
    its pods would not restart.
    """
    if live is None or is_deleting(live):
        return None
    applied = read_last_applied(live)
    return None if applied is None else _choose_held(wanted, single_variables(applied))


def _choose_held(wanted: Manifest, applied: ReadManifest) -> Manifest | None:
    """The same for a workload that was last applied like this."""
    now, before = read_mark(wanted), read_mark(applied)
    if before is None or now is None:
        return None
    if before.revision == now.revision or now.digest not in before.digests:
        return None
    is_found = now.digest != before.digests[0]  # the component, which is still to be changed
    return _hold(applied, wanted) if is_found or _restarts_pods(applied, wanted) else None


def keep_applied(wanted: Manifest, live: ReadManifest | None) -> Manifest | None:
    """The workload as it was last applied, with the wanted replicas and strategy; None if that is not recorded."""
    applied = None if live is None or is_deleting(live) else read_last_applied(live)
    return None if applied is None else _hold(applied, wanted)


def _hold(applied: ReadManifest, wanted: ReadManifest) -> Manifest:
    held, strategy = pod_sets.with_replicas_of(single_variables(applied), wanted), wanted["spec"].get(_STRATEGY)
    spec = {key: value for key, value in held["spec"].items() if key != _STRATEGY}
    return {**held, "spec": spec if strategy is None else {**spec, _STRATEGY: strategy}}


def keep_live_mark(wanted: Manifest, live: ReadManifest | None) -> Manifest:
    """The workload; with the live mark if other hooks, older or newer, rendered the same from the same spec.

    A Deployment with another annotation has another generation, so it would not be ready for a moment. And while two
    versions of the hooks answer in turn, during an upgrade, each would replace the other's mark.
    """
    name = contract.ANNOTATION_RENDERING
    if live is None or annotations_of(live).get(name) == annotations_of(wanted).get(name):
        return wanted
    found, ours = read_mark(live), read_mark(wanted)
    if found is None or ours is None or found.digest != ours.digest or found.revision == FOREIGN_REVISION:
        return wanted
    applied = read_last_applied(live)
    is_same = applied is not None and not _restarts_pods(applied, wanted)
    return mark(wanted, found.digest, found.revision) if is_same else wanted


def _restarts_pods(before: ReadManifest, after: ReadManifest) -> bool:
    if gvk_of(before) == contract.COMPONENT:
        return bool(rolling_part(before) != rolling_part(after))
    return pod_sets.restarts_pods(before, after)


def rolling_part(workload: ReadManifest) -> Json:
    """The part of a workload whose change restarts pods; of a component, all but its replicas."""
    if gvk_of(workload) != contract.COMPONENT:
        return pod_sets.rolling_part(workload)
    spec: Mapping[str, Json] = workload.get("spec") or {}
    return {key: value for key, value in spec.items() if key not in NOT_ROLLING}


def keep_following(
    children: Iterable[Manifest], observed: Mapping[tuple[GroupVersionKind, str], ReadManifest]
) -> list[Manifest]:
    """The children, with those that belong to the pods as they were last applied; `observed` are the live ones."""
    return [_keep(child, observed) for child in children]


def find_unwanted(
    children: Iterable[Manifest], observed: Mapping[tuple[GroupVersionKind, str], ReadManifest]
) -> list[Manifest]:
    """Objects as last applied that belong to the pods and that this version of the hooks no longer returns."""
    wanted = {_key(child) for child in children}
    left = (live for key, live in observed.items() if key not in wanted and key[0] in FOLLOWING - _SIZED)
    return [dict(applied) for live in left if not is_deleting(live) and (applied := read_last_applied(live))]


def index_children(children: Iterable[ReadManifest]) -> dict[tuple[GroupVersionKind, str], ReadManifest]:
    """Live children by kind and name."""
    return {_key(child): child for child in children}


def build_held_condition(parent: ReadManifest, waiting: Collection[str]) -> tuple[Condition, ...]:
    """The condition Held, which names the waiting workloads and the command; () if none waits."""
    if not waiting:
        return ()
    kind, name, namespace = parent["kind"].lower(), name_of(parent), parent["metadata"]["namespace"]
    command = f"kubectl annotate {kind} {name} -n {namespace} {contract.ANNOTATION_ROLLOUT}={NOW}"
    message = (
        f"{', '.join(sorted(waiting))}: pods keep running as they are, because new defaults would restart them; "
        f"they take the new defaults at the next change of the spec, or now by `{command}`"
    )
    return (Condition(type=HELD, status="True", reason=REASON, message=message),)


def _keep(child: Manifest, observed: Mapping[tuple[GroupVersionKind, str], ReadManifest]) -> Manifest:
    live = observed.get(_key(child))
    if live is None or is_deleting(live) or gvk_of(child) not in FOLLOWING:
        return child
    return dict(read_last_applied(live) or child)


def _key(manifest: ReadManifest) -> tuple[GroupVersionKind, str]:
    return gvk_of(manifest), name_of(manifest)
