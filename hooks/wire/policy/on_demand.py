"""When a hook looks at what its request does not have: the pods of a workload, or an object with a child's name.

Nothing tells a hook of these, so while something is not ready it is called again by itself: first soon, then less
often. Hooks remember nothing: the time of the condition Ready, as it was last written, says for how long.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.deadlines import seconds_left, seconds_since
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.applied_condition import Applied
from hooks.wire.policy.deviations import Deviance

MOMENT_SECONDS = 5.0
"""So long something may be not ready before anything is read: most of what begins is ready, or failed, after it."""
SOONEST_SECONDS, LATEST_SECONDS = 8.0, 60.0
"""After how long is looked again: in the first four minutes, and from half an hour on."""
_GROWTH = 30
MOST_NAMED = 10
"""Objects that one answer asks for by name."""
UNREAD_KINDS = frozenset({kinds.SECRET, kinds.CONFIG_MAP})
"""Kinds that no hook reads: a better message is not worth the right to read the Secrets of a cluster."""

NOT_YET_READ = "it was not read yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRead:
    """Whether to look now, and the seconds until the next look."""

    is_due: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedReads:
    """The queries of a sync, now and later, and the seconds until the next look; 0 if only a change needs one.

    `waits`: something is withheld until they are answered.
    """

    queries: tuple[ObjectQuery, ...] = ()
    later: tuple[ObjectQuery, ...] = ()
    seconds: float = 0
    waits: bool = False


def plan_next_read(status: Mapping[str, Json], now: datetime) -> NextRead:
    """Whether to look at what is not ready, by the status as it was last written."""
    ready = find_condition(status.get("conditions") or (), READY)
    if ready is None or ready.get("status") == "True":
        return NextRead(is_due=False, seconds=MOMENT_SECONDS)
    since = str(ready.get("lastTransitionTime") or "")
    if since and (left := seconds_left(since, MOMENT_SECONDS, now)):
        return NextRead(is_due=False, seconds=left)
    seconds = min(max(seconds_since(since, now) / _GROWTH, SOONEST_SECONDS), LATEST_SECONDS)
    return NextRead(is_due=True, seconds=round(seconds, 1))


def has_go_finalizer(parent: ReadManifest) -> bool:
    """Whether objects of the Go operator may stand beside the parent's: `migrate` removes its finalizer last."""
    return contract.GO_FINALIZER in (parent["metadata"].get("finalizers") or ())


def reads_on_demand(request: SyncRequest, kind: GroupVersionKind) -> bool:
    """Whether objects of a kind are read on demand: not if the request has them otherwise, as in a unit test."""
    return any(query.kind == kind for query in request.answered) or not request.related.has_kind(kind)


def query_missing(applied: Applied, namespace: str) -> tuple[ObjectQuery, ...]:
    """The queries for the objects that may have the names of lastingly missing children."""
    missing = (one.deviation for one in applied.judged if one.is_lasting)
    found = (one for one in missing if one.state is Deviance.MISSING and one.kind not in UNREAD_KINDS)
    return tuple(ObjectQuery(one.kind, namespace, one.name) for one in islice(found, MOST_NAMED))
