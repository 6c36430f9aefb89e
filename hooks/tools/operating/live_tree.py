"""Reads a graph with all that belongs to it: its objects, the models that it serves, and the last Events of all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, gvk_of, is_deleting
from hooks.ground.k8s.unmanaged_pods import describe_unmanaged, find_unmanaged
from hooks.tools.offline.simulation.trees import ObjectTree, describe_object
from hooks.tools.offline.simulator.resources import REPLICA_SET
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.live_reader import read_graph
from hooks.tools.operating.reasons import find_reasons
from hooks.wire.world.objects import World

_LABELLED = (
    contract.COMPONENT,
    contract.SCALING_ADAPTER,
    kinds.DEPLOYMENT,
    REPLICA_SET,
    kinds.LEADER_WORKER_SET,
    kinds.POD,
    kinds.SERVICE,
    kinds.INGRESS,
)
"""Kinds whose objects carry the graph's label, because the hooks or the pod template give it."""
_UNLABELLED = (
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.STATEFUL_SET,
    kinds.POD_CLIQUE_SET,
    kinds.POD_CLIQUE,
    kinds.POD_CLIQUE_SCALING_GROUP,
)
"""Kinds of which all objects of the namespace are read: those of the graph follow from their owners."""
_MOST_EVENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTree:
    """A graph as it is. `reasons` say why it is not ready; `unread` are sentences about what the user may not read.

    `unmanaged` name the pods that have the graph's label, and that belong to no workload of it.
    """

    graph: Manifest
    models: tuple[Manifest, ...]
    objects: ObjectTree
    reasons: tuple[str, ...]
    events: tuple[ReadManifest, ...]
    unread: tuple[str, ...]
    unmanaged: tuple[str, ...] = ()


def read_tree(cluster: Cluster, read: ReadManifest, now: datetime) -> LiveTree:
    """Read all objects of the graph.

    Raises:
        Refused: the API server does not answer. What it does not show to the user is noted instead.
    """
    graph, whole = dict(read), (*_UNLABELLED, contract.MODEL, kinds.EVENT)
    world = read_graph(cluster, graph, labelled=_LABELLED, whole=whole)
    found = [one for kind in (*_LABELLED, *_UNLABELLED) for one in world.of_kind(kind) if not _is_old(one)]
    models = [one for one in world.of_kind(contract.MODEL) if _serves(graph, one)]
    objects = ObjectTree([graph, *models, *found])
    below = objects.descendants(graph)
    known = {str(one["metadata"].get("uid")) for one in (graph, *models, *below)}
    events = [one for one in world.of_kind(kinds.EVENT) if _subject_of(one) in known]
    return LiveTree(
        graph=graph,
        models=tuple(models),
        objects=objects,
        reasons=find_reasons(graph, below, now),
        events=tuple(sorted(events, key=time_of)[-_MOST_EVENTS:]),
        unread=world.unread,
        unmanaged=_find_unmanaged(graph, found, world),
    )


def _find_unmanaged(graph: Manifest, found: Iterable[ReadManifest], world: World) -> tuple[str, ...]:
    """The pods with the graph's label that nothing of it manages, where their owners could be read."""
    doubtful = (*_LABELLED, *_UNLABELLED) if world.unread else ()
    unread = {kind.kind for kind in doubtful if not world.of_kind(kind)}
    uid = str(graph["metadata"].get("uid"))
    return tuple(map(describe_unmanaged, find_unmanaged(world.of_kind(kinds.POD), found, {uid}, unread)))


def time_of(event: ReadManifest) -> str:
    """When the event happened last, in RFC 3339; empty if it does not say."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), "") or event["metadata"].get("creationTimestamp") or "")


def describe_live(obj: Manifest, objects: ObjectTree) -> str:
    """An object's state in a few words, as a simulation shows it; a pod's with restarts, an adapter's with replicas."""
    state = describe_object(obj, objects)
    if gvk_of(obj) == contract.SCALING_ADAPTER:
        wanted, has = (obj.get("spec") or {}).get("replicas"), (obj.get("status") or {}).get("replicas")
        counted = f"{wanted} replicas wanted" if has is None else f"{has}/{wanted} replicas"
        return ", ".join(filter(None, (counted, state)))
    if gvk_of(obj) != kinds.POD:
        return state
    counts = [one.get("restartCount", 0) for one in (obj.get("status") or {}).get("containerStatuses") or ()]
    restarts = f", {sum(counts)} restart{'' if sum(counts) == 1 else 's'}" if sum(counts) else ""
    return f"{'Terminating' if is_deleting(obj) else state}{restarts}"


def _is_old(obj: ReadManifest) -> bool:
    """Whether it is a ReplicaSet of an earlier rollout, of which a Deployment keeps ten."""
    has = (obj.get("status") or {}).get("replicas", 0)
    return gvk_of(obj) == REPLICA_SET and not (obj.get("spec") or {}).get("replicas") and not has


def _serves(graph: ReadManifest, model: ReadManifest) -> bool:
    services: Iterable[Mapping[str, Json]] = ((graph.get("spec") or {}).get("services") or {}).values()
    bases = {(service.get("modelRef") or {}).get("name") for service in services}
    return (model.get("spec") or {}).get("baseModelName") in bases - {None}


def _subject_of(event: ReadManifest) -> str:
    return str((event.get("involvedObject") or {}).get("uid") or "")
