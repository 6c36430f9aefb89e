"""A connection to the secure port, as gunicorn's gthread worker takes connections.

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
"""How long a client may hold a thread until it and we have agreed on TLS, and again until its first request begins."""


class SecureConnection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection whose handshake takes place on the thread that answers the first request."""

    sock: socket.socket

    def __init__(
        self, cfg: Any, accepted: tuple[socket.socket, Any], server: Any, certificate: ServedCertificate
    ) -> None:
        """Take what `accept` returned, and the address of the listener."""
        super().__init__(cfg, *accepted, server)
        self._certificate = certificate

    def init(self) -> None:
        """Shake hands, then go on as any connection does.

        Raises:
            StopIteration: there is nothing to go on with; to gunicorn, a connection that is to be closed.
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
        """Close at once; gunicorn is left an unconnected socket to close, as a closed one would upset its count."""
        self.sock.close()
        self.sock = socket.socket()


def _has_data(secure: ssl.SSLSocket) -> bool:
    """Whether a request begins in time; gunicorn waits in that way only for what comes in the clear."""
    if secure.pending():
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(secure, selectors.EVENT_READ)
        return bool(selector.select(HANDSHAKE_SECONDS))
