"""The certificate of an HTTPS server. Gunicorn asks for it at each connection, so a renewal needs no restart."""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.server.serving.logs import logger

_RENEWAL_SECONDS = 0.1
"""How long a renewal may take from writing one file to writing the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """Two PEM files: the certificate and its key."""

    certificate: Path
    key: Path

    def check(self) -> None:
        """Read both files.

        Raises:
            OSError: a file is missing; ssl.SSLError: it is malformed, or the key does not match the certificate.
        """
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)


class Contexts:
    """The TLS context for each connection: that of the connection before, unless a file has changed since."""

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._stamps: tuple[object, ...] = ()
        self._last: ssl.SSLContext | None = None

    def create(self, _config: Any, create: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
        """Gunicorn's context for one connection.

        If key and certificate do not match, it is created once more: they do not match when the connection came between
        the two writes of a renewal. While the files cannot be used, the last context stays.

        Raises:
            OSError, ssl.SSLError: the files cannot be used, and there is no context of before.
        """
        try:
            stamps = self._look()
            if self._last is None or stamps != self._stamps:
                self._last, self._stamps = _try_twice(create), stamps
        except OSError:  # of which SSLError is one
            if self._last is None:
                raise
            logger.warning("the certificate of before stays: its new files cannot be used")
        return self._last

    def _look(self) -> tuple[object, ...]:
        """A value that differs after each change: the kubelet replaces a link, other programs write in place."""
        found = [file.stat() for file in (self._files.certificate, self._files.key)]
        return tuple((one.st_ino, one.st_mtime_ns, one.st_size) for one in found)


def _try_twice(create: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    try:
        return create()
    except ssl.SSLError:
        time.sleep(_RENEWAL_SECONDS)
        return create()
