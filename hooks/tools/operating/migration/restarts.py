"""How many pods an update of a workload restarts or ends, and in which fields another version of it differs."""

from collections.abc import Mapping
from itertools import islice

from hooks.ground.k8s import kinds
from hooks.ground.k8s.differences import find_differences
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.pod_sets import (
    NATIVE,
    ROLLING,
    RolePods,
    count_running_pods,
    count_wanted_pods,
    pods_by_role,
    wanted_replicas,
)
from hooks.ground.k8s.types import Json, ReadManifest, gvk_of
from hooks.tools.operating.migration.changes import as_ours
from hooks.wire.policy.new_defaults import MARKED, rolling_part

_SHOWN = 3
_LENGTH = 16
_OF_GROVE = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30}
"""What Grove's webhook fills in in the pods of a clique."""
_OF_CRDS = {"protocol": "TCP"}
"""What the CRDs of LeaderWorkerSets and PodCliqueSets fill in in a port; other defaults of pods they do not know."""


def count_restarts(before: ReadManifest, after: ReadManifest) -> int:
    """The number of running pods that an update of a workload replaces; the cliques of a scaling group go together."""
    if gvk_of(before) not in ROLLING:
        return 0
    old, new = ({one.role: one for one in pods_by_role(workload)} for workload in (before, after))
    changed = {
        (old.get(role) or new[role]).rolls_with
        for role in old | new
        if _pods_of(before, old.get(role)) != _pods_of(after, new.get(role))
    }
    if gvk_of(before) == kinds.POD_CLIQUE_SET:
        return sum(one.wanted for one in old.values() if one.rolls_with in changed)
    return count_running_pods(before) if changed else 0


def count_stops(before: ReadManifest, after: ReadManifest) -> int:
    """The number of running pods that an update of a workload removes, and that no other ones replace."""
    if gvk_of(before) not in ROLLING or count_restarts(before, after):
        return 0
    scaled = {**before, "spec": {**(before.get("spec") or {}), "replicas": wanted_replicas(after)}}
    return max(count_running_pods(before) - count_wanted_pods(scaled), 0)


def digest_pods(workload: ReadManifest) -> str:
    """A digest of what the pods of a workload or component are made from; empty for other objects."""
    if gvk_of(workload) not in MARKED:
        return ""
    return short_hash(canonical_json(rolling_part(as_ours(workload))), _LENGTH)


def _pods_of(workload: ReadManifest, role: RolePods | None) -> Json:
    """What the pods of a role are made from, as it is stored; None without the role."""
    if role is None:
        return None
    if gvk_of(workload) in NATIVE:
        return without_defaults(role.template)
    filled = _OF_GROVE if gvk_of(workload) == kinds.POD_CLIQUE_SET else {}
    return [role.each, role.labels, role.annotations, _as_stored({**filled, **role.pod_spec})]


def _as_stored(part: Json) -> Json:
    if isinstance(part, Mapping):
        return {key: _as_stored(value) for key, value in part.items() if _OF_CRDS.get(key) != value}
    return [_as_stored(one) for one in part] if isinstance(part, list) else part


def describe_differences(wanted: ReadManifest, live: ReadManifest) -> str:
    """The first fields in which the wanted object differs, in a few words; empty if there are none."""
    found = list(islice(find_differences({**wanted, "metadata": {}}, live), _SHOWN + 1))
    if not found:
        return ""
    shown = [str(one.path) for one in found[:_SHOWN]]
    return f"{', '.join(shown)}{' and more' if len(found) > _SHOWN else ''}"
