"""What hooks read on demand, answered from the simulated cluster: in the same process, or over HTTP.

Source: Kubernetes API reference, get and list with a label selector; of these, what
`hooks.server.clients.query_reader` asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.loopback_http import Request, Response
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.resources import UnknownKind
from hooks.tools.offline.simulator.store import Ref
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer

_VERSION_WORDS = {"api": 1, "apis": 2}


class ClusterReader:
    """Reads objects of a cluster that is given later, because its hooks are made before it."""

    def __init__(self) -> None:
        self.source: ObjectReader | None = None

    def read(self, queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        """The answer to each query, as an API server would give it."""
        return {query: self._answer(query) for query in queries}

    def _answer(self, query: ObjectQuery) -> QueryAnswer:
        if self.source is not None and not self.source.catalogue.serves(query.kind):
            return QueryAnswer(fault=f"the simulated cluster has no kind {query.kind.kind}")
        return QueryAnswer(objects=tuple(self._find(query)))

    def _find(self, query: ObjectQuery) -> Iterator[Manifest]:
        if self.source is None:
            return
        if query.name:
            ref = Ref(query.kind.group, query.kind.kind, query.namespace, query.name)
            if (found := self.source.get(ref)) is not None:
                yield found
            return
        if query.labels:
            yield from self.source.list_labelled(query.kind, query.namespace, dict(query.labels))
            return
        for found in self.source.list_kind(query.kind):
            if found["metadata"].get("namespace", "") == query.namespace:
                yield found

    def answer(self, request: Request) -> Response:
        """The answer to a request for an object, or for a list by labels."""
        parts = urlsplit(request.path)
        query = self._parse(parts.path, parse_qs(parts.query))
        found = None if query is None else list(self._find(query))
        if query is None or (query.name and not found):
            return _json(404, {"kind": "Status", "message": "not found"})
        return _json(200, found[0] if query.name and found else {"items": found})

    def _parse(self, path: str, options: Mapping[str, list[str]]) -> ObjectQuery | None:
        """The query of a path under /api/v1 or /apis/<group>/<version>; None for anything else."""
        root, *words = [unquote(word) for word in path.strip("/").split("/")]
        version, words = "/".join(words[: _VERSION_WORDS.get(root, 0)]), words[_VERSION_WORDS.get(root, 0) :]
        if len(words) == 1:  # all objects of a kind without namespaces
            words = ["namespaces", "", *words]
        if self.source is None or len(words) not in {3, 4} or words[0] != "namespaces":
            return None
        try:
            kind = self.source.catalogue.by_plural(version, words[2]).kind
        except UnknownKind:
            return None
        pairs = (pair.partition("=") for pair in options.get("labelSelector", [""])[0].split(",") if pair)
        return ObjectQuery(kind, words[1], "".join(words[3:]), tuple(sorted((key, value) for key, _, value in pairs)))


def _json(status: int, body: object) -> Response:
    return Response(status, "application/json", orjson.dumps(body))
