"""The certificate of an HTTPS server. Gunicorn reads it for each connection, so a renewal needs no restart."""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def create_context(_config: Any, create: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """Gunicorn's context for one connection; if key and certificate do not match, it is created once more.

    They do not match when the connection came between the two writes of a renewal.
    """
    try:
        return create()
    except ssl.SSLError:
        time.sleep(_RENEWAL_SECONDS)
        return create()
