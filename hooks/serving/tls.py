"""A certificate that is read again when its files change, and a WSGI application with another answer for each port.

A new certificate is used for new connections; open connections keep the one that they began with.
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
    """The TLS context of a certificate's two PEM files, read again when either of them changes.

    Key and certificate do not match between the two writes of a renewal. Until they match, the last good pair is used.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files.

        Raises:
            OSError: a file is missing; ssl.SSLError: it is malformed, or the key does not match the certificate.
        """
        self._files = (certificate, key)
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """The context for a new handshake."""
        with self._lock:
            try:
                self._renew()
            except OSError as error:
                logger.warning("the certificate in %s cannot be used, the one before stays: %s", self._files[0], error)
            return self._context

    def _renew(self) -> None:
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp  # before reading, so that a change during the reading is noticed next time
        self._context = self._load()
        logger.info("the certificate in %s was renewed", self._files[0])

    def _stamp(self) -> _Stamp:
        """A value that differs after each change: the kubelet replaces a link, other programs write in place."""
        found = (path.stat() for path in self._files)
        return tuple((stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in found)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.load_cert_chain(*self._files)
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class AppByPort:
    """A WSGI application that sends requests of the plain port to one application, of the HTTPS port to another."""

    plain: WsgiApp
    secure: WsgiApp

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Let the application of the request's port answer."""
        is_secure = isinstance(environ["gunicorn.socket"], ssl.SSLSocket)
        return (self.secure if is_secure else self.plain)(environ, start_response)
