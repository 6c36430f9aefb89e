"""Pods of which only a row is known, as `kubectl get pods` shows it: which to read whole, and what stands for the rest.

A row says little, and its size is known. Pods of one revision were made from one template, so what a whole pod of a
revision says in its variables is true of the others. A row does not say that a node stopped reporting: such a pod
counts as ready until it is read whole.

Source: Kubernetes, pkg/printers/internalversion/printers.go, printPod.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hooks.ground.k8s.pod_reasons import SUMMARY, revision_of
from hooks.ground.k8s.types import Json, ReadManifest, controller_of, is_deleting, name_of

COLUMNS = ("Ready", "Status", "Readiness Gates")
_KEPT = (
    *("name", "namespace", "uid", "labels", "ownerReferences"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
)
_NO_GATES = "<none>"
_CALM = frozenset({"Running", "ContainerCreating", "PodInitializing"})
_BEGINS = re.compile(r"Init:[0-9]+/[0-9]+")
_CONTAINER = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRow:
    """A pod's metadata, how many of its containers are ready, its state in one word, and its readiness gates."""

    pod: ReadManifest
    ready: str
    state: str
    gates: str

    @property
    def is_ready(self) -> bool:
        """Whether all containers are ready, and all gates open."""
        return self.state == "Running" and _is_whole(self.ready) and (self.gates == _NO_GATES or _is_whole(self.gates))

    @property
    def kin(self) -> tuple[str, ...]:
        """What pods from one template have in common; a pod without a revision has that of its owner."""
        family, revision = revision_of(self.pod)
        owner = controller_of(self.pod) or {}
        return (family, revision) if revision else (family, "", str(owner.get("uid") or name_of(self.pod)))

    @property
    def rank(self) -> tuple[int, str, str]:
        """What sorts rows by how much their pods explain: first what failed, then what waits; the oldest first."""
        is_calm = is_deleting(self.pod) or self.state in _CALM or _BEGINS.fullmatch(self.state) is not None
        return 2 if self.is_ready else 1 if is_calm else 0, _created(self.pod), name_of(self.pod)


def choose_whole(rows: Iterable[PodRow], most: int) -> list[str]:
    """The names of the pods that explain most: the worst of the newest revision, one of each other, then other states.

    What keeps a workload from being ready is seen in its newest pods; which generations there are, in one of each.
    """
    by_rank = sorted(rows, key=lambda row: row.rank)
    newest: dict[tuple[str, ...], str] = {}
    for row in by_rank:
        newest[row.kin] = max(newest.get(row.kin, ""), _created(row.pod))
    kins = sorted(newest, key=lambda kin: (newest[kin], kin), reverse=True)
    firsts = [next(row for row in by_rank if row.kin == kin) for kin in kins]
    seen = {row.state for row in firsts}
    others: dict[str, PodRow] = {}
    for row in by_rank:
        if row.kin == kins[0] and row.state not in seen:
            others.setdefault(row.state, row)
    chosen = dict.fromkeys(name_of(row.pod) for row in (*firsts, *others.values(), *by_rank))
    return list(chosen)[:most]


def summarise(row: PodRow, kin: ReadManifest, variables: Collection[str]) -> ReadManifest:
    """What stands for a pod that is not read: its metadata, whether it is ready, and the variables of its kin."""
    metadata = {key: row.pod["metadata"][key] for key in _KEPT if key in row.pod["metadata"]}
    state = {} if row.is_ready else {"waiting": {"reason": row.state.removeprefix("Init:")}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        SUMMARY: True,
        "metadata": metadata,
        "spec": {"containers": [{"name": _CONTAINER, "env": _variables_of(kin, variables)}]},
        "status": {
            "phase": "Pending" if row.state == "Pending" else "Running",
            "conditions": [{"type": "Ready", "status": "True" if row.is_ready else "False"}],
            "containerStatuses": [{"name": _CONTAINER, "ready": row.is_ready, "state": state}],
        },
    }


def _variables_of(pod: ReadManifest, names: Collection[str]) -> list[Mapping[str, Json]]:
    spec = pod.get("spec") or {}
    return [
        {"name": entry["name"], "value": str(entry.get("value") or "")}
        for field in ("containers", "initContainers")
        for container in spec.get(field) or ()
        for entry in container.get("env") or ()
        if entry.get("name") in names
    ]


def _is_whole(share: str) -> bool:
    part, _, whole = share.partition("/")
    return part == whole and part.isdecimal()


def _created(pod: ReadManifest) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")
