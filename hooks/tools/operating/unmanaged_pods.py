"""Finds a cluster's pods that have the label of a graph, and that no workload of a graph manages. It writes nothing.

The owners of pods are of kinds that differ by cluster, so they are read kind by kind, as the references name them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, controller_of, plural_of
from hooks.ground.k8s.unmanaged_pods import find_unmanaged
from hooks.tools.operating.live_reader import LiveReader, title_of
from hooks.wire.metacontroller.controllers import OUR_KINDS

_LONGEST = 8
"""A chain of owners is no longer: pod, PodClique, scaling group, set, graph."""


@dataclass(frozen=True, slots=True)
class _Owner:
    kind: GroupVersionKind
    uid: str


def read_unmanaged(reader: LiveReader, ours: Iterable[ReadManifest]) -> tuple[ReadManifest, ...]:
    """The pods of all namespaces that have no owner here; `ours` are all graphs and components.

    Nothing is said of pods whose owners the user may not read.

    Raises:
        Refused: the API server does not answer.
    """
    ours = tuple(ours)
    known = {str(one["metadata"].get("uid")): one for one in ours}
    graphs = frozenset(uid for uid, one in known.items() if one["kind"] == contract.GRAPH.kind)
    pods = tuple(map(_slim, reader.read_all("pods", kinds.POD, labelSelector=contract.LABEL_GRAPH)))
    asked: set[GroupVersionKind] = set()
    below: Iterable[ReadManifest] = pods
    for _ in range(_LONGEST):
        owners = {owner for one in below if (owner := _owner_of(one)) is not None and owner.uid not in known}
        for kind in sorted({owner.kind for owner in owners} - asked, key=lambda one: one.key):
            found = reader.read_all(title_of(kind), kind)
            known |= {str(one["metadata"].get("uid")): _slim(one) for one in found}
        asked |= {owner.kind for owner in owners}
        below = [known[owner.uid] for owner in owners if owner.uid in known]
    unread = {kind.kind for kind in asked if title_of(kind) in reader.unread}
    unread |= {kind.kind for kind in OUR_KINDS if plural_of(kind) in reader.unread}
    return tuple(find_unmanaged(pods, known.values(), graphs, unread))


def _owner_of(manifest: ReadManifest) -> _Owner | None:
    reference = controller_of(manifest)
    if reference is None:
        return None
    group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
    kind = GroupVersionKind(group, version, str(reference.get("kind")))
    return None if group == contract.GROUP else _Owner(kind, str(reference.get("uid")))


def _slim(one: ReadManifest) -> ReadManifest:
    """What leads to an owner: there may be thousands of pods."""
    kept = ("name", "namespace", "uid", "ownerReferences", "deletionTimestamp")
    metadata = {key: one["metadata"][key] for key in kept if key in one["metadata"]}
    return {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": metadata}
