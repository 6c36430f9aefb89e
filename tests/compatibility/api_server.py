"""An API server in memory with the two kinds by which Dynamo's runtime discovers workers.

It lists, watches and applies; it knows no rights, no versions of an object and no deletion by an owner.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hooks.k8s.types import Manifest

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
METADATAS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamoworkermetadatas"
KINDS = {
    SLICES: ("discovery.k8s.io/v1", "EndpointSlice"),
    METADATAS: ("nvidia.com/v1alpha1", "DynamoWorkerMetadata"),
}
_SILENCE_SECONDS = 1.0
"""How long a watch waits for a change before it looks whether the server ends."""


class Store:
    """Objects by path, and every change of them in order; a change's version is its place."""

    def __init__(self) -> None:
        self.objects: dict[str, Manifest] = {}
        self.changes: list[tuple[str, str, Manifest]] = []
        self.changed = threading.Condition()
        self.is_open = True

    def put(self, collection: str, name: str, found: Manifest) -> Manifest:
        """Store an object as it is; who watches its collection hears of it."""
        api_version, kind = KINDS[collection]
        with self.changed:
            path = f"{collection}/{name}"
            version = str(len(self.changes) + 1)
            metadata = {**found.get("metadata", {}), "name": name, "namespace": "default", "resourceVersion": version}
            stored = {**found, "apiVersion": api_version, "kind": kind, "metadata": metadata}
            event = "MODIFIED" if path in self.objects else "ADDED"
            self.objects[path] = stored
            self._tell(event, collection, stored)
            return stored

    def remove(self, collection: str, name: str) -> Manifest | None:
        """Delete an object; None if there is none."""
        with self.changed:
            found = self.objects.pop(f"{collection}/{name}", None)
            if found is not None:
                self._tell("DELETED", collection, found)
            return found

    def close(self) -> None:
        """End all watches."""
        with self.changed:
            self.is_open = False
            self.changed.notify_all()

    def list_objects(self, collection: str) -> Manifest:
        """The collection as the API server lists it."""
        api_version, kind = KINDS[collection]
        with self.changed:
            items = [found for path, found in self.objects.items() if path.startswith(f"{collection}/")]
            version = {"resourceVersion": str(len(self.changes))}
            return {"apiVersion": api_version, "kind": f"{kind}List", "metadata": version, "items": items}

    def watch(self, collection: str, version: int) -> Iterator[Manifest | None]:
        """Changes after that version as they happen; None in a silence."""
        while self.is_open:
            with self.changed:
                if version >= len(self.changes):
                    self.changed.wait(_SILENCE_SECONDS)
                found, version = self.changes[version:], len(self.changes)
            yield from ({"type": event, "object": one} for event, of, one in found if of == collection)
            if not found:
                yield None

    def _tell(self, event: str, collection: str, found: Manifest) -> None:
        self.changes.append((event, collection, found))
        self.changed.notify_all()


@contextmanager
def running_api_server(address: str) -> Iterator[tuple[str, Store]]:
    """Run the server on a free port of that address and give its URL."""
    store = Store()
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer((address, 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{address}:{server.server_port}", store
    finally:
        store.close()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def do_GET(self) -> None:
        path, query = self._asked()
        if path in KINDS and query.get("watch") in {"1", "true"}:
            self._stream(path, int(query.get("resourceVersion") or 0))
        elif path in KINDS:
            self._answer(200, self.store.list_objects(path))
        else:
            self._answer_found(self.store.objects.get(path))

    def do_PATCH(self) -> None:
        """Apply: the only field manager's object is the whole object."""
        path, _ = self._asked()
        collection, _, name = path.rpartition("/")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if collection in KINDS:
            self._answer(200, self.store.put(collection, name, body))
        else:
            self._answer_found(None)

    def do_DELETE(self) -> None:
        path, _ = self._asked()
        collection, _, name = path.rpartition("/")
        self._answer_found(self.store.remove(collection, name) if collection in KINDS else None)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""

    def _asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        return parts.path, {name: values[-1] for name, values in parse_qs(parts.query).items()}

    def _answer_found(self, found: Manifest | None) -> None:
        missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        self._answer(200 if found else 404, found or {**missing, "message": f"{self.path} is not here"})

    def _answer(self, status: int, body: Manifest) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, collection: str, version: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        try:
            for event in self.store.watch(collection, version):
                line = json.dumps(event).encode() + b"\n" if event else b""
                if line:
                    self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            return  # who watched is gone
