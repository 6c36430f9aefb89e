"""A certificate that follows its files, and the door behind it: one server, plain HTTP and HTTPS on ports of their own.

A new certificate counts for connections that begin after it; those that are open go on with the one they began with.
"""

import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.serving.logs import logger

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_Stamp = tuple[tuple[int, int, int, int], ...]


class ServedCertificate:
    """The TLS context of a certificate's two PEM files, made anew when either of them changes.

    Files that do not belong together, as between two writes of a renewal, are passed over: the last good pair counts.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files.

        Raises:
            OSError: a file is missing, malformed (ssl.SSLError), or the key is not that of the certificate.
        """
        self._files = (certificate, key)
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """The context for a handshake that begins now."""
        with self._lock:
            try:
                self._renew()
            except OSError as error:
                logger.warning("the certificate in %s is not taken over: %s", self._files[0], error)
            return self._context

    def _renew(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp  # before reading: a change while we read is seen the next time
        self._context = self._load()
        logger.info("the certificate in %s was renewed", self._files[0])

    def _stamp(self) -> _Stamp:
        """What tells one state of the files from another: the kubelet swaps a link, others write in place."""
        found = (path.stat() for path in self._files)
        return tuple((stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in found)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(*self._files)
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoDoors:
    """A WSGI application that is one behind TLS and another in plain HTTP; neither is reached through the other."""

    plain: WsgiApp
    secure: WsgiApp

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer by the application of the port where the request came in."""
        is_secure = isinstance(environ["gunicorn.socket"], ssl.SSLSocket)
        return (self.secure if is_secure else self.plain)(environ, start_response)
