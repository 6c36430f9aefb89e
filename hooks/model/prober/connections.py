"""Connections to engines: one deadline for a whole answer, and how many connections are kept open.

This module does not know the requests and answers.
"""

import logging
import resource
import socket
import time
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection

logger = logging.getLogger("hooks.model.prober")

MOST_KEPT_ENGINES = 2048
CONNECTIONS_PER_ENGINE = 2
"""One for lists, one for loads and unloads, because both may be under way at the same time."""
_OWN_FILES = 128
"""Open files that are not connections to engines: logs, libraries, connections of hooks and of Prometheus."""


class _DeadlineSocket(socket.socket):
    """A socket whose timeout limits the time for all data together, not for each piece; setting it starts the time."""

    _deadline: float | None = None

    def settimeout(self, value: float | None, /) -> None:
        super().settimeout(value)
        self._deadline = None if value is None else time.monotonic() + value

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        if self._deadline is not None:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError("timed out")
            super().settimeout(remaining)
        return super().recv_into(*args, **kwargs)


class _Connection(HTTPConnection):
    """A connection whose socket has a deadline; urllib3 sets its timeout once per call, before the answer begins."""

    def _new_conn(self) -> socket.socket:
        plain = super()._new_conn()
        timeout = plain.gettimeout()
        made = _DeadlineSocket(plain.family, plain.type, plain.proto, plain.detach())
        made.settimeout(timeout)
        return made


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class DeadlineAdapter(HTTPAdapter):
    """Sends over connections whose timeout limits the time for headers and body together."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create the pools of these connections."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool}


def kept_engines(files: int, calls: int) -> int:
    """The number of engines whose connections are kept open; `files` may be open, `calls` of them for calls under way.

    Engines beyond that number get a new connection for each call.
    """
    if files == resource.RLIM_INFINITY:
        return MOST_KEPT_ENGINES
    kept = (files - _OWN_FILES - calls) // CONNECTIONS_PER_ENGINE
    if kept >= MOST_KEPT_ENGINES:
        return MOST_KEPT_ENGINES
    kept = max(1, kept)
    logger.warning("few open files", extra={"fields": {"limit": files, "calls": calls, "kept_engines": kept}})
    return kept
