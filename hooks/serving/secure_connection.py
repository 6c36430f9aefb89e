"""A connection to the HTTPS port, for gunicorn's gthread worker.

Source: gunicorn, gunicorn/workers/gthread.py, 27.0.
"""

import selectors
import socket
import ssl
from typing import Any

from gunicorn.workers.gthread import TConn

from hooks.serving.logs import logger
from hooks.serving.tls import ServedCertificate

HANDSHAKE_SECONDS = 5.0
"""How long a client may occupy a thread with its TLS handshake, and again until its first request begins."""


class SecureConnection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection whose TLS handshake runs on the thread that answers its first request."""

    sock: socket.socket

    def __init__(
        self, cfg: Any, accepted: tuple[socket.socket, Any], server: Any, certificate: ServedCertificate
    ) -> None:
        """Take what `accept` returned, and the listener's address."""
        super().__init__(cfg, *accepted, server)
        self._certificate = certificate

    def init(self) -> None:
        """Do the TLS handshake, then initialise the connection as gunicorn does.

        Raises:
            StopIteration: the handshake failed or no request began in time; gunicorn then closes the connection.
        """
        if not self.initialized:
            self.sock.settimeout(HANDSHAKE_SECONDS)
            try:
                secure = self._certificate.context().wrap_socket(self.sock, server_side=True)
            except OSError as error:
                logger.warning("TLS handshake with %s failed: %s", self.client[0], error)
                self._drop()
                raise StopIteration from error
            self.sock = secure
            if not _has_data(secure):
                self._drop()
                raise StopIteration
        super().init()

    def _drop(self) -> None:
        """Close at once, and leave gunicorn an unconnected socket to close: a closed one would upset its count."""
        self.sock.close()
        self.sock = socket.socket()


def _has_data(secure: ssl.SSLSocket) -> bool:
    """Whether a request begins in time; gunicorn itself waits for this only on plain connections."""
    if secure.pending():
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(secure, selectors.EVENT_READ)
        return bool(selector.select(HANDSHAKE_SECONDS))
