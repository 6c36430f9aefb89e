"""The progress of a component's workloads: which are not ready and why, and what cannot be changed in place."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.component.build import Built
from hooks.component.plan.component import ComponentPlan
from hooks.component.plan.selection import find_unselected
from hooks.component.seen.observe import ObservedComponent, Workloads
from hooks.component.spec.projection import with_suffix
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.pod_sets import count_running_pods, pods_by_role, wanted_replicas
from hooks.ground.k8s.readiness import (
    Readiness,
    describe_new,
    has_old_pods,
    read_deployment,
    read_leader_worker_set,
    reports_generation,
)
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, gvk_of, is_deleting, labels_of, name_of
from hooks.ground.settings import Switch
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.accepted_changes import AcceptedChanges
from hooks.wire.policy.applied_condition import Applied, Judged
from hooks.wire.policy.deviations import Deviance, Deviation, find_deviations
from hooks.wire.policy.on_demand import NOT_YET_READ

_ONE_MORE = "it has groups more than wanted while the graph's workers roll"
_STILL_THERE = "its replica is no longer wanted, and it is not deleted yet"
LABEL_SET = "leaderworkerset.sigs.k8s.io/name"
"""Label of the pods of a LeaderWorkerSet, with its name as the value."""
_UNMANAGED = (
    "it has no last-applied annotation, so changes to it cannot be followed: run Metacontroller with dynamic apply"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of all workloads.

    `waiting` has the workloads that are not ready, in order: name to reason. `applied` says which children are missing
    or not as wanted, `of_workloads` are those of them that are workloads. `remarks` are sentences for the user.
    `is_unconfirmed`: a live status has no generation, so it may belong to an older spec. `is_current`: the controllers
    of all workloads act on the newest spec. `is_rolling`: some pods still have an older spec. `held` names the
    workloads that wait with new defaults. `unselected` says which Service selects none of the pods; empty if none.
    `suffix` is the generation that the workloads give their workers, empty for none.
    """

    waiting: Mapping[str, str]
    applied: Applied
    of_workloads: tuple[Judged, ...]
    remarks: tuple[str, ...]
    is_unconfirmed: bool
    is_current: bool
    is_rolling: bool
    held: tuple[str, ...]
    unselected: str = ""
    suffix: str = ""


def find_component_deviations(
    plan: ComponentPlan, built: Built, request: SyncRequest, accepted: AcceptedChanges
) -> tuple[Deviation, ...]:
    """The children that are missing or not as wanted, and the workloads that this answer leaves out."""
    withheld = (
        Deviation(kind=gvk_of(workload), name=name_of(workload), state=Deviance.WITHHELD, why=why)
        for workload in built.workloads
        if (why := _why_withheld(plan, name_of(workload)))
    )
    return (*find_deviations(built.children, request, accepted=accepted), *withheld)


def measure_progress(plan: ComponentPlan, built: Built, seen: ObservedComponent, applied: Applied) -> Progress:
    """Compare the wanted workloads with the live ones; `applied` says which children are not as wanted."""
    observed = {name_of(wanted): _find(wanted, seen.workloads) for wanted in built.workloads}
    judged = {name_of(wanted): applied.find(wanted["kind"], name_of(wanted)) for wanted in built.workloads}
    states = {
        name: _measure(plan, live, seen, judged[name], why_withheld=_why_withheld(plan, name))
        for name, live in observed.items()
    }
    pairs = [(wanted, live) for wanted in built.workloads if (live := observed[name_of(wanted)]) is not None]
    is_ready = all(state.ready for state in states.values())
    unselected = find_unselected(built.children, (live for _, live in pairs)) if is_ready else ""
    return Progress(
        waiting={
            **{name: state.reason for name, state in states.items() if not state.ready},
            **dict.fromkeys(_surplus(plan, seen.workloads.leader_worker_sets, states), _STILL_THERE),
            **({plan.subject.name: "no Service reaches it"} if unselected else {}),
        },
        applied=applied,
        of_workloads=tuple(filter(None, judged.values())),
        remarks=tuple(
            remark
            for wanted, live in pairs
            for remark in _remark(wanted, live, is_as_wanted=judged[name_of(wanted)] is None)
        ),
        is_unconfirmed=plan.groups is not None and any(not reports_generation(live) for _, live in pairs),
        is_current=all(state.is_current for state in states.values()),
        is_rolling=any(has_old_pods(live) for _, live in pairs),
        held=built.held,
        unselected=unselected,
        suffix=next(
            (found for one in built.workloads for role in pods_by_role(one) if (found := suffix_of(role.pod_spec))), ""
        ),
    )


def find_namespaces(request: SyncRequest, plan: ComponentPlan, progress: Progress) -> tuple[str, str]:
    """Of a worker, the Dynamo namespace that its status names, and the one in which its newest pods register."""
    base = plan.subject.dynamo_namespace
    wanted = with_suffix(base, progress.suffix) if progress.held else str(plan.projection["runtimeNamespace"])
    before = str((request.status.get("service") or {}).get("runtimeNamespace") or wanted)
    return (before if before.startswith(base) else wanted), wanted


def has_left_pods(plan: ComponentPlan, progress: Progress, seen: ObservedComponent) -> bool:
    """Whether pods of another generation than the newest may still be there, also such as are about to end.

    What is not known counts as there: a workload on whose newest spec its controller does not act yet, and pods that
    were not read.
    """
    if not seen.reads_pods and plan.pod.settings.explain_pods is Switch.ON:
        return True
    live = [*seen.workloads.leader_worker_sets.values()] if plan.groups else [seen.workloads.deployment]
    if not any(one is not None and count_running_pods(one) for one in live) and not seen.pods:
        return False
    is_known = progress.is_current and not progress.of_workloads and not progress.is_unconfirmed
    others = any(suffix_of(pod.get("spec") or {}) != progress.suffix for pod in seen.pods if not has_ended(pod))
    return not is_known or progress.is_rolling or others


def suffix_of(pod_spec: Mapping[str, Json]) -> str:
    """The generation in the variables of a pod; held pods of a Go operator have it there alone."""
    variables = (
        entry
        for field in ("containers", "initContainers")
        for container in pod_spec.get(field) or ()
        for entry in container.get("env") or ()
        if entry.get("name") == contract.WORKER_SUFFIX
    )
    return next((str(entry.get("value") or "") for entry in variables), "")


def has_ended(pod: ReadManifest) -> bool:
    """Whether none of the pod's containers will run again."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def awaits_first_pods(plan: ComponentPlan, seen: Workloads) -> bool:
    """Whether the pods of a wanted Deployment are still to be created."""
    is_wanted = plan.groups is None and plan.replicas > 0 and not plan.waits_for
    live = seen.deployment
    return is_wanted and (live is None or (not is_deleting(live) and not count_running_pods(live)))


def _surplus(plan: ComponentPlan, sets: Collection[str], wanted: Container[str]) -> list[str]:
    """LeaderWorkerSets of unwanted replicas; like a Deployment's old pods, they count until they are deleted."""
    return sorted(name for name in sets if name not in wanted) if plan.groups else []


def _find(wanted: Manifest, seen: Workloads) -> ReadManifest | None:
    if gvk_of(wanted) == kinds.DEPLOYMENT:
        return seen.deployment
    return seen.leader_worker_sets.get(name_of(wanted))


def _why_withheld(plan: ComponentPlan, name: str) -> str:
    """Why this answer leaves the workload out; empty if it does not."""
    return plan.waits_for or (plan.groups.withheld.get(name, "") if plan.groups else "")


def _measure(
    plan: ComponentPlan, live: ReadManifest | None, seen: ObservedComponent, judged: Judged | None, *, why_withheld: str
) -> Readiness:
    if why_withheld:
        return Readiness(ready=False, reason=why_withheld, is_current=False)
    if live is None and plan.groups is None and judged is not None and not judged.is_lasting:
        return Readiness(ready=False, reason=describe_new(plan.replicas))
    readiness = read_leader_worker_set(live) if plan.groups else read_deployment(live)
    if live is None:
        return readiness
    if judged is None and _has_more(plan, live):
        return Readiness(ready=False, reason=readiness.reason or _ONE_MORE)
    if judged is None:
        explains = plan.pod.settings.explain_pods is Switch.ON
        return _doubt(readiness, live, seen, explains=explains) if plan.groups else readiness
    return Readiness(ready=False, reason="; ".join(_why_deviating(judged, readiness)), is_current=False)


def _has_more(plan: ComponentPlan, live: ReadManifest) -> bool:
    """Whether a LeaderWorkerSet has groups more than wanted, as while the graph's workers roll together."""
    wanted = {one.name: one.replicas for one in plan.groups.sets} if plan.groups else {}
    return wanted_replicas(live) > wanted.get(name_of(live), wanted_replicas(live))


def _why_deviating(judged: Judged, readiness: Readiness) -> Iterable[str]:
    """Why a live workload that is not as wanted is not ready."""
    if judged.is_lasting or judged.deviation.state is Deviance.CHANGED:
        yield judged.what
    elif readiness.ready:
        yield "its new spec is being applied"
    if not readiness.ready:
        yield readiness.reason


def _doubt(readiness: Readiness, live: ReadManifest, seen: ObservedComponent, *, explains: bool) -> Readiness:
    """The readiness of a live LeaderWorkerSet; before version 0.9 its pods count too.

    Version 0.8.0 was seen to report a set as ready although one of its worker pods was not ready any more. So such a
    set is not ready while its pods could not be read.
    """
    if not readiness.ready or reports_generation(live):
        return readiness
    if not seen.reads_pods and explains:
        return Readiness(
            ready=False, reason=f"its pods count before LeaderWorkerSet 0.9: {seen.pods_fault or NOT_YET_READ}"
        )
    unready = sorted(name_of(pod) for pod in seen.pods if _belongs_to(pod, live) and not is_pod_ready(pod))
    return Readiness(ready=False, reason=f"Pod {unready[0]} is not ready") if unready else readiness


def _belongs_to(pod: ReadManifest, live: ReadManifest) -> bool:
    return labels_of(pod).get(LABEL_SET) == name_of(live)


def _remark(wanted: Manifest, live: ReadManifest, *, is_as_wanted: bool) -> Iterator[str]:
    """Sentences about changes that cannot be applied to a live workload.

    `is_as_wanted`: no change of ours is on its way, so what it has besides is another writer's.
    """
    named = f"{wanted['kind']} {name_of(wanted)}"
    if contract.ANNOTATION_LAST_APPLIED not in annotations_of(live):
        yield f"{named}: {_UNMANAGED}"
    found = {pods.role: pods.pod_spec for pods in pods_by_role(live)}
    for pods in pods_by_role(wanted):
        if is_as_wanted and (added := _find_added(pods.pod_spec, found.get(pods.role) or {})):
            yield f"{named}: its pods also have {', '.join(added)}, which another writer added; it stays"
        names = _init_containers(pods.pod_spec)
        stored = _stored_order(names, _init_containers(found.get(pods.role) or {}))
        if stored != names:
            yield (
                f"{named} runs its init containers in the order {', '.join(stored)} instead of {', '.join(names)}, "
                f"which cannot be changed in place: delete the {wanted['kind']}, then it is created again"
            )


def _find_added(wanted: Mapping[str, Json], live: Mapping[str, Json]) -> list[str]:
    """Containers and keys of the node selector that are not wanted; Metacontroller removes only what it wrote."""
    ours, theirs = ({str(one["name"]) for one in pod.get("containers") or ()} for pod in (wanted, live))
    keys = (live.get("nodeSelector") or {}).keys() - (wanted.get("nodeSelector") or {}).keys()
    return [
        *(f"the container {name}" for name in sorted(theirs - ours)),
        *(f"the node selector {key}" for key in sorted(keys)),
    ]


def _init_containers(pod: Mapping[str, Json]) -> list[str]:
    return [str(container["name"]) for container in pod.get("initContainers") or ()]


def _stored_order(wanted: list[str], live: list[str]) -> list[str]:
    """The order after Metacontroller's merge by name: live items keep their places, new ones are added at the end."""
    return [*(name for name in live if name in wanted), *(name for name in wanted if name not in live)]
