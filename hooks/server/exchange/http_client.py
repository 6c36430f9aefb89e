"""Asks a server over HTTP: one deadline for the whole exchange, a bound in bytes, no redirect, nothing to unpack.

Calls go straight to the transport: a session of `requests` would add cookies and the environment's proxies, and would
unpack the whole body of a redirect that it does not follow.
"""

import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException, RemoteDisconnected

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Timeout
from urllib3.exceptions import HTTPError, ReadTimeoutError

from hooks.server.exchange.connections import AnswerTooLarge, BoundedAdapter

MIB = 2**20
_PIECE = 2**16
_ATTEMPTS = 2
_DIGITS = 18
FAULTS = (requests.RequestException, HTTPError, HTTPException, OSError, ValueError)
"""What an exchange with a peer that does anything at all may raise."""


class Unanswered(Exception):
    """No answer that can be used; the message is half a sentence, without a word of the peer.

    `is_late`: the deadline passed. `is_too_large`: the answer has more bytes than it may. `is_unreachable`: no
    connection came about, or it broke.
    """

    def __init__(
        self, message: str, *, is_late: bool = False, is_too_large: bool = False, is_unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.is_late = is_late
        self.is_too_large = is_too_large
        self.is_unreachable = is_unreachable

    @property
    def is_slow(self) -> bool:
        """Whether there was a connection, and the answer did not come in time."""
        return self.is_late and not self.is_unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The seconds of a whole exchange, and the most bytes of the body.

    `allowed` are the seconds that messages name, where these are what earlier exchanges left of them; 0 for the same.
    `is_endless`: the seconds are those until a connection is there; what comes over it has no end, such as a log.
    """

    seconds: float
    most_bytes: int
    is_endless: bool = False
    allowed: float = 0.0

    @property
    def timeout(self) -> Timeout:
        """As the transport takes it."""
        return Timeout(connect=self.seconds, read=None) if self.is_endless else Timeout(total=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP status with its words, the headers by name in any case, and the body as it was sent."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpClient:
    """A transport, and what servers are trusted, as `requests` takes them; safe to use from several threads."""

    transport: HTTPAdapter
    verify: bool | str = True
    certificate: tuple[str, str] | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)

    def ask(
        self, method: str, url: str, *, limits: Allowance, headers: Mapping[str, str], body: bytes | None = None
    ) -> Reply:
        """The answer to one request, whatever its status.

        Raises:
            Unanswered: there is none in time, or none that can be used.
        """
        with self.open(method, url, limits=limits, headers=headers, body=body) as response:
            return read_reply(response, limits)

    def ask_twice(
        self, method: str, url: str, *, limits: Allowance, headers: Mapping[str, str], body: bytes | None = None
    ) -> Reply:
        """The same, once more in the time that is left if the connection ends without an answer.

        A server may close an idle connection at the moment in which a request is sent over it.
        """
        until = time.monotonic() + limits.seconds
        for attempt in range(_ATTEMPTS):
            left = Allowance(seconds=until - time.monotonic(), most_bytes=limits.most_bytes)
            try:
                return self.ask(method, url, limits=left if attempt else limits, headers=headers, body=body)
            except Unanswered as unanswered:
                is_last = attempt == _ATTEMPTS - 1 or time.monotonic() >= until
                if is_last or not isinstance(find_cause(unanswered), RemoteDisconnected | ConnectionResetError):
                    raise
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def open(
        self, method: str, url: str, *, limits: Allowance, headers: Mapping[str, str], body: bytes | None = None
    ) -> Iterator[requests.Response]:
        """The answer, whose body is still to come.

        Raises:
            Unanswered: there is none in time, or none that can be used; also while the body is read.
        """
        try:
            sent = {"User-Agent": "dynamo-hooks", "Accept": "*/*", "Accept-Encoding": "identity", **headers}
            request = requests.Request(method, url, headers=sent, data=body).prepare()
            response = self.transport.send(
                request,
                stream=True,
                timeout=limits.timeout,  # type: ignore[arg-type]  # not in the stubs
                verify=self.verify,
                cert=self.certificate,
                proxies=self.proxies,
            )
            with response:
                if (packed := response.headers.get("Content-Encoding", "identity")) not in {"", "identity"}:
                    raise Unanswered(f"the answer is packed ({packed[:20]!r}), which was not asked for")
                yield response
        except FAULTS as error:
            raise describe_fault(error, limits) from error

    def close(self) -> None:
        """Close the connections that are kept."""
        self.transport.close()


def open_client(most_bytes: int = MIB, *, hosts: int = 1, each: int = 1) -> HttpClient:
    """A client that keeps connections open for `hosts` servers, `each` of them for one; no body is larger."""
    return HttpClient(transport=BoundedAdapter(most_bytes, pool_connections=hosts, pool_maxsize=each))


def read_reply(response: requests.Response, limits: Allowance) -> Reply:
    """The whole answer.

    Raises:
        Unanswered: the body is too large.
    """
    parts: list[bytes] = []
    size = 0
    said = response.headers.get("Content-Length", "")
    if said.isdecimal() and (len(said) > _DIGITS or int(said) > limits.most_bytes):
        raise _too_large(limits)
    for part in response.raw.stream(_PIECE, decode_content=False):
        parts.append(part)
        size += len(part)
        if size > limits.most_bytes:
            raise _too_large(limits)
    return Reply(
        status=response.status_code,
        reason=response.reason or "",
        headers=response.headers,
        body=b"".join(parts),
    )


def read_lines(response: requests.Response) -> Iterator[bytes]:
    """The lines of a body as they come, without their ends; one that is too long comes in parts."""
    rest = b""
    while part := response.raw.read1(_PIECE, decode_content=False):
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
        if len(rest) > MIB:
            yield rest
            rest = b""
    if rest:
        yield rest


def _too_large(limits: Allowance) -> Unanswered:
    return Unanswered(f"the answer has more than {_write_size(limits.most_bytes)}", is_too_large=True)


def _write_size(size: int) -> str:
    return f"{size // MIB} MiB" if size >= MIB else f"{size // 1024} KiB"


def describe_fault(error: Exception, limits: Allowance) -> Unanswered:
    """What is wrong, in half a sentence."""
    cause = find_cause(error)
    if isinstance(cause, AnswerTooLarge):
        return _too_large(limits)
    if isinstance(error, requests.Timeout | ReadTimeoutError) or isinstance(cause, TimeoutError | ReadTimeoutError):
        is_unreachable = isinstance(error, requests.ConnectTimeout)
        seconds = limits.allowed or limits.seconds
        what = "connection" if is_unreachable else "answer"
        return Unanswered(f"no {what} within {seconds:.3g} s", is_late=True, is_unreachable=is_unreachable)
    return Unanswered(str(error), is_unreachable=isinstance(error, requests.ConnectionError | ConnectionError))


def find_cause(error: BaseException) -> BaseException:
    """The first cause of a failure that a socket or the HTTP parser raised; the failure itself if there is none."""
    causes: list[BaseException] = [error]
    for cause in causes:
        if isinstance(cause, AnswerTooLarge | TimeoutError | ReadTimeoutError | RemoteDisconnected):
            return cause
        inner = [getattr(cause, "reason", None), cause.__cause__, cause.__context__, *cause.args]
        causes += [one for one in inner if isinstance(one, BaseException) and one not in causes]
    return next((one for one in causes if isinstance(one, OSError) and one.errno in errno.errorcode), error)


def describe_system_error(error: BaseException) -> str:
    """The operating system's words for the cause of a failure, such as `Connection refused`; empty if it has none."""
    cause = find_cause(error)
    number = cause.errno if isinstance(cause, OSError) else None
    return os.strerror(number) if number is not None and number in errno.errorcode else ""
