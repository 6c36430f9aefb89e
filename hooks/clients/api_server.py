"""Requests to the Kubernetes API server with the pod's own ServiceAccount, and one deadline for a conversation."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from hooks.k8s.names import is_dns_label, is_subdomain
from hooks.k8s.types import GroupVersionKind, plural_of

ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PAGE = 500
"""How many objects one answer to a list holds at most."""
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Refused(Exception):
    """The API server refused the request, or did not answer (`status` is 0); the message is a sentence."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def collection_path(kind: GroupVersionKind, namespace: str = "") -> str:
    """The path of all objects of a kind: in a namespace, or in all (also of a kind without namespaces)."""
    group = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{group}{where}/{plural_of(kind)}"


def object_path(kind: GroupVersionKind, namespace: str, name: str) -> str:
    """The path of an object in a namespace.

    Raises:
        Refused: no object can have that name. A name from a request may hold slashes, dots or a question mark, with
            which the path would be that of another object.
    """
    if not is_dns_label(namespace) or not is_subdomain(name):
        raise Refused(f"no {kind.kind} can be named {namespace!r}/{name!r}")
    return f"{collection_path(kind, namespace)}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAnswer:
    """An HTTP status, and the JSON object in the body; {} if the body is something else."""

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
    def converse(self, seconds: float) -> Iterator["Conversation"]:
        """Open a conversation whose requests must all end within `seconds`."""
        with requests.Session() as session:
            session.trust_env = False  # no proxy or netrc of the environment
            yield Conversation(server=self, session=session, seconds=seconds, until=self.clock() + seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Requests that share one connection and one deadline."""

    server: ApiServer
    session: requests.Session
    seconds: float
    until: float

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        also: tuple[HTTPStatus, ...] = (),
        patch: str = MERGE_PATCH,
    ) -> ServerAnswer:
        """The answer to one request: a success, or a status in `also`; `patch` is the content type of a PATCH.

        Raises:
            Refused: any other status, no answer in time, or the deadline has passed already.
        """
        left = self.until - self.server.clock()
        if left <= 0:
            raise Refused(f"{method} {path}: not sent, because earlier requests took the {self.seconds:g} s allowed")
        try:
            headers = write_headers(write_bearer(self.server.token_file.read_text().strip()), method, body, patch)
            options: dict[str, Any] = {"timeout": left, "verify": str(self.server.ca_file), "allow_redirects": False}
            response = self.session.request(method, self.server.url + path, headers=headers, json=body, **options)
        except (requests.RequestException, OSError) as error:
            raise Refused(f"{method} {path}: {error}") from error
        return read_answer(response, f"{method} {path}", also)

    def find(self, path: str) -> Mapping[str, Any] | None:
        """The object at a path; None if it does not exist.

        Raises:
            Refused: any other status, no answer in time, or the deadline has passed already.
        """
        answer = self.ask("GET", path, also=(HTTPStatus.NOT_FOUND,))
        return None if answer.status == HTTPStatus.NOT_FOUND else answer.body


def write_bearer(token: str) -> str:
    """The value of the header `Authorization`.

    Raises:
        Refused: no header can carry the token. The message does not have it; that of an HTTP library would.
    """
    if not (token.isascii() and token.isprintable()):
        raise Refused("the bearer token has a character that no header can carry, such as a line break")
    return f"Bearer {token}"


def write_headers(
    authorization: str, method: str, body: Mapping[str, Any] | None = None, patch: str = MERGE_PATCH
) -> dict[str, str]:
    """The headers of a request; without an authorization if that is empty."""
    headers = {"Accept": "application/json", **({"Authorization": authorization} if authorization else {})}
    if body is not None:
        headers["Content-Type"] = patch if method == "PATCH" else "application/json"
    return headers


def read_pages(read: Callable[[Mapping[str, str | int]], ServerAnswer], **query: str) -> Iterator[ServerAnswer]:
    """The pages of a list, of which `read` reads one by a query.

    If the server forgets the list between two pages (410), and `read` allows that, the list is read again, so an object
    may come twice.
    """
    more = ""
    while True:
        answer = read({"limit": PAGE, **query, **({"continue": more} if more else {})})
        yield answer
        more = str((answer.body.get("metadata") or {}).get("continue") or "")
        if not more and answer.status != HTTPStatus.GONE:
            return


def is_served(read: Callable[[str], Mapping[str, Any] | None], kind: GroupVersionKind) -> bool:
    """Whether discovery, of which `read` reads a path, names the kind; every account may read discovery."""
    group = read(f"/apis/{kind.api_version}") or {}
    return any(resource.get("kind") == kind.kind for resource in group.get("resources") or ())


def read_answer(response: requests.Response, request: str, also: tuple[HTTPStatus, ...] = ()) -> ServerAnswer:
    """The answer in a response, if it is a success or a status in `also`; `request` names the request in messages.

    Raises:
        Refused: any other status; the message has what the API server says.
    """
    answer = ServerAnswer(status=response.status_code, body=read_body(response))
    if answer.status in also or HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return answer
    reason = answer.body.get("message") or response.reason
    raise Refused(f"{request}: {answer.status} {reason}", answer.status)


def read_body(response: requests.Response) -> Mapping[str, Any]:
    """The body as a JSON object; {} if it is something else, as from a proxy."""
    try:
        answer = response.json()
    except requests.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}
