"""Whether what a difference said has arrived in the cluster: every changed object, and the pods of its services."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.types import Json, ReadManifest, labels_of
from hooks.tools.offline.diff.live_state import LiveState, Place, group_pods
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.said import Announced
from hooks.tools.operating.cluster import Cluster
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.policy.applied_condition import APPLIED
from hooks.wire.world.objects import ObjectId

_REPORTING = (contract.GRAPH, contract.COMPONENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What is not there yet, as sentences; and the pods of each service."""

    waiting: tuple[str, ...]
    pods: Mapping[Place, tuple[str, ...]]


def read_live_state(cluster: Cluster, found: Difference, live: Mapping[ObjectId, ReadManifest]) -> LiveState:
    """What runs now of that which a difference is about.

    Raises:
        Refused: the API server does not answer, or does not show the pods.
    """
    roots = [one.id for one in found.objects if one.owner is None and one.id in live]
    places = {one.set.workload.namespace for one in found.pods}
    return LiveState(
        generations={key: int(live[key]["metadata"].get("generation") or 0) for key in roots},
        pods=group_pods(_read_pods(cluster, places)),
    )


def look(cluster: Cluster, said: Announced) -> Arrival:
    """What has arrived of that which was said.

    Raises:
        Refused: the API server does not answer, or does not show the objects.
    """
    waiting = [text for key, generation in said.objects.items() if (text := _wait_for(cluster, key, generation))]
    graphs = {one.place[:2] for one in said.services if one.place[1]}
    graphs |= {(key.namespace, key.name) for key in said.objects if key.is_a(contract.GRAPH)}
    for namespace in said.namespaces:
        for kind in _REPORTING:
            for one in cluster.read_all(kind, namespace):
                graph = labels_of(one).get(contract.LABEL_GRAPH) if kind == contract.COMPONENT else None
                name = graph or one["metadata"]["name"]
                is_meant = (namespace, name) in graphs or ObjectId.of(one) in said.objects
                waiting.extend(_find_unsettled(one) if is_meant else ())
    return Arrival(waiting=tuple(dict.fromkeys(waiting)), pods=group_pods(_read_pods(cluster, said.namespaces)))


def _wait_for(cluster: Cluster, key: ObjectId, generation: int | None) -> str:
    """Why an object counts as not applied; empty if it is, or if its generation does not say."""
    kind = next((one for one in OUR_KINDS if key.is_a(one)), None)
    if kind is None:
        return ""
    found = cluster.find(kind, key.name, key.namespace)
    if found is None:
        return f"{key} is not there yet"
    if generation is not None and int(found["metadata"].get("generation") or 0) <= generation:
        return f"{key} is not applied yet"
    return ""


def _find_unsettled(one: ReadManifest) -> Iterator[str]:
    """Why an object is not as its newest spec wants it, as its status says."""
    key, status = ObjectId.of(one), one.get("status") or {}
    if status.get("observedGeneration") != one["metadata"].get("generation"):
        yield f"{key}: the hooks have not seen its newest spec yet"
        return
    for name in (APPLIED, READY):
        found: Mapping[str, Json] = find_condition(status.get("conditions") or (), name) or {}
        if found.get("status") != "True":
            yield f"{key}: {name} is {found.get('status', 'not reported')}: {found.get('message', '')}"
            return


def _read_pods(cluster: Cluster, namespaces: Iterable[str]) -> Iterator[ReadManifest]:
    for namespace in sorted(namespaces):
        yield from cluster.read_all(kinds.POD, namespace, labelSelector=contract.LABEL_COMPONENT)
