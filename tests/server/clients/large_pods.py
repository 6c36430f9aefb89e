"""An API server over HTTP that lists pods of any size, as rows of a table too, and counts the bytes that it sent."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hooks.ground.k8s import kinds
from hooks.server.clients.api_server import ApiServer
from hooks.wire.metacontroller.protocol import ObjectQuery
from tests.loopback import serving

COLUMNS = ("Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates")


def large_pod(number: int, size: int, **status: Any) -> dict[str, Any]:
    """A pod of which a variable has that many bytes, and whose container waits for its image."""
    return {
        "metadata": {
            "name": f"p-{number:03}",
            "namespace": "team-a",
            "uid": f"u-{number}",
            "labels": {"app": "a", "pod-template-hash": "one"},
            "creationTimestamp": f"2026-03-01T12:{number // 60:02}:{number % 60:02}Z",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "rs", "controller": True}
            ],
        },
        "spec": {"containers": [{"name": "main", "image": "i", "env": [{"name": "X", "value": "x" * size}]}]},
        "status": {
            "phase": "Pending",
            "containerStatuses": [
                {"name": "main", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull"}}}
            ],
            **status,
        },
    }


def write_row(pod: dict[str, Any]) -> dict[str, Any]:
    """A row as the API server writes it."""
    ready = pod["status"]["containerStatuses"][0]["ready"]
    state = "Running" if ready else pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
    cells = [pod["metadata"]["name"], f"{int(ready)}/1", state, "0", "1m", "10.0.0.1", "n", "<none>", "<none>"]
    about = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": pod["metadata"]}
    return {"cells": cells, "object": about}


@dataclass
class LargePods:
    """The pods of each namespace, the bytes sent for it, what was asked, and the most tables at the same time.

    Other answers may be cut off, and then the server still writes them while the client goes on.
    """

    server: ApiServer
    pods: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    at_once: dict[str, int] = field(default_factory=dict)
    most_at_once: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, accept: str) -> tuple[int, Any]:
        url = urlsplit(path)
        namespace, name = url.path.split("/")[4], url.path.partition("/pods/")[2]
        pods, query = self.pods.get(namespace, []), parse_qs(url.query)
        if name:
            found = next((pod for pod in pods if pod["metadata"]["name"] == name), None)
            return (404, {"message": "none"}) if found is None else (200, {"kind": "Pod", "apiVersion": "v1", **found})
        if "fieldSelector" in query:
            pods = [pod for pod in pods if pod["status"]["phase"] not in {"Succeeded", "Failed"}]
        limit = int(query["limit"][0])
        metadata = {"continue": "more"} if len(pods) > limit else {}
        if "as=Table" in accept:
            columns = [{"name": name, "type": "string"} for name in COLUMNS]
            rows = [write_row(pod) for pod in pods[:limit]]
            return 200, {"kind": "Table", "metadata": metadata, "columnDefinitions": columns, "rows": rows}
        return 200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": pods[:limit]}

    def begin(self, namespace: str, path: str) -> None:
        with self.lock:
            self.asked.append(path)
            self.at_once[namespace] = self.at_once.get(namespace, 0) + ("fieldSelector" in path)
            self.most_at_once[namespace] = max(self.most_at_once.get(namespace, 0), self.at_once[namespace])

    def end(self, namespace: str, path: str, size: int) -> None:
        with self.lock:
            self.at_once[namespace] -= "fieldSelector" in path
            self.sent[namespace] = self.sent.get(namespace, 0) + size


@contextmanager
def served_pods(folder: Path) -> Iterator[LargePods]:
    """The server on loopback, with an account whose files are in the folder."""
    (folder / "token").write_text("secret")
    (folder / "ca.crt").write_text("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            namespace = urlsplit(self.path).path.split("/")[4]
            played.begin(namespace, self.path)
            sent = 0
            try:
                status, found = played.answer(self.path, self.headers["Accept"])
                body = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")  # as the API server sends long lists
                self.end_headers()
                with suppress(OSError):
                    for at in range(0, len(body), 32768):
                        piece = body[at : at + 32768]
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                        sent += len(piece)
                    self.wfile.write(b"0\r\n\r\n")
            finally:
                played.end(namespace, self.path, sent)

        def handle(self) -> None:
            with suppress(ConnectionError):  # a client that leaves in the middle of an answer
                super().handle()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        played = LargePods(ApiServer(url=url, token_file=folder / "token", ca_file=folder / "ca.crt"))
        yield played


def query_of(namespace: str, app: str = "a") -> ObjectQuery:
    return ObjectQuery(kinds.POD, namespace, labels=(("app", app),))
