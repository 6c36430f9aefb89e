"""Reads objects on demand from the API server, for what a sync would like to know: bounded in size, time and number.

An API server that is slow, refuses, or does not answer makes an answer vaguer, and never fails it. What was read a
moment ago is used again, and nothing older: whether pods lack an image decides what they keep.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hooks.clients.api_server import ApiServer, Conversation, Refused, collection_path, object_path
from hooks.clients.read_faults import ReadFaults
from hooks.k8s.types import GroupVersionKind, ReadManifest
from hooks.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.metacontroller.queries import ObjectSource, refuse_queries

READ_SECONDS, DEADLINE_SECONDS = 1.0, 2.0
"""How long a call begins further reads, and how long the last answer may take: Metacontroller waits ten seconds."""
MOST_READERS = 4
"""How many calls read at the same time; the others wait no longer than `READ_SECONDS`."""
MOST_OBJECTS = 100
"""Objects of one list; the pods of a workload fail alike, so the first ones say why."""
FRESH_SECONDS = 3.0
MOST_KEPT = 256

OBJECTS_VARIABLE = "DYNAMO_SIMULATED_OBJECTS"
"""Variable in which `dynamo-hooks simulate` tells the hooks where it serves its objects, by plain HTTP on loopback."""

_FORBIDDEN = "the hooks may not read {kind} objects; give their account the right to get and list them"
_BUSY = "too much else is being read; it is tried again"


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    answer: QueryAnswer


class QueryReader:
    """Answers queries; safe to use from several threads."""

    def __init__(self, server: ApiServer, fresh_seconds: float = FRESH_SECONDS) -> None:
        """Take the API server, and for how long what was read is used without reading it again."""
        self._server = server
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._kept: OrderedDict[ObjectQuery, _Kept] = OrderedDict()
        self._faults = ReadFaults(server.clock)
        """By kind and namespace."""
        self._readers = threading.BoundedSemaphore(MOST_READERS)

    def read(self, queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        """The answer to each query. Never raises."""
        found = {query: kept for query in queries if (kept := self._recall(query)) is not None}
        wanted = [query for query in queries if query not in found]
        if wanted and self._readers.acquire(timeout=READ_SECONDS):
            try:
                found |= self._read(wanted)
            finally:
                self._readers.release()
        return {query: found[query] if query in found else QueryAnswer(fault=_BUSY) for query in queries}

    def _read(self, queries: Sequence[ObjectQuery]) -> dict[ObjectQuery, QueryAnswer]:
        """Read one after the other; those that come too late have no answer."""
        found: dict[ObjectQuery, QueryAnswer] = {}
        with self._server.converse(DEADLINE_SECONDS) as conversation:
            for query in queries:
                if conversation.server.clock() >= conversation.until - DEADLINE_SECONDS + READ_SECONDS:
                    break
                found[query] = self._read_one(conversation, query)
        return found

    def _read_one(self, conversation: Conversation, query: ObjectQuery) -> QueryAnswer:
        place = (query.kind.key, query.namespace)
        try:
            path = _locate(query)
        except Refused as impossible:
            return QueryAnswer(fault=str(impossible))
        if fault := self._faults.find(place):
            return QueryAnswer(fault=fault)
        try:
            answer = QueryAnswer(objects=tuple(_ask(conversation, query, path)))
        except Refused as refused:
            forbidden = _FORBIDDEN.format(kind=query.kind.kind)
            return QueryAnswer(fault=self._faults.note(place, refused, forbidden=forbidden))
        self._faults.clear(place)
        with self._lock:
            self._keep(query, answer)
        return answer

    def _recall(self, query: ObjectQuery) -> QueryAnswer | None:
        """What was found a moment ago."""
        with self._lock:
            kept = self._kept.get(query)
            return kept.answer if kept is not None and self._server.clock() < kept.at + self._fresh_seconds else None

    def _keep(self, query: ObjectQuery, answer: QueryAnswer) -> None:
        now = self._server.clock()
        self._kept[query] = _Kept(now, answer)
        self._kept.move_to_end(query)
        while len(self._kept) > MOST_KEPT or now >= next(iter(self._kept.values())).at + FRESH_SECONDS:
            self._kept.popitem(last=False)


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
    return f"{collection_path(query.kind, query.namespace)}?labelSelector={selector}&limit={MOST_OBJECTS}"


def _ask(conversation: Conversation, query: ObjectQuery, path: str) -> Iterator[ReadManifest]:
    """The objects of a query; none of a kind that is not installed.

    Raises:
        Refused: the API server refuses, or does not answer.
    """
    if (answer := conversation.find(path)) is None:
        return
    for item in (answer,) if query.name else answer.get("items") or ():
        yield _trim(item, query.kind)


def _trim(found: Mapping[str, Any], kind: GroupVersionKind) -> ReadManifest:
    """The object as a request has it: with its kind, which lists leave out, and without the record of its fields."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
