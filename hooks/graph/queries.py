"""What a graph's sync would like to read: components that the Go operator left, pods under Grove, what has a name.

No related rule names these kinds, because other people's objects of them change all the time. Pods make a message say
more, and nothing else: of other pods than Grove's each component speaks itself.
"""

from collections.abc import Iterator
from itertools import islice

from hooks import contract
from hooks.graph.observe import ObservedGraph, query_components, query_pods
from hooks.graph.plan import GraphPlan
from hooks.graph.progress import GraphProgress
from hooks.k8s import kinds
from hooks.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.policy.looking import MOST_NAMED, Lookup, plan_look, query_missing, reads_on_demand
from hooks.settings import Switch
from hooks.settings.facts import Facts


def plan_lookup(
    request: SyncRequest, plan: GraphPlan, progress: GraphProgress, *, seen: ObservedGraph, facts: Facts
) -> Lookup:
    """What is worth reading now, and when to look again."""
    if facts.settings.explain_pods is Switch.OFF:
        return Lookup()
    missing = query_missing(progress.applied, request.parent["metadata"]["namespace"])
    lacks = plan.grove is None and any(one.name not in seen.components for one in plan.components)
    asks = lacks and not plan.blocked_by and reads_on_demand(request, contract.COMPONENT)
    left = (query_components(request.parent),) if asks else ()
    if plan.grove is None or progress.grove is None:
        return Lookup(queries=(*missing, *left), waits=bool(seen.unread))
    look = plan_look(request.status, facts.now)
    # While Grove acts on an older spec, pods explain nothing.
    explains = progress.grove.is_settled and bool(progress.unready)
    is_new = reads_on_demand(request, kinds.POD)
    pods = tuple(islice(_query_pods(request, progress), MOST_NAMED)) if explains and is_new else ()
    return Lookup(
        queries=(*missing, *(pods if look.is_due else ())),
        later=() if look.is_due else pods,
        seconds=look.seconds if progress.unready and is_new else 0,
    )


def _query_pods(request: SyncRequest, progress: GraphProgress) -> Iterator[ObjectQuery]:
    """The pods of each service that is not ready."""
    for service in sorted(progress.unready):
        yield query_pods(request.parent, service)
