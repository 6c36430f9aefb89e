"""What a component's sync would like to read: its pods while they are not ready, and what has its children's names.

No related rule names these kinds, because other people's objects of them change all the time. What is read makes a
message say more. Only of LeaderWorkerSet before version 0.9 do the pods decide whether the component is ready, and in a
change of generation, which one the status names.
"""

from collections.abc import Iterator

from hooks.component.plan.component import ComponentPlan
from hooks.component.report.progress import Progress, find_namespaces
from hooks.component.seen.observe import ObservedComponent, query_rival
from hooks.component.spec.subject import pod_selector
from hooks.ground.k8s import kinds
from hooks.ground.settings import Switch
from hooks.ground.settings.facts import Facts
from hooks.language.api.component import ComponentDeployment
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.on_demand import (
    SOONEST_SECONDS,
    NextRead,
    PlannedReads,
    plan_next_read,
    query_missing,
    reads_on_demand,
)


def plan_reads(
    request: SyncRequest,
    component: ComponentDeployment,
    plan: ComponentPlan,
    progress: Progress,
    *,
    seen: ObservedComponent,
    facts: Facts,
) -> PlannedReads:
    """What is worth reading now, and when to look again.

    A component that becomes ready again after a moment, or waits for another workload of its own, needs nothing.
    """
    if facts.settings.explain_pods is Switch.OFF:
        return PlannedReads()
    next_read = plan_next_read(request.status, facts.now)
    missing = query_missing(progress.applied, plan.subject.namespace)
    pods = ObjectQuery(
        kinds.POD, plan.subject.namespace, labels=tuple(sorted(pod_selector(component, plan.subject).items()))
    )
    explains = bool(progress.waiting) and not plan.waits_for
    judges = progress.is_unconfirmed or _changes_namespace(request, plan, progress)
    is_new = reads_on_demand(request, kinds.POD)
    now = is_new and (judges or (explains and next_read.is_due))
    later = is_new and explains and not now
    return PlannedReads(
        queries=(*missing, *([pods] if now else ()), *_query_set(request, plan, seen)),
        later=(pods,) if later else (),
        seconds=_seconds(next_read, explains=explains, judges=judges) if is_new else 0,
        waits=bool(seen.workloads.unread) or judges,
    )


def _changes_namespace(request: SyncRequest, plan: ComponentPlan, progress: Progress) -> bool:
    """Whether the status names the Dynamo namespace of earlier pods, until it is known that they are gone."""
    before, wanted = find_namespaces(request, plan, progress)
    return plan.subject.type.is_worker and before != wanted


def _query_set(request: SyncRequest, plan: ComponentPlan, seen: ObservedComponent) -> Iterator[ObjectQuery]:
    """Before the first LeaderWorkerSets are created, whether another owner's has the name of the first one."""
    has_none = plan.groups is not None and not seen.workloads.leader_worker_sets
    if has_none and reads_on_demand(request, kinds.LEADER_WORKER_SET):
        yield query_rival(request.parent)


def _seconds(next_read: NextRead, *, explains: bool, judges: bool) -> float:
    """No event says that a pod fails, nor, before LeaderWorkerSet 0.9, that a pod of a ready set does not serve."""
    if explains:
        return next_read.seconds
    return SOONEST_SECONDS if judges else 0.0
