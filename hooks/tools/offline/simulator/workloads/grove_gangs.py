"""The gang of a PodCliqueSet: when its pods may be scheduled, and when Grove ends it.

Pods get a gate when they are made. Those of the base gang lose it when all pods of the gang exist; those of further
replicas of a group when each part of the base gang has its least number of pods on nodes. A part that stays below its
least for the set's termination delay ends the gang: all PodCliques are deleted, and made again from the template.

Source: Grove v0.1.0-alpha.12, operator/internal/controller/podclique/components/pod/syncflow.go, and
podcliqueset/components/podcliquesetreplica/gangterminate.go.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.grove_parts import GATE, LABEL_GROUP
from hooks.ground.k8s.types import Manifest, labels_of
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.store import Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.grove_pods import BREACHED, LABEL_GROUP_REPLICA, SCHEDULED
from hooks.tools.offline.simulator.workloads.owned import owned_by, pods_of
from hooks.tools.offline.simulator.workloads.pods import is_gated

_UNITS = {"h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
ENDING = {"type": "GangTerminationInProgress", "status": "True"}
_NEW = timedelta(seconds=5)
"""A part that has been below its least ever since it was made, but for its first seconds, ends no gang."""


def parts_of(store: Store, pod_clique_set: Manifest) -> list[Manifest]:
    """The PodCliques and groups that a set owns, without the members of groups."""
    owned = (owned_by(store, pod_clique_set, kind) for kind in (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP))
    return [part for parts in owned for part in parts]


def cliques_of_set(store: Store, pod_clique_set: Manifest) -> list[Manifest]:
    """All PodCliques of a set, also the members of its groups."""
    parts = parts_of(store, pod_clique_set)
    groups = [part for part in parts if part["kind"] == kinds.POD_CLIQUE_SCALING_GROUP.kind]
    members = [member for group in groups for member in owned_by(store, group, kinds.POD_CLIQUE)]
    return [part for part in parts if part not in groups] + members


def open_gates(store: Store, client: Client, pod_clique_set: Manifest) -> None:
    """Take the gates off the pods that may be scheduled now."""
    cliques = cliques_of_set(store, pod_clique_set)
    base = [clique for clique in cliques if _is_base(store, clique)]
    is_complete = all(len(pods_of(store, clique)) >= clique["spec"]["replicas"] for clique in base)
    is_placed = all(_count_placed(store, clique) >= clique["spec"]["minAvailable"] for clique in base)
    for clique in cliques:
        if is_complete if clique in base else is_placed:
            for pod in filter(is_gated, pods_of(store, clique)):
                left = [gate for gate in pod["spec"]["schedulingGates"] if gate["name"] != GATE]
                client.update({**pod, "spec": {**pod["spec"], "schedulingGates": left}})


def end_gang(store: Store, client: Client, pod_clique_set: Manifest) -> None:
    """Delete all PodCliques of a set, and mark its groups, which do not end the gang again before they recover."""
    for clique in cliques_of_set(store, pod_clique_set):
        client.delete(ref_of(clique))
    for group in owned_by(store, pod_clique_set, kinds.POD_CLIQUE_SCALING_GROUP):
        status = group.get("status", {})
        client.update_status({**group, "status": {**status, "conditions": [*status.get("conditions", ()), ENDING]}})


def is_breached(part: Mapping[str, Any]) -> bool:
    """Whether a part is below its least, after it was not."""
    return _since(part) is not None


def termination_of(pod_clique_set: Manifest, parts: Iterable[Manifest]) -> datetime | None:
    """When the gang ends unless all parts have enough pods before; None for never."""
    written = pod_clique_set["spec"]["template"]["terminationDelay"]
    delay = sum((int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([hms])", written)), timedelta())
    times = [since for part in parts if (since := _since(part)) is not None]
    return min(times) + delay if times else None


def _since(part: Mapping[str, Any]) -> datetime | None:
    conditions: Sequence[Mapping[str, Any]] = part.get("status", {}).get("conditions", ())
    breached, scheduled = (find_condition(conditions, name) for name in (BREACHED, SCHEDULED))
    if ENDING in conditions or breached is None or breached["status"] != "True":
        return None
    since = datetime.fromisoformat(breached["lastTransitionTime"])
    began = datetime.fromisoformat(part["metadata"]["creationTimestamp"])
    has_run = scheduled or breached  # groups have no condition about nodes
    was_well = has_run is scheduled and has_run["status"] == "True"
    return since if was_well or datetime.fromisoformat(has_run["lastTransitionTime"]) > began + _NEW else None


def _is_base(store: Store, clique: Manifest) -> bool:
    labels, kind = labels_of(clique), kinds.POD_CLIQUE_SCALING_GROUP
    if LABEL_GROUP not in labels:
        return True
    group = store.get(Ref(kind.group, kind.kind, clique["metadata"]["namespace"], labels[LABEL_GROUP]))
    return group is not None and int(labels[LABEL_GROUP_REPLICA]) < int(group["spec"]["minAvailable"])


def _count_placed(store: Store, clique: Manifest) -> int:
    return sum("nodeName" in pod["spec"] for pod in pods_of(store, clique))
