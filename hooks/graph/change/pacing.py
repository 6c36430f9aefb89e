"""The pace of a rollout: how many old pods of each worker its component keeps, by the pods that are observed.

It is for graphs of components in which several workers have Deployments. Only while these roll from one generation to
the next, each component has the number in an annotation; the component hook makes a Deployment's strategy of it. While
pods cannot be read, none of the new generation counts, so no old one ends.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hooks.component.plan.strategy import find_spare, find_surge
from hooks.component.report.progress import has_ended, suffix_of
from hooks.component.spec.subject import ComponentType
from hooks.graph.change.complete_sets import WorkerPods, find_behind, find_pace
from hooks.graph.change.shares import REGISTERS_IN, variable_of
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.ground import contract
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.not_ready import NotReadyReason
from hooks.ground.k8s.pod_reasons import SUMMARY, revision_of
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, gvk_of, is_deleting, labels_of, name_of
from hooks.ground.settings import Settings, Switch
from hooks.wire.metacontroller.children import Children
from hooks.wire.policy.on_demand import NOT_YET_READ
from hooks.wire.policy.rollout_pace import RolloutPace

_NO_ROOM = frozenset({NotReadyReason.UNSCHEDULABLE.value, NotReadyReason.QUOTA_DENIED.value})
_RESTARTS = (contract.ANNOTATION_RESTART_AT, contract.ANNOTATION_RESTARTED_AT)


class RolloutState(StrEnum):
    """What the rollout of a graph's workers does now; the first of these that holds, from top to bottom."""

    AT_REST = "AtRest"
    """Nothing rolls in sets, or all new pods are ready: no component has a pace."""
    UNKNOWN = "Unknown"
    """Pods of some worker are not known: no old one ends until they are."""
    PAUSED = "Paused"
    """The graph's annotation says so: no pod is made and none ends, of no generation."""
    NO_ROOM = "NoRoom"
    """New pods find no room, and no old set makes room: one alone is left, or the time before that is not over."""
    STALLED = "Stalled"
    """No new pod became ready for the time that a setting says. Old pods serve; it goes on as soon as one is ready."""
    CANARY = "Canary"
    """As many sets of the new generation as the graph's annotation asks for are ready: it waits until that goes."""
    ROLLING = "Rolling"
    """New pods come up, or old ones end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutInSets:
    """Where the rollout of a graph's workers stands; `roles` is empty while nothing rolls in sets.

    `names` are the components of the roles, by service, `paces` those of live ones; without any, all new pods are
    ready, or nothing rolls. `unread` says by service why its pods are not known. `crowded` are the services
    whose new pods find no room.
    """

    roles: Mapping[str, WorkerPods] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    paces: Mapping[str, RolloutPace] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    crowded: tuple[str, ...] = ()

    @property
    def state(self) -> RolloutState:
        """What it does now."""
        if not self.paces:
            return RolloutState.AT_REST
        if self.unread:
            return RolloutState.UNKNOWN
        return RolloutState.NO_ROOM if self.crowded else RolloutState.ROLLING

    @property
    def behind(self) -> tuple[str, ...]:
        """The services whose next ready pod the others wait for."""
        return find_behind(self.roles)


NONE = RolloutInSets()
NOWHERE: Mapping[str, Json] = {}


def plan_rollout(
    children: Iterable[Manifest], seen: ObservedGraph, settings: Settings, namespaces: Mapping[str, Json] = NOWHERE
) -> RolloutInSets:
    """The pace of the workers among a graph's children; with one worker alone, Kubernetes' own is right.

    `namespaces` are by service the Dynamo namespaces of their newest pods; without them only a rollout that has begun
    goes on. Where pods are never read, each Deployment rolls for itself.
    """
    workers = {_service_of(one): one for one in children if _is_paced(one)}
    live = {one: found for one, worker in workers.items() if (found := _find_live(worker, seen)) is not None}
    rolls = any(_is_rolling(workers[one], found, namespaces.get(one)) for one, found in live.items())
    if settings.explain_pods is Switch.OFF or len(workers) < 2 or not rolls:
        return NONE
    crowded = tuple(sorted(one for one, found in live.items() if found.reason in _NO_ROOM))
    roles = {one: _observe_role(worker, seen) for one, worker in workers.items()}
    paces = find_pace(roles, is_crowded=bool(crowded))
    return RolloutInSets(
        roles=roles,
        names={one: name_of(worker) for one, worker in workers.items()},
        paces={one: pace for one, pace in paces.items() if one in live},
        unread={one: seen.pod_faults.get(one, NOT_YET_READ) for one in workers if not seen.knows_pods(one)},
        crowded=crowded,
    )


def pace_children(children: Children, rollout: RolloutInSets, seen: ObservedGraph) -> Children:
    """The children with the pace in the components' annotations; the same object if none changes."""
    paces = {rollout.names[service]: str(pace) for service, pace in rollout.paces.items()}
    if not paces and not any(one.is_paced for one in seen.components.values()):
        return children
    return Children(
        _annotate(one, paces.get(name_of(one), "")) if gvk_of(one) == contract.COMPONENT else one for one in children
    )


def _annotate(component: Manifest, pace: str) -> Manifest:
    """The component with this pace, or without one; what is returned as last applied may have an earlier one."""
    others = {key: value for key, value in annotations_of(component).items() if key != contract.ANNOTATION_PACE}
    annotations = {**others, **({contract.ANNOTATION_PACE: pace} if pace else {})}
    metadata = {key: value for key, value in component["metadata"].items() if key != "annotations"}
    said = {"annotations": dict(sorted(annotations.items()))} if annotations else {}
    return {**component, "metadata": {**metadata, **said}}


def _is_paced(child: Manifest) -> bool:
    """Whether a child is a worker with a Deployment, of which pods are wanted."""
    if gvk_of(child) != contract.COMPONENT or _is_multinode(child["spec"]):
        return False
    is_worker = ComponentType.of(str(child["spec"].get("componentType") or "")).is_worker
    return is_worker and bool(_service_of(child)) and _wanted(child) > 0


def _service_of(worker: Manifest) -> str:
    """Its service; a component that a Go operator left, and that stays as it is, says it in a label alone."""
    return str(worker["spec"].get("serviceName") or labels_of(worker).get(contract.LABEL_COMPONENT) or "")


def _is_multinode(spec: Mapping[str, Json]) -> bool:
    return int((spec.get("multinode") or {}).get("nodeCount") or 1) > 1


def _wanted(worker: Manifest) -> int:
    replicas = worker["spec"].get("replicas")
    return replicas if isinstance(replicas, int) else 1


def _find_live(worker: Manifest, seen: ObservedGraph) -> ChildComponent | None:
    found = seen.components.get(name_of(worker))
    return None if found is None or found.is_deleting or not found.has_status else found


def _is_rolling(worker: Manifest, live: ChildComponent, namespace: Json) -> bool:
    """Whether its newest pods are to be of another generation than some of its pods, or a rollout is not over.

    After a change that is taken back the status names the wanted Dynamo namespace all the time.
    """
    is_at = live.service.get(REGISTERS_IN)
    has_moved = bool(is_at and namespace and is_at != namespace)
    return live.is_paced or has_moved or variable_of(live.spec) != variable_of(worker["spec"])


def _observe_role(worker: Manifest, seen: ObservedGraph) -> WorkerPods:
    """The pods of a worker, and what its annotations ask; what is not known of pods counts as old."""
    annotations, wanted = worker["spec"].get("annotations") or {}, _wanted(worker)
    asked, surge = find_spare(annotations, wanted), find_surge(annotations, wanted)
    if not seen.knows_pods(_service_of(worker)):
        return WorkerPods(wanted=wanted, ready=0, spare=asked, surge=surge)
    pods = [pod for pod in seen.pods.get(_service_of(worker), ()) if not is_deleting(pod) and not has_ended(pod)]
    new = _choose_new(worker, pods)
    ready = sum(map(is_pod_ready, new))
    return WorkerPods(wanted=wanted, ready=ready, old=len(pods) - len(new), spare=asked, surge=surge)


def _choose_new(worker: Manifest, pods: Collection[ReadManifest]) -> list[ReadManifest]:
    """The pods of the newest generation and the last restart; for a mere row a pod of its template speaks."""
    wanted = _restarts_of(worker["spec"])

    def is_new(pod: ReadManifest) -> bool:
        said = {key: annotations_of(pod).get(key, "") for key in _RESTARTS}
        return suffix_of(pod.get("spec") or {}) == variable_of(worker["spec"]) and said == wanted

    known = {revision_of(pod): is_new(pod) for pod in pods if SUMMARY not in pod}
    return [pod for pod in pods if (known.get(revision_of(pod), False) if SUMMARY in pod else is_new(pod))]


def _restarts_of(spec: Mapping[str, Json]) -> dict[str, str]:
    of_pods = (spec.get("extraPodMetadata") or {}).get("annotations") or {}
    of_service = spec.get("annotations") or {}
    return {
        contract.ANNOTATION_RESTART_AT: str(of_service.get(contract.ANNOTATION_RESTART_AT) or ""),
        contract.ANNOTATION_RESTARTED_AT: str(of_pods.get(contract.ANNOTATION_RESTARTED_AT) or ""),
    }
