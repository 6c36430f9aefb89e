"""How far the workloads of a component have come: which are not ready and why, and what cannot be changed in place."""

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass

import orjson

from hooks import contract
from hooks.component.build import Built
from hooks.component.observe import ObservedComponent, Workloads
from hooks.component.plan import ComponentPlan
from hooks.k8s import kinds
from hooks.k8s.conditions import is_pod_ready
from hooks.k8s.readiness import (
    Readiness,
    has_old_pods,
    read_deployment,
    read_leader_worker_set,
    reports_generation,
)
from hooks.k8s.types import Json, Manifest, ReadManifest, annotations_of, gvk_of, labels_of, name_of

_STILL_THERE = "it is of a replica that is no longer wanted, and is not deleted yet"
LABEL_SET = "leaderworkerset.sigs.k8s.io/name"
"""Label of the pods of a LeaderWorkerSet: its name."""
_UNMANAGED = (
    "it carries no last-applied annotation, so changes to it cannot be followed: run Metacontroller with dynamic apply"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where the workloads stand.

    `waiting` says why a workload is not ready, by name in their order; `remarks` are sentences for the user.
    `is_unconfirmed` is set where a status does not say which spec it is of, so that it may be that of an older one.
    `is_current` is False while a workload's pods are not made by its newest spec, `is_rolling` is set while some of
    them are of an older one.
    """

    waiting: Mapping[str, str]
    remarks: tuple[str, ...]
    is_unconfirmed: bool
    is_current: bool
    is_rolling: bool


def measure_progress(plan: ComponentPlan, built: Built, seen: ObservedComponent) -> Progress:
    """Compare the workloads of this sync with those that exist."""
    observed = {name_of(wanted): _find(wanted, seen.workloads) for wanted in built.workloads}
    states = {name_of(wanted): _measure(plan, wanted, observed[name_of(wanted)], seen) for wanted in built.workloads}
    pairs = [(wanted, live) for wanted in built.workloads if (live := observed[name_of(wanted)]) is not None]
    return Progress(
        waiting={
            **{name: state.reason for name, state in states.items() if not state.ready},
            **dict.fromkeys(_surplus(plan, seen.workloads.leader_worker_sets, states), _STILL_THERE),
        },
        remarks=tuple(remark for wanted, live in pairs for remark in _remark(wanted, live)),
        is_unconfirmed=plan.groups is not None and any(not reports_generation(live) for _, live in pairs),
        is_current=all(state.is_current for state in states.values()),
        is_rolling=any(has_old_pods(live) for _, live in pairs),
    )


def _surplus(plan: ComponentPlan, sets: Collection[str], wanted: Container[str]) -> list[str]:
    """Sets of replicas that are no longer wanted; like a Deployment's old pods, they count until they are deleted."""
    return sorted(name for name in sets if name not in wanted) if plan.groups else []


def _find(wanted: Manifest, seen: Workloads) -> ReadManifest | None:
    if gvk_of(wanted) == kinds.DEPLOYMENT:
        return seen.deployment
    return seen.leader_worker_sets.get(name_of(wanted))


def _measure(plan: ComponentPlan, wanted: Manifest, live: ReadManifest | None, seen: ObservedComponent) -> Readiness:
    withheld = plan.groups.withheld.get(name_of(wanted)) if plan.groups else None
    if reason := plan.waits_for or withheld:
        return Readiness(ready=False, reason=reason, is_current=False)
    readiness = read_leader_worker_set(live) if plan.groups else read_deployment(live)
    if live is None:
        return readiness
    if _is_applied(wanted, live):
        return _doubt(readiness, live, seen) if plan.groups else readiness
    reason = "its new spec is being applied" if readiness.ready else readiness.reason
    return Readiness(ready=False, reason=reason, is_current=False)


def _doubt(readiness: Readiness, live: ReadManifest, seen: ObservedComponent) -> Readiness:
    """Believe a LeaderWorkerSet's own pods rather than a status of LeaderWorkerSet before version 0.9.

    Tried with 0.8.0: once ready, such a set goes on saying so when a worker pod falls out of service.
    """
    if not readiness.ready or reports_generation(live):
        return readiness
    unready = sorted(name_of(pod) for pod in seen.pods if _belongs_to(pod, live) and not is_pod_ready(pod))
    return Readiness(ready=False, reason=f"Pod {unready[0]} is not ready") if unready else readiness


def _belongs_to(pod: ReadManifest, live: ReadManifest) -> bool:
    return labels_of(pod).get(LABEL_SET) == name_of(live)


def _is_applied(desired: Manifest, observed: ReadManifest) -> bool:
    """Whether the last spec that was applied is the one wanted now; True without a record.

    The annotation holds the whole desired object of the last apply.
    """
    text = annotations_of(observed).get(contract.ANNOTATION_LAST_APPLIED)
    if text is None:
        return True
    applied = orjson.loads(text)
    return bool(applied.get("spec") == desired["spec"])


def _remark(wanted: Manifest, live: ReadManifest) -> Iterator[str]:
    """What applying in place cannot do to a workload that exists."""
    named = f"{wanted['kind']} {name_of(wanted)}"
    if contract.ANNOTATION_LAST_APPLIED not in annotations_of(live):
        yield f"{named}: {_UNMANAGED}"
    for ours, theirs in zip(_pod_specs(wanted), _pod_specs(live), strict=True):
        names, stored = _init_containers(ours), _stored_order(_init_containers(ours), _init_containers(theirs))
        if stored != names:
            yield (
                f"{named} runs its init containers in the order {', '.join(stored)} instead of {', '.join(names)}, "
                f"which cannot be changed in place: delete the {wanted['kind']} to have it made anew"
            )


def _pod_specs(workload: ReadManifest) -> list[Mapping[str, Json]]:
    spec = workload.get("spec") or {}
    group = spec.get("leaderWorkerTemplate") or {}
    if gvk_of(workload) == kinds.LEADER_WORKER_SET:
        templates = [group.get("leaderTemplate"), group.get("workerTemplate")]
    else:
        templates = [spec.get("template")]
    return [(template or {}).get("spec") or {} for template in templates]


def _init_containers(pod: Mapping[str, Json]) -> list[str]:
    return [str(container["name"]) for container in pod.get("initContainers") or ()]


def _stored_order(wanted: list[str], live: list[str]) -> list[str]:
    """Metacontroller merges by name: what is there keeps its place, what is new goes to the end."""
    return [*(name for name in live if name in wanted), *(name for name in wanted if name not in live)]
