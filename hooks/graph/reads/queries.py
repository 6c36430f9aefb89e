"""What a graph's sync would like to read: components that the Go operator left, pods under Grove, what has a name.

No related rule names these kinds, because other people's objects of them change all the time. Pods make a message say
more; of other pods than Grove's each component speaks itself. Only while workers roll in sets, their pods decide how
many old ones may end.
"""

from dataclasses import replace

from hooks.graph.change.pacing import RolloutInSets
from hooks.graph.change.shares import find_rolling
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.progress import GraphProgress
from hooks.graph.seen.observe import ObservedGraph, query_components, query_pods, query_worker_pods
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.settings import Switch
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.on_demand import (
    LATEST_SECONDS,
    MOST_NAMED,
    SOONEST_SECONDS,
    PlannedReads,
    plan_next_read,
    query_missing,
    reads_on_demand,
)


def plan_reads(
    request: SyncRequest, plan: GraphPlan, progress: GraphProgress, *, seen: ObservedGraph, facts: Facts
) -> PlannedReads:
    """What is worth reading now, and when to look again."""
    if facts.settings.explain_pods is Switch.OFF:
        return PlannedReads()
    missing = query_missing(progress.applied, request.parent["metadata"]["namespace"])
    lacks = plan.grove is None and any(one.name not in seen.components for one in plan.components)
    asks = lacks and not plan.blocked_by and reads_on_demand(request, contract.COMPONENT)
    left = (query_components(request.parent),) if asks else ()
    if plan.grove is None or progress.grove is None:
        pods = plan_worker_reads(request, progress.rollout)
        return replace(pods, queries=(*missing, *left, *pods.queries), waits=bool(seen.unread) or pods.waits)
    if not reads_on_demand(request, kinds.POD):
        return PlannedReads(queries=missing)
    next_read = plan_next_read(request.status, facts.now)
    # While Grove acts on an older spec, pods explain nothing.
    explained = sorted(progress.unready)[:MOST_NAMED] if progress.grove.is_settled else []
    rolling = sorted(find_rolling(plan, request.status))
    now = sorted({*rolling, *(explained if next_read.is_due else ())})
    is_waiting = bool(progress.unready or rolling)
    return PlannedReads(
        queries=(*missing, *(query_pods(request.parent, service) for service in now)),
        later=() if next_read.is_due else tuple(query_pods(request.parent, service) for service in explained),
        seconds=next_read.seconds if is_waiting else 0,
        waits=bool(rolling),
    )


def plan_worker_reads(request: SyncRequest, rollout: RolloutInSets) -> PlannedReads:
    """The pods of workers that roll in sets."""
    names = sorted(rollout.names.items()) if reads_on_demand(request, kinds.POD) else []
    queries = tuple(
        query_worker_pods(request.parent, service, "" if rollout.roles[service].is_numbered else name)
        for service, name in names
    )
    seconds = LATEST_SECONDS if rollout.wishes.is_paused else SOONEST_SECONDS
    return PlannedReads(queries=queries, seconds=seconds if queries else 0, waits=bool(queries))
