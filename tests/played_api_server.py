"""An API server in memory: objects by path, versions that conflict, a list of what was asked.

It answers behind `responses` for code in the test's own process, or over HTTP for a process that a test starts.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import requests
import responses

from hooks.server.clients.api_server import ApiServer
from tests.loopback import serving

URL = "https://127.0.0.1:6443"
Answer = tuple[int, dict[str, str], str]


@dataclass
class PlayedApiServer:
    """`objects` are by path; `asked` are method and path; `before` may act, or refuse, in front of each request."""

    server: ApiServer
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    before: Callable[[str, str], int | None] = lambda _method, _path: None
    version: int = 0

    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.asked if method != "GET"]

    def put(self, path: str, found: dict[str, Any]) -> None:
        """Store an object as somebody else does."""
        self.version += 1
        metadata = {**found.get("metadata", {}), "resourceVersion": str(self.version)}
        self.objects[path] = {**found, "metadata": metadata}

    def answer(self, request: requests.PreparedRequest) -> Answer:
        method, path = str(request.method), str(request.url).removeprefix(URL)
        self.asked.append((method, path))
        refused = self.before(method, path)
        if refused is not None:
            return _refuse(refused)
        body = json.loads(request.body) if request.body else None
        act = {"GET": self._get, "POST": self._post, "PUT": self._replace, "PATCH": self._patch, "DELETE": self._delete}
        return act[method](path, body)

    def _get(self, path: str, _body: Any) -> Answer:
        if path not in self.objects:
            return _refuse(404)
        found = self.objects[path]
        return _tell({**found, "metadata": {"name": path.rpartition("/")[2], **found.get("metadata", {})}})

    def _post(self, path: str, body: Any) -> Answer:
        path = f"{path}/{body['metadata']['name']}"
        if path in self.objects:
            return _refuse(409)
        self.put(path, body)
        return _tell(self.objects[path], 201)

    def _replace(self, path: str, body: Any) -> Answer:
        if path not in self.objects:
            return _refuse(404)
        if body["metadata"].get("resourceVersion") not in {None, self._version_of(path)}:
            return _refuse(409)
        self.put(path, body)
        return _tell(self.objects[path])

    def _patch(self, path: str, body: Any) -> Answer:
        """A JSON merge patch."""
        if path not in self.objects:
            return _refuse(404)
        if body.get("metadata", {}).get("resourceVersion") not in {None, self._version_of(path)}:
            return _refuse(409)
        if body.get("metadata", {}).get("uid") not in {None, self.objects[path].get("metadata", {}).get("uid")}:
            return _refuse(409)
        self.put(path, _merge(self.objects[path], body))
        return _tell(self.objects[path])

    def _delete(self, path: str, body: Any) -> Answer:
        if path not in self.objects:
            return _refuse(404)
        if ((body or {}).get("preconditions") or {}).get("resourceVersion") not in {None, self._version_of(path)}:
            return _refuse(409)
        return _tell(self.objects.pop(path))

    def _version_of(self, path: str) -> str:
        return str(self.objects[path]["metadata"]["resourceVersion"])


def _merge(old: Any, change: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(change, dict):
        return change
    merged = {**old, **{key: _merge(old.get(key), value) for key, value in change.items()}}
    return {key: value for key, value in merged.items() if value is not None}


def _tell(found: dict[str, Any], status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(found)


def _refuse(code: int) -> Answer:
    return _tell({"kind": "Status", "message": f"refused with {code}"}, code)


@contextmanager
def played_api_server(folder: Path, sort: type[PlayedApiServer] = PlayedApiServer) -> Iterator[PlayedApiServer]:
    """The server, of that sort, with an account whose files are in the folder, and a clock that stands still."""
    (folder / "token").write_text("secret\n")
    (folder / "ca.crt").write_text("")
    server = ApiServer(url=URL, token_file=folder / "token", ca_file=folder / "ca.crt", clock=lambda: 0.0)
    played = sort(server)

    def answer(request: requests.PreparedRequest) -> Answer:
        return played.answer(request)  # a test may put another one in its place

    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            mock.add_callback(method, re.compile(re.escape(URL)), callback=answer)
        yield played


@contextmanager
def served_api_server(folder: Path) -> Iterator[tuple[PlayedApiServer, str]]:
    """The server over HTTP on loopback, with its URL, and an account whose files are in the folder."""
    for name, text in (("token", "secret"), ("ca.crt", ""), ("namespace", "dynamo-system")):
        (folder / name).write_text(text)
    played = PlayedApiServer(ApiServer(url=URL, token_file=folder / "token", ca_file=folder / "ca.crt"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        """Head and body leave together: apart, each answer would take 40 ms more, until the head is acknowledged."""

        def do_GET(self) -> None:
            asked = requests.Request(self.command, f"{URL}{self.path}").prepare()
            status, headers, text = played.answer(asked)
            self.send_response(status)
            for name, found in {**headers, "Content-Length": str(len(text.encode()))}.items():
                self.send_header(name, found)
            self.end_headers()
            self.wfile.write(text.encode())

        do_DELETE = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_arguments: object) -> None:
            """Say nothing: `played.asked` has each request."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield played, url
