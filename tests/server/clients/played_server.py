"""An API server that holds a few objects in memory, for the clients of effects: it answers reads and records writes."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import responses
from requests import PreparedRequest

from hooks.ground.k8s.types import Manifest, gvk_of, plural_of
from hooks.server.clients.api_server import ApiServer

URL = "https://127.0.0.1:6443"

Reply = tuple[int, Mapping[str, str], str]


@dataclass(slots=True, kw_only=True)
class PlayedServer:
    """Objects by path, the requests so far, and answers to the next writes that are not just success."""

    objects: dict[str, Manifest] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)
    writes: list[tuple[str, str, Any]] = field(default_factory=list)
    refusals: list[tuple[int, Manifest]] = field(default_factory=list)

    def keep(self, *manifests: Manifest) -> None:
        """Store objects, instead of those of the same kind and name."""
        self.objects.update({path_of(manifest): manifest for manifest in manifests})

    def answer(self, request: PreparedRequest) -> Reply:
        """The answer to a request, as the API server gives it."""
        path = str(request.path_url)
        if request.method == "GET":
            self.reads.append(path)
            found = self.objects.get(path)
            return _reply(200, found) if found else _reply(404, {"kind": "Status", "message": "not found"})
        body = json.loads(request.body or "{}")
        self.writes.append((str(request.method), path, body))
        if self.refusals:
            return _reply(*self.refusals.pop(0))
        return _reply(201 if request.method == "POST" else 200, body)


def path_of(manifest: Manifest) -> str:
    """The path of a namespaced object."""
    kind, metadata = gvk_of(manifest), manifest["metadata"]
    return f"/apis/{kind.api_version}/namespaces/{metadata['namespace']}/{plural_of(kind)}/{metadata['name']}"


def play(mock: responses.RequestsMock, objects: Iterable[Manifest] = ()) -> PlayedServer:
    """Let an API server answer all requests to `URL`."""
    server = PlayedServer()
    server.keep(*objects)
    for method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
        mock.add_callback(method, re.compile(f"{re.escape(URL)}/.*"), callback=server.answer)
    return server


def api_server(folder: Path, **fields: Any) -> ApiServer:
    """The client's side: the address, and an account from files; its clock stands still, so no deadline passes."""
    (folder / "token").write_text("secret\n")
    (folder / "ca.crt").write_text("")
    given: dict[str, Any] = {"clock": lambda: 0.0, **fields}
    return ApiServer(url=URL, token_file=folder / "token", ca_file=folder / "ca.crt", **given)


def _reply(status: int, body: Manifest) -> Reply:
    return status, {"Content-Type": "application/json"}, json.dumps(body)
