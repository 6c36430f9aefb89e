"""Requests to a user's cluster, as the user: for commands that a person runs, such as `migrate` and `doctor`.

Hooks and prober use `hooks.server.clients.api_server`, with the account of their pod.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

from requests import Response
from requests.utils import get_environ_proxies
from urllib3.exceptions import InsecureRequestWarning

from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, gvk_of
from hooks.server.clients.api_server import (
    MERGE_PATCH,
    Refused,
    ServerAnswer,
    ask_server,
    collection_path,
    describe_unreadable,
    read_answer,
    read_objects,
    read_pages,
    write_bearer,
    write_headers,
)
from hooks.server.clients.manifests import check_manifest
from hooks.server.exchange.connections import BoundedAdapter
from hooks.server.exchange.documents import Unreadable
from hooks.server.exchange.http_client import MIB, Allowance, HttpClient, Unanswered, read_lines, read_reply
from hooks.tools.operating.exec_plugin import Credential, run_plugin
from hooks.tools.operating.kubeconfig import Access, Pem, Plugin, User

MOST_BYTES = 64 * MIB
"""The largest answer; a page of a list that is larger is read in parts."""
_EARLY = timedelta(seconds=30)
"""A plugin's credential is renewed that much before it expires."""


def path_of(kind: GroupVersionKind, name: str, namespace: str = "") -> str:
    """The path of an object; without a namespace, that of an object of a kind without namespaces."""
    return f"{collection_path(kind, namespace)}/{quote(name, safe='')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A user's cluster. Every function raises `Refused` if the API server refuses a request or does not answer.

    `namespace` is that of the kubeconfig's context. `authorize` returns the header that shows who asks, or nothing
    where a client certificate does. Each request may take `seconds`, and no answer but a log has over `MOST_BYTES`.
    """

    url: str
    client: Callable[[], HttpClient]
    namespace: str
    authorize: Callable[[], str]
    seconds: float

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        also: tuple[HTTPStatus, ...] = (),
        patch: str = MERGE_PATCH,
    ) -> ServerAnswer:
        """The answer to one request: a success, or a status in `also`; `patch` is the content type of a PATCH."""
        headers = self._write_headers(method, path, body, patch)
        limits = Allowance(seconds=self.seconds, most_bytes=MOST_BYTES)
        address = self._address(path, query)
        reply = ask_server(self.client(), f"{method} {path}", address, headers=headers, body=body, limits=limits)
        return read_answer(reply, f"{method} {path}", also)

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        limits: Allowance,
    ) -> Iterator[Response]:
        """The answer to one request, whatever its status; its body is still to come.

        Raises:
            Refused: there is none, also while the body is read. `is_late` of its cause: the time has passed.
        """
        headers = self._write_headers(method, path, body)
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        try:
            with self.client().open(
                method, self._address(path, query), limits=limits, headers=headers, body=data
            ) as response:
                yield response
        except Unanswered as unanswered:
            raise Refused(f"{method} {self.url}{path}: {unanswered}", why=str(unanswered)) from unanswered

    def read_lines(self, path: str, query: Mapping[str, str]) -> Iterator[str]:
        """The lines of a text, such as a log, as they come; between two of them any time may pass."""
        limits = Allowance(seconds=self.seconds, most_bytes=MOST_BYTES, is_endless=True)
        with self.open("GET", path, query=query, limits=limits) as response:
            if response.status_code != HTTPStatus.OK:
                read_answer(read_reply(response, limits), f"GET {path}")
            for line in read_lines(response):
                yield line.decode(errors="replace")

    def read(self, path: str) -> Mapping[str, Any] | None:
        """The JSON object at a path; None if there is nothing (404)."""
        answer = self.ask("GET", path, also=(HTTPStatus.NOT_FOUND,))
        return None if answer.status == HTTPStatus.NOT_FOUND else answer.body

    def find(self, kind: GroupVersionKind, name: str, namespace: str = "") -> ReadManifest | None:
        """The object; None if it, or its kind, does not exist."""
        path = path_of(kind, name, namespace)
        found = self.read(path)
        try:
            return None if found is None else check_manifest(found)
        except Unreadable as unreadable:
            raise describe_unreadable(f"GET {path}", unreadable) from unreadable

    def read_all(self, kind: GroupVersionKind, namespace: str = "", **query: str) -> Iterator[ReadManifest]:
        """All objects of a kind, page by page, with the kind in each; `query` such as `labelSelector`.

        Nothing if the kind does not exist. If the server forgets the list between two pages (410), it is read again, so
        an object may come twice.
        """
        path, also = collection_path(kind, namespace), (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
        for page in read_pages(lambda asked: self.ask("GET", path, query=asked, also=also), **query):
            if page.status != HTTPStatus.NOT_FOUND:
                for item in read_objects(page, f"GET {path}") if page.status != HTTPStatus.GONE else ():
                    yield {"apiVersion": kind.api_version, "kind": kind.kind, **item}

    def create(self, manifest: ReadManifest, **query: str) -> ReadManifest:
        """Create the object; returns it as stored."""
        namespace = str(manifest["metadata"].get("namespace") or "")
        return self.ask("POST", collection_path(gvk_of(manifest), namespace), manifest, query=query).body

    def replace(self, manifest: ReadManifest, subresource: str = "", **query: str) -> ReadManifest:
        """Replace the object, if its resourceVersion is that of `manifest`; returns it as stored."""
        metadata = manifest["metadata"]
        path = path_of(gvk_of(manifest), metadata["name"], str(metadata.get("namespace") or ""))
        return self.ask("PUT", path + _below(subresource), manifest, query=query).body

    def patch(
        self,
        found: ReadManifest,
        change: Mapping[str, Any],
        subresource: str = "",
        patch: str = MERGE_PATCH,
        *,
        is_trial: bool = False,
    ) -> ReadManifest:
        """Change the object `found`, which needs a kind, a name and its namespace; returns it as stored.

        It is refused (409) if the object was deleted and created again, or changed since it was read: the patch carries
        the uid and resourceVersion of `found` where these are known and `change` names no others. A trial is judged
        like any other, and changes nothing.
        """
        metadata = found["metadata"]
        path = path_of(gvk_of(found), metadata["name"], str(metadata.get("namespace") or ""))
        body = _with_preconditions(change, metadata)
        query = {"dryRun": "All"} if is_trial else None
        return self.ask("PATCH", path + _below(subresource), body, query=query, patch=patch).body

    def delete(self, found: ReadManifest, propagation: str = "Background") -> None:
        """Delete the object `found`, unless it was deleted and created again since, or is gone already."""
        metadata = found["metadata"]
        path = path_of(gvk_of(found), metadata["name"], str(metadata.get("namespace") or ""))
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if metadata.get("uid"):
            options["preconditions"] = {"uid": metadata["uid"]}
        self.ask("DELETE", path, options, also=(HTTPStatus.NOT_FOUND,))

    def _write_headers(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, patch: str = MERGE_PATCH
    ) -> dict[str, str]:
        try:
            return write_headers(self.authorize(), method, body, patch if method == "PATCH" else "")
        except OSError as error:
            raise Refused(f"{method} {self.url}{path}: {error}") from error

    def _address(self, path: str, query: Mapping[str, str | int] | None) -> str:
        return f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")


@contextmanager
def open_cluster(access: Access, seconds: float) -> Iterator[Cluster]:
    """Open connections to the cluster; keys and certificates from a kubeconfig's text are in a folder until the end.

    Raises:
        InvalidKubeconfig: the user's plugin gives no credential.
        OSError: the folder cannot be written.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="dynamo-hooks-")))
        names = {"server_hostname": access.server_name, "assert_hostname": access.server_name}
        transport = BoundedAdapter(MOST_BYTES, **({"names": names} if access.server_name else {}))
        stack.callback(transport.close)
        client = HttpClient(
            transport=transport, verify=_find_authorities(access, folder), proxies=_find_proxies(access)
        )
        if access.insecure:  # as the user chose; else urllib3 would warn at every request
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", InsecureRequestWarning)
        account = _Account(user=access.user, client=client, folder=folder)
        account.start()
        yield Cluster(
            url=access.url,
            client=lambda: account.client,
            namespace=access.namespace,
            authorize=account.authorize,
            seconds=seconds,
        )


@dataclass(slots=True, kw_only=True)
class _Account:
    """The user's credentials; a plugin is asked again before its credential expires."""

    user: User
    client: HttpClient
    folder: Path
    _credential: Credential = field(default_factory=Credential, init=False)

    def start(self) -> None:
        if self.user.plugin is not None:
            self._renew(self.user.plugin)
        elif self.user.certificate is not None:
            self._show(self.user.certificate, self.user.key)

    def authorize(self) -> str:
        if self.user.token_file is not None:
            return write_bearer(self.user.token_file.read_text().strip())
        expires = self._credential.expires
        if self.user.plugin is not None and expires is not None and expires - _EARLY <= datetime.now(UTC):
            self._renew(self.user.plugin)
        token = self._credential.token or self.user.token
        return write_bearer(token) if token else ""

    def _renew(self, plugin: Plugin) -> None:
        self._credential = run_plugin(plugin)
        if self._credential.certificate is not None:
            self._show(self._credential.certificate, self._credential.key)

    def _show(self, certificate: Pem, key: Pem) -> None:
        names = (_as_file(certificate, self.folder / "client.crt"), _as_file(key, self.folder / "client.key"))
        self.client = replace(self.client, certificate=names)


def _find_proxies(access: Access) -> dict[str, str]:
    if access.proxy:
        return {"http": access.proxy, "https": access.proxy}
    return dict(get_environ_proxies(access.url))


def _find_authorities(access: Access, folder: Path) -> bool | str:
    if access.insecure:
        return False
    return _as_file(access.authorities, folder / "ca.crt") if access.authorities is not None else True


def _as_file(pem: Pem, path: Path) -> str:
    if isinstance(pem, Path):
        return str(pem)
    path.touch(0o600)
    path.write_bytes(pem or b"")
    return str(path)


def _with_preconditions(change: Mapping[str, Any], metadata: Mapping[str, Any]) -> Manifest:
    known = {key: metadata[key] for key in ("uid", "resourceVersion") if metadata.get(key)}
    return {**change, "metadata": {**known, **(change.get("metadata") or {})}}


def _below(subresource: str) -> str:
    return f"/{subresource}" if subresource else ""
