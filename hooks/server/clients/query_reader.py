"""Reads objects on demand from the API server, for what a sync would like to know: bounded in bytes, time and number.

An API server that is slow, refuses, answers something else, or does not answer makes an answer vaguer, and never fails
it. What was read a moment ago is used again, and nothing older: whether pods lack an image decides what they keep.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest
from hooks.server.clients.api_server import (
    REQUEST_SECONDS,
    ApiServer,
    Conversation,
    Refused,
    collection_path,
    describe_unreadable,
    is_served,
    object_path,
)
from hooks.server.clients.manifests import read_items
from hooks.server.clients.read_budget import ReadBudget
from hooks.server.clients.read_faults import ReadFaults
from hooks.server.clients.workload_pods import FoundPods, read_pods
from hooks.server.exchange.call_time import seconds_left
from hooks.server.exchange.documents import Unreadable
from hooks.server.exchange.http_client import MIB
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import BUSY, ObjectSource, refuse_queries

READ_SECONDS, DEADLINE_SECONDS = 1.0, 8.0
"""How long a call waits and begins one read after the other, and how long each may take, of several requests."""
MOST_AT_ONCE = 3
"""Reads of one call at the same time, if one after the other would take too long."""
MOST_OBJECTS = 100
"""Objects of one list."""
FRESH_SECONDS = 3.0
MOST_REMEMBERED, MOST_KEPT_BYTES = 256, 8 * MIB
"""Answers that are used again, and the bytes that were read for them."""

OBJECTS_VARIABLE = "DYNAMO_SIMULATED_OBJECTS"
"""Variable in which `dynamo-hooks simulate` tells the hooks where it serves its objects, by plain HTTP on loopback."""

_FORBIDDEN = "the hooks may not read {kind} objects; give their account the right to get and list them"
_UNSERVED = "the cluster has no kind {kind}"


@dataclass(frozen=True, slots=True)
class _Remembered:
    at: float
    answer: QueryAnswer
    size: int


class QueryReader:
    """Answers queries; safe to use from several threads."""

    def __init__(
        self, server: ApiServer, fresh_seconds: float = FRESH_SECONDS, budget: ReadBudget | None = None
    ) -> None:
        """Take the API server, for how long what was read is used without reading it again, and who may read."""
        self._server = server
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[ObjectQuery, _Remembered] = OrderedDict()
        self._kept_bytes = 0
        self._faults = ReadFaults(server.clock)
        """By kind and namespace."""
        self._budget = budget or ReadBudget(server.clock)

    def read(self, queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        """The answer to each query. Never raises."""
        until = self._server.clock() + READ_SECONDS
        found = {query: kept for query in queries if (kept := self._recall(query)) is not None}
        for namespace in dict.fromkeys(query.namespace for query in queries if query not in found):
            wanted = [query for query in queries if query.namespace == namespace and query not in found]
            with self._budget.turn(namespace, until - self._server.clock()) as fault:
                # Another call may have read the same while this one waited.
                found |= {query: kept for query in wanted if (kept := self._recall(query)) is not None}
                wanted = [query for query in wanted if query not in found]
                found |= {query: QueryAnswer(fault=fault) for query in wanted} if fault else self._read(wanted)
        return {query: found.get(query) or QueryAnswer(fault=BUSY) for query in queries}

    def _read(self, queries: Sequence[ObjectQuery]) -> dict[ObjectQuery, QueryAnswer]:
        """Read one after the other, and the rest at the same time if the API server is slow.

        Otherwise the first one would be read again each time, and the last one never. Those that come too late have no
        answer.
        """
        found: dict[ObjectQuery, QueryAnswer] = {}
        last, rest = self._server.clock() + READ_SECONDS, list(queries)
        with self._server.converse(DEADLINE_SECONDS, REQUEST_SECONDS) as conversation:
            while rest and self._server.clock() < last:
                query = rest.pop(0)
                found[query] = self._read_and_count(conversation, query)
        if rest and seconds_left() > REQUEST_SECONDS - READ_SECONDS and not all(one.fault for one in found.values()):
            with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
                reads = {query: pool.submit(copy_context().run, self._read_alone, query) for query in rest}
                found |= {query: read.result() for query, read in reads.items()}
        return found

    def _read_alone(self, query: ObjectQuery) -> QueryAnswer:
        with self._server.converse(DEADLINE_SECONDS, REQUEST_SECONDS) as conversation:
            return self._read_and_count(conversation, query)

    def _read_and_count(self, conversation: Conversation, query: ObjectQuery) -> QueryAnswer:
        began, taken = self._server.clock(), conversation.taken.size
        answer = self._read_one(conversation, query)
        size = conversation.taken.size - taken
        self._budget.spend(query.namespace, size)
        answer = replace(answer, size=size, seconds=self._server.clock() - began)
        if answer.objects or not answer.fault:
            self._remember(query, answer)
        return answer

    def _read_one(self, conversation: Conversation, query: ObjectQuery) -> QueryAnswer:
        place = (query.kind.key, query.namespace)
        try:
            path = _locate(query)
        except Refused as impossible:
            return QueryAnswer(fault=str(impossible))
        if fault := self._faults.find(place):
            return QueryAnswer(fault=fault)
        try:
            found = _ask(conversation, query, path)
        except Refused as refused:
            if not refused.status and not refused.is_unreachable:
                return QueryAnswer(fault=refused.why or str(refused))  # it is about this answer alone
            forbidden = _FORBIDDEN.format(kind=query.kind.kind)
            return QueryAnswer(fault=self._faults.note(place, refused, forbidden=forbidden))
        self._faults.clear(place)
        return QueryAnswer(objects=tuple(_trim(one, query.kind) for one in found.pods), fault=found.fault)

    def _recall(self, query: ObjectQuery) -> QueryAnswer | None:
        """What was found a moment ago; it costs nothing again."""
        with self._lock:
            kept = self._kept.get(query)
            return kept.answer if kept is not None and self._server.clock() < kept.at + self._fresh_seconds else None

    def _remember(self, query: ObjectQuery, answer: QueryAnswer) -> None:
        now = self._server.clock()
        with self._lock:
            if (former := self._kept.pop(query, None)) is not None:
                self._kept_bytes -= former.size
            self._kept[query] = _Remembered(now, replace(answer, size=0, seconds=0.0), answer.size)
            self._kept_bytes += answer.size
            while self._kept and (self._is_full() or now >= next(iter(self._kept.values())).at + FRESH_SECONDS):
                self._kept_bytes -= self._kept.popitem(last=False)[1].size

    def _is_full(self) -> bool:
        return len(self._kept) > MOST_REMEMBERED or self._kept_bytes > MOST_KEPT_BYTES


def find_reader(server: ApiServer | None, environment: Mapping[str, str] = os.environ) -> ObjectSource:
    """What reads objects on demand: from the API server, or from the simulated cluster that the environment names."""
    if url := environment.get(OBJECTS_VARIABLE):
        nothing = Path(os.devnull)
        simulated = ApiServer(url=url, token_file=nothing, ca_file=nothing)
        # Its time is not that of this process.
        return ObjectSource(read=QueryReader(simulated, fresh_seconds=0).read, is_free=True)
    return ObjectSource(read=QueryReader(server).read) if server else NO_SOURCE


NO_SOURCE = refuse_queries("the hooks have no access to the API server")
"""What reads nothing, where there is no API server."""


def _locate(query: ObjectQuery) -> str:
    """The path of a query.

    Raises:
        Refused: its namespace or name cannot be a part of a path.
    """
    if query.name:
        return object_path(query.kind, query.namespace, query.name)
    selector = quote(",".join(f"{key}={value}" for key, value in query.labels), safe="")
    return f"{collection_path(query.kind, query.namespace)}?labelSelector={selector}"


def _ask(conversation: Conversation, query: ObjectQuery, path: str) -> FoundPods:
    """The objects of a query; none of a kind that is not installed, which is a fault where a graph is refused for it.

    Raises:
        Refused: the API server refuses, does not answer, or answers something else.
    """
    if query.name:
        found = conversation.find(path, query.kind)
        if found is None and query.kind in kinds.WITHOUT_NAMESPACE and not is_served(conversation.read, query.kind):
            return FoundPods((), _UNSERVED.format(kind=query.kind.kind))
        return FoundPods(() if found is None else (found,))
    if query.kind == kinds.POD:
        return read_pods(conversation, path)
    if (answer := conversation.read(f"{path}&limit={MOST_OBJECTS}")) is None:
        return FoundPods(())
    try:
        return FoundPods(tuple(read_items(answer, query.kind)))
    except Unreadable as unreadable:
        raise describe_unreadable(f"GET {path}", unreadable) from unreadable


def _trim(found: Mapping[str, Any], kind: GroupVersionKind) -> ReadManifest:
    """The object as a request has it: with its kind, which lists leave out, and without the record of its fields."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
