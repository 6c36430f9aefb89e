"""Connections that a peer cannot hold: one deadline for all that it does, and a bound on the bytes that it sends.

A time limit for each read lets a peer that drips bytes hold a call for ever. Here the time that is left is set before
each step: looking up the name, connecting, the TLS handshake, sending, head and body. The bytes are counted at the
socket, below everything that reads lines of any length.

This module does not know the requests and answers.
"""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs

HEAD_BYTES = 2**18
"""What an answer may have beside its body: head, lengths of chunks, and what is read ahead."""
MOST_LOOKUPS = 8
"""Names that are looked up at the same time. The resolver cannot be stopped, so a lookup may outlast its call."""
_LEAST_SECONDS = 0.001

Addresses = Sequence[tuple[Any, ...]]
"""As `socket.getaddrinfo` returns them."""

_lookups = threading.BoundedSemaphore(MOST_LOOKUPS)


class AnswerTooLarge(OSError):
    """The peer sent more bytes than it may."""


class _Bounds:
    """Until when a peer may take, and how many bytes it may still send; both have no end without a timeout."""

    def __init__(self, seconds: float | None, most_bytes: int) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._bytes = most_bytes

    def left(self) -> float | None:
        """The seconds that are left, None for no limit.

        Raises:
            TimeoutError: none are.
        """
        if self._until is None:
            return None
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

    def count(self, size: int) -> int:
        """Count bytes that came.

        Raises:
            AnswerTooLarge: these are too many.
        """
        self._bytes -= size
        if self._bytes < 0 and self._until is not None:
            raise AnswerTooLarge("the answer is too large")
        return size


class _PlainSocket(socket.socket):
    """A socket whose timeout limits the time for all data together; setting it starts time and bytes anew."""

    most_bytes = HEAD_BYTES
    _bounds = _Bounds(None, HEAD_BYTES)

    def settimeout(self, value: float | None, /) -> None:
        super().settimeout(value)
        self._bounds = _Bounds(value, self.most_bytes)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        super().settimeout(self._bounds.left())
        return self._bounds.count(super().recv_into(*args, **kwargs))

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        super().settimeout(self._bounds.left())
        super().sendall(*args, **kwargs)  # its timeout is for all data together


class _TlsSocket(ssl.SSLSocket):
    """The same with TLS; the handshake takes no longer than the timeout of the socket that it is made from."""

    most_bytes = HEAD_BYTES
    _bounds = _Bounds(None, HEAD_BYTES)

    def settimeout(self, value: float | None, /) -> None:
        super().settimeout(value)
        self._bounds = _Bounds(value, self.most_bytes)

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        super().settimeout(self._bounds.left())
        return self._bounds.count(super().recv_into(*args, **kwargs))

    def send(self, *args: Any, **kwargs: Any) -> int:
        super().settimeout(self._bounds.left())  # `sendall` sends piece by piece
        return super().send(*args, **kwargs)


class _PlainConnection(HTTPConnection):
    """A connection whose socket has bounds; urllib3 sets its timeout once per call, before the answer begins."""

    most_bytes = HEAD_BYTES

    def _new_conn(self) -> socket.socket:
        return _connect(self, self.most_bytes)


class _TlsConnection(HTTPSConnection):
    """The same with TLS; through a proxy that itself speaks TLS, only the connection to the proxy has bounds."""

    most_bytes = HEAD_BYTES

    def _new_conn(self) -> socket.socket:
        return _connect(self, self.most_bytes)

    def connect(self) -> None:
        """Connect, and shake hands."""
        if self.ssl_context is None:
            is_plain = resolve_cert_reqs(self.cert_reqs) is ssl.CERT_NONE and not (self.cert_file or self.ca_certs)
            self.ssl_context = _share_unverified() if is_plain else _make_context(self.cert_reqs)
        super().connect()
        if isinstance(self.sock, _TlsSocket):
            self.sock.most_bytes = self.most_bytes


def _make_context(verifies: Any) -> ssl.SSLContext:
    context = create_urllib3_context(cert_reqs=resolve_cert_reqs(verifies))
    context.sslsocket_class = _TlsSocket
    return context


@lru_cache(maxsize=1)
def _share_unverified() -> ssl.SSLContext:
    """The settings of all connections without certificates: one for each would take 50 KB."""
    return _make_context(ssl.CERT_NONE)


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection

    def __init__(self, *args: Any, most_bytes: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most_bytes = most_bytes

    def _new_conn(self) -> Any:
        made: Any = super()._new_conn()
        made.most_bytes = self._most_bytes
        return made


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection

    def __init__(self, *args: Any, most_bytes: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most_bytes = most_bytes

    def _new_conn(self) -> Any:
        made: Any = super()._new_conn()
        made.most_bytes = self._most_bytes
        return made


class BoundedAdapter(HTTPAdapter):
    """Sends over connections whose timeout limits the time for head and body together, of so many bytes at most."""

    def __init__(self, most_bytes: int, names: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Take the most bytes of a body, what a server's certificate must name, and what `HTTPAdapter` takes."""
        self._names = names or {}
        self._pools = {
            "http": partial(_PlainPool, most_bytes=most_bytes + HEAD_BYTES),
            "https": partial(_TlsPool, most_bytes=most_bytes + HEAD_BYTES),
        }
        super().__init__(max_retries=0, **options)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools of these connections."""
        super().init_poolmanager(*args, **{**kwargs, **self._names})
        self.poolmanager.pool_classes_by_scheme = self._pools

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """The pools of these connections through a proxy."""
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = self._pools
        return manager


def _connect(connection: HTTPConnection, most_bytes: int) -> socket.socket:
    """A connected socket, whose timeout is what is left of the connection's.

    Raises:
        ConnectTimeoutError, NameResolutionError, NewConnectionError: there is none.
    """
    seconds = connection.timeout if isinstance(connection.timeout, int | float) else None
    bounds, fault = _Bounds(seconds, most_bytes), OSError("the name has no address")
    host: str = connection._dns_host
    try:
        for family, kind, protocol, _, address in _look_up(host, connection.port or 0, bounds.left()):
            made = _PlainSocket(family, kind, protocol)
            made.most_bytes = most_bytes
            try:
                for option in connection.socket_options or ():
                    made.setsockopt(*option)
                made.settimeout(bounds.left())
                made.connect(address)
                made.settimeout(bounds.left())
            except OSError as error:
                made.close()
                fault = error
            else:
                return made
    except socket.gaierror as error:
        raise NameResolutionError(connection.host, connection, error) from error
    except TimeoutError as error:
        fault = error
    if isinstance(fault, TimeoutError):
        raise ConnectTimeoutError(connection, f"no connection to {connection.host} within {seconds} s") from fault
    raise NewConnectionError(connection, f"no connection to {connection.host}: {fault}") from fault


def _look_up(host: str, port: int, seconds: float | None) -> Addresses:
    """The addresses of a host; a name is looked up in a thread, because the resolver knows no deadline.

    Raises:
        socket.gaierror: it has none. TimeoutError: the resolver does not answer in time, or is busy.
    """
    find = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    if seconds is None or _is_address(host):
        return find()
    if not _lookups.acquire(timeout=seconds):
        raise TimeoutError("too many names are being looked up")
    found: list[Addresses] = []
    faults: list[OSError] = []

    def look() -> None:
        try:
            found.append(find())
        except OSError as error:
            faults.append(error)
        finally:
            _lookups.release()

    thread = threading.Thread(target=look, name="lookup", daemon=True)
    thread.start()
    thread.join(max(seconds, _LEAST_SECONDS))
    if faults:
        raise faults[0]
    if not found:
        raise TimeoutError(f"the name {host} is not resolved in time")
    return found[0]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
