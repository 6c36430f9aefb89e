"""Requests to the Kubernetes API server with the pod's own ServiceAccount, and one deadline for a conversation."""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import is_dns_label, is_subdomain
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, plural_of
from hooks.server.clients.manifests import check_manifest, read_continue, read_items
from hooks.server.exchange.call_time import seconds_left
from hooks.server.exchange.connections import BoundedAdapter
from hooks.server.exchange.documents import Unreadable, parse_object
from hooks.server.exchange.http_client import MIB, Allowance, HttpClient, Reply, Unanswered

ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PAGE = 500
"""How many objects one answer to a list holds at most; fewer where so many are too large for one answer."""
MOST_BYTES = 4 * MIB
"""The largest answer; an object has at most some 1.5 MiB."""
REQUEST_SECONDS = 5.0
"""How long one request may take: an API server under load needs seconds, and one that is gone must not use up all time.

Source: client-go, tools/leaderelection/resourcelock, NewFromKubeconfig: half of the time for renewing a Lease, 10 s.
"""
UNREACHABLE = "the API server does not answer the hooks; check that they reach it"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Refused(Exception):
    """The API server refused the request, or gave no answer that can be used (`status` is 0); the text is a sentence.

    `why` is the cause in half a sentence, without the request. `is_unreachable`: no connection came about.
    """

    def __init__(self, message: str, status: int = 0, *, why: str = "", is_unreachable: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.why = why
        self.is_unreachable = is_unreachable


class TooLarge(Refused):
    """The answer has more bytes than it may."""


def collection_path(kind: GroupVersionKind, namespace: str = "") -> str:
    """The path of all objects of a kind: in a namespace, or in all (also of a kind without namespaces)."""
    group = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{group}{where}/{plural_of(kind)}"


def object_path(kind: GroupVersionKind, namespace: str, name: str) -> str:
    """The path of an object in a namespace, which is empty for a kind without namespaces.

    Raises:
        Refused: no object can have that name. A name from a request may hold slashes, dots or a question mark, with
            which the path would be that of another object.
    """
    is_place = namespace == "" if kind in kinds.WITHOUT_NAMESPACE else is_dns_label(namespace)
    if not is_place or not is_subdomain(name):
        raise Refused(f"no {kind.kind} can be named {namespace!r}/{name!r}")
    return f"{collection_path(kind, namespace)}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAnswer:
    """An HTTP status, and the JSON object in the body; {} for a refusal that has none."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """An API server, and the account for requests to it; `url` has no slash at its end.

    `token_file` is read for every request, because the kubelet renews it. `clock` returns seconds and never decreases.
    """

    url: str
    token_file: Path
    ca_file: Path
    clock: Callable[[], float] = field(default=time.monotonic)

    @classmethod
    def in_cluster(
        cls, environment: Mapping[str, str] = os.environ, folder: Path = ACCOUNT_FOLDER
    ) -> "ApiServer | None":
        """The API server of this pod's cluster; None outside of a cluster, or if the pod mounts no token."""
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
        if not host or not port or not (folder / "token").is_file():
            return None
        address = f"[{host}]" if ":" in host else host
        return cls(url=f"https://{address}:{port}", token_file=folder / "token", ca_file=folder / "ca.crt")

    @property
    def own_namespace(self) -> str:
        """The namespace of this pod; empty if the mounted account does not say."""
        file = self.token_file.with_name("namespace")
        return file.read_text().strip() if file.is_file() else ""

    @contextmanager
    def converse(self, seconds: float, each: float = math.inf) -> Iterator["Conversation"]:
        """Open a conversation whose requests must all end within `seconds`, and each of them within `each`.

        In a call that is answered, they end with the call's own time.
        """
        client = HttpClient(transport=BoundedAdapter(MOST_BYTES), verify=str(self.ca_file))
        try:
            until = self.clock() + min(seconds, seconds_left())
            yield Conversation(server=self, client=client, seconds=seconds, each=each, until=until)
        finally:
            client.close()


@dataclass(slots=True)
class BytesTaken:
    """The bytes of all answers so far."""

    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Requests that share one connection and one deadline.

    None of them takes more than `each` seconds, and no answer has more than `most_bytes`.
    """

    server: ApiServer
    client: HttpClient
    seconds: float
    until: float
    each: float = math.inf
    most_bytes: int = MOST_BYTES
    taken: BytesTaken = field(default_factory=BytesTaken)

    def limited(self, most_bytes: int) -> "Conversation":
        """The same conversation, with answers of at most so many bytes."""
        return replace(self, most_bytes=most_bytes)

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        also: tuple[HTTPStatus, ...] = (),
        form: str = "",
    ) -> ServerAnswer:
        """The answer to one request: a success, or a status in `also`.

        `form` is the content type of a PATCH, or that in which a GET wants the answer.

        Raises:
            Refused: any other status, no answer in time, or the deadline has passed already.
        """
        left = self.until - self.server.clock()
        if left <= 0:
            why = "earlier requests took the time allowed"
            raise Refused(f"{method} {path}: not sent, because {why}", why=why)
        try:
            headers = write_headers(write_bearer(self.server.token_file.read_text().strip()), method, body, form)
        except OSError as error:
            raise Refused(f"{method} {path}: {error}", why="the account's token cannot be read") from error
        request = f"{method} {path}"
        limits = Allowance(
            seconds=min(left, self.each), most_bytes=self.most_bytes, allowed=min(self.seconds, self.each)
        )
        try:
            reply = ask_server(self.client, request, self.server.url + path, headers=headers, body=body, limits=limits)
        except TooLarge:
            self.taken.size += self.most_bytes
            raise
        self.taken.size += len(reply.body)
        return read_answer(reply, request, also)

    def read(self, path: str, form: str = "") -> Mapping[str, Any] | None:
        """The JSON object at a path; None if it does not exist.

        Raises:
            Refused: any other status, no answer in time, or the deadline has passed already.
        """
        answer = self.ask("GET", path, also=(HTTPStatus.NOT_FOUND,), form=form)
        return None if answer.status == HTTPStatus.NOT_FOUND else answer.body

    def find(self, path: str, kind: GroupVersionKind | None = None) -> ReadManifest | None:
        """The object at a path, whose metadata can be read, and with a kind the rest too; None if it does not exist.

        Raises:
            Refused: any other status, no answer in time, no object, or the deadline has passed already.
        """
        found = self.read(path)
        try:
            if found is None or kind is None:
                return None if found is None else check_manifest(found)
            return {"apiVersion": kind.api_version, "kind": kind.kind, **check_manifest(found, kind)}
        except Unreadable as unreadable:
            raise describe_unreadable(f"GET {path}", unreadable) from unreadable


def ask_server(
    client: HttpClient,
    request: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None,
    limits: Allowance,
) -> Reply:
    """The reply to a request, which is named as in messages: its method, a space, and the rest.

    Raises:
        Refused: there is none.
    """
    data = None if body is None else json.dumps(body, allow_nan=False).encode()
    try:
        return client.ask(request.partition(" ")[0], url, limits=limits, headers=headers, body=data)
    except Unanswered as unanswered:
        if unanswered.is_too_large:
            raise TooLarge(f"{request}: {unanswered}", why=str(unanswered)) from unanswered
        # The same text for the same cause, because it becomes part of a status.
        slow = f"the API server did not answer within {limits.allowed or limits.seconds:g} s"
        why = slow if unanswered.is_slow else UNREACHABLE if unanswered.is_unreachable else _UNREADABLE
        said = slow if unanswered.is_slow else unanswered
        raise Refused(f"{request}: {said}", why=why, is_unreachable=unanswered.is_unreachable) from unanswered


def write_bearer(token: str) -> str:
    """The value of the header `Authorization`.

    Raises:
        Refused: no header can carry the token. The message does not have it; that of an HTTP library would.
    """
    if not (token.isascii() and token.isprintable()):
        raise Refused("the bearer token has a character that no header can carry, such as a line break")
    return f"Bearer {token}"


def write_headers(
    authorization: str, method: str, body: Mapping[str, Any] | None = None, form: str = ""
) -> dict[str, str]:
    """The headers of a request; without an authorization if that is empty. `form` is as `Conversation.ask` has it."""
    accept = form if form and method == "GET" else "application/json"
    headers = {"Accept": accept, **({"Authorization": authorization} if authorization else {})}
    if body is not None:
        headers["Content-Type"] = (form or MERGE_PATCH) if method == "PATCH" else "application/json"
    return headers


def read_pages(read: Callable[[Mapping[str, str | int]], ServerAnswer], **query: str) -> Iterator[ServerAnswer]:
    """The pages of a list, of which `read` reads one by a query; one that is too large is read in smaller parts.

    If the server forgets the list between two pages (410), and `read` allows that, the list is read again, so an object
    may come twice.

    Raises:
        Refused: a page cannot be read, also if it has one object only.
    """
    more, page = "", PAGE
    while True:
        try:
            answer = read({"limit": page, **query, **({"continue": more} if more else {})})
            following = read_continue(answer.body)
        except TooLarge:
            if page == 1:
                raise
            page = max(1, page // 4)
            continue
        except Unreadable as unreadable:
            raise describe_unreadable("a list", unreadable) from unreadable
        yield answer
        more = following
        if not more and answer.status != HTTPStatus.GONE:
            return


def read_objects(page: ServerAnswer, what: str, kind: GroupVersionKind | None = None) -> list[ReadManifest]:
    """The objects of a page of a list, as `check_manifest` has them; `what` names the list in messages.

    Raises:
        Refused: one of them is something else.
    """
    try:
        return read_items(page.body, kind)
    except Unreadable as unreadable:
        raise describe_unreadable(what, unreadable) from unreadable


def describe_unreadable(request: str, unreadable: Unreadable) -> Refused:
    """What an answer that cannot be read comes to; `request` names the request in messages."""
    return Refused(f"{request}: the API server answers what cannot be read: {unreadable}", why=_UNREADABLE)


_UNREADABLE = "the API server answers what cannot be read"


def is_served(read: Callable[[str], Mapping[str, Any] | None], kind: GroupVersionKind) -> bool:
    """Whether discovery, of which `read` reads a path, names the kind; every account may read discovery."""
    group = (read(f"/apis/{kind.api_version}") or {}).get("resources")
    return isinstance(group, list) and any(isinstance(one, dict) and one.get("kind") == kind.kind for one in group)


def read_answer(reply: Reply, request: str, also: tuple[HTTPStatus, ...] = ()) -> ServerAnswer:
    """The answer in a reply, if it is a success or a status in `also`; `request` names the request in messages.

    Raises:
        Refused: any other status, and the message has what the API server says; or a success that is no JSON object.
    """
    is_success = HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES
    try:
        body = parse_object(reply.body)
    except Unreadable as unreadable:
        if is_success:
            raise describe_unreadable(request, unreadable) from unreadable
        body = {}
    if reply.status in also or is_success:
        return ServerAnswer(status=reply.status, body=body)
    said = body.get("message")
    reason = said if said and isinstance(said, str) else reply.reason
    raise Refused(f"{request}: {reply.status} {reason}", reply.status)
