"""Counts the custom resources in the cluster by state, and those that are not ready by reason, for the metrics.

Of all processes of an installation only one counts, the holder of a Lease: dashboards add up what all pods report.

Source: Dynamo operator, internal/observability/resource_counter.go.
"""

import os
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from hooks.graph.report.outage import find_outages, find_served
from hooks.graph.report.rollout_reasons import find_rollout_reason
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest, is_deleting, name_of
from hooks.ground.settings import Settings, Switch
from hooks.server.clients.api_server import ApiServer, Conversation, Refused, collection_path, read_objects, read_pages
from hooks.server.clients.namespace_locks import NO_LEASE, Clock, Lease, lease_path, parse_lease, put_lease, write_lease
from hooks.server.serving.background import start_repeating
from hooks.server.serving.logs import logger
from hooks.server.serving.resource_counts import NOTHING, Key, OfGraph, ResourceCounts
from hooks.wire.metacontroller.controllers import OUR_KINDS

COUNT_SECONDS = 30.0
"""How often the resources are counted, as often as the Go operator does."""
LEASE_NAME = "dynamo-hooks-resource-counter"

_LEASE_SECONDS = 75
"""Twice the time between two counts and some more, so a holder that misses one count stays the holder."""
_COUNT_SECONDS = 40.0
"""How long one count may take: with a slow API server, whose Lease must not end until the next count."""
_WITH_STATE = frozenset({contract.GRAPH, contract.GRAPH_REQUEST})

NOT_PROCESSED, DELETING = "NotProcessed", "Deleting"
"""Reasons of an object that no hook has given a status yet, and of one that waits for its deletion."""


@dataclass(slots=True, kw_only=True)
class ResourceCounter:
    """Counts again and again, in the process that holds the Lease.

    `namespace` is that of the Lease, `process` a name that no other process has. With `installation` only its resources
    are counted, in `restricted_to`; without, those of no installation in the whole cluster.
    """

    server: ApiServer
    clock: Clock
    namespace: str
    process: str
    installation: str = ""
    restricted_to: str = ""
    _failure: int | None = field(default=None, init=False)

    def count(self) -> ResourceCounts:
        """The numbers; none if another process counts, or if they cannot be read, which is logged once."""
        try:
            with self.server.converse(_COUNT_SECONDS) as talk:
                found = self._count_all(talk) if self._take_lease(talk) else NOTHING
        except Refused as refused:
            if refused.status != self._failure:
                logger.warning("resources are not counted: %s", refused)
            self._failure = refused.status
            return NOTHING
        self._failure = None
        return found

    def _take_lease(self, talk: Conversation) -> bool:
        """Whether this process holds the Lease; takes it over once it has expired."""
        found = talk.find(lease_path(self.namespace, LEASE_NAME), kinds.LEASE)
        lease, now = parse_lease(found) if found else NO_LEASE, self.clock()
        if lease.is_valid(now) and lease.holder != self.process:
            return False
        wanted = Lease(holder=self.process, renewed=now, seconds=_LEASE_SECONDS)
        return put_lease(talk, write_lease(found, wanted, namespace=self.namespace, name=LEASE_NAME)) is not None

    def _count_all(self, talk: Conversation) -> ResourceCounts:
        states: Counter[Key] = Counter()
        not_ready: defaultdict[Key, list[float]] = defaultdict(list)
        outages: set[OfGraph] = set()
        rollouts: set[OfGraph] = set()
        serving: dict[OfGraph, bool] = {}
        for kind in OUR_KINDS:
            for found in self._list(talk, kind):
                namespace = str(found["metadata"]["namespace"])
                states[kind.kind, namespace, find_state(kind, found)] += 1
                if why := find_reason(found):
                    reason, since = why
                    not_ready[kind.kind, namespace, reason].append(seconds_since(since, self.clock()) if since else 0.0)
                if kind == contract.GRAPH:
                    outages |= {(namespace, name_of(found), part.value) for part in find_outages(found)}
                    if (reason := find_rollout_reason(found)) and not is_deleting(found):
                        rollouts.add((namespace, name_of(found), reason))
                    serving |= {(namespace, name_of(found), model): yes for model, yes in find_served(found).items()}
        return ResourceCounts(states=states, not_ready=not_ready, outages=outages, rollouts=rollouts, serving=serving)

    def _list(self, talk: Conversation, kind: GroupVersionKind) -> Iterator[ReadManifest]:
        """All objects of a kind that this installation owns, page by page."""
        label, path = contract.LABEL_INSTALLATION, collection_path(kind, self.restricted_to)
        selector = f"{label}={self.installation}" if self.installation else f"!{label}"
        for page in read_pages(lambda asked: talk.ask("GET", f"{path}?{urlencode(asked)}"), labelSelector=selector):
            yield from read_objects(page, f"GET {path}", kind)


def find_state(kind: GroupVersionKind, found: ReadManifest) -> str:
    """The state of an object as the Go operator counts it: graphs and requests have one, others are ready or not."""
    status: Mapping[str, Json] = found.get("status") or {}
    if kind in _WITH_STATE:
        return str(status.get("state") or "unknown")
    ready = find_condition(status.get("conditions") or (), READY)
    if ready is None:
        return "unknown"
    return "ready" if ready.get("status") == "True" else "not_ready"


def find_reason(found: ReadManifest) -> tuple[str, str] | None:
    """Why an object is not ready, in one word, and since when; None if it is ready.

    A graph's condition Ready says only that something is not ready; another field of its status names the worst reason.
    """
    metadata, status = found["metadata"], found.get("status") or {}
    if deleted := metadata.get("deletionTimestamp"):
        return DELETING, str(deleted)
    ready = find_condition(status.get("conditions") or (), READY)
    if ready is None:
        return NOT_PROCESSED, str(metadata.get("creationTimestamp") or "")
    if ready.get("status") == "True":
        return None
    reason = status.get("notReadyReason") or ready.get("reason") or NOT_PROCESSED
    return str(reason), str(ready.get("lastTransitionTime") or "")


def find_counter(settings: Settings, clock: Clock) -> ResourceCounter | None:
    """The counter of this process; None if it is switched off, or (logged) if the pod cannot ask the API server."""
    if settings.resource_counts is Switch.OFF:
        return None
    server = ApiServer.in_cluster()
    if server is None or not server.own_namespace:
        logger.info("resources are not counted: this is not a pod, or it mounts no account with token and namespace")
        return None
    return ResourceCounter(
        server=server,
        clock=clock,
        namespace=server.own_namespace,
        process=f"{socket.gethostname()}/{os.getpid()}",
        installation=settings.installation,
        restricted_to=settings.installation_namespace,
    )


def start_counting(counter: ResourceCounter, show: Callable[[ResourceCounts], None]) -> threading.Thread:
    """Count from now on, and show the numbers each time, in a thread that ends with the process."""
    return start_repeating("resource-counter", lambda: show(counter.count()), COUNT_SECONDS)
