"""Writes that are tried again while other programs change the same object."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from hooks.server.clients.api_server import Refused

ATTEMPTS = 8
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 4.0

Pause = Callable[[float], None]
"""Lets so many seconds pass."""
T = TypeVar("T")


def retry_conflicts(write: Callable[[], T], pause: Pause) -> T:
    """What `write` returns, which reads its object and judges it anew each time; at most `ATTEMPTS` times.

    Raises:
        Refused: the API server refused the write for another reason, or the object changed before every attempt. It
            then says what to do.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            pause(min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS))
        try:
            return write()
        except Refused as refused:
            if refused.status != HTTPStatus.CONFLICT:
                raise
            conflict = refused
    raise Refused(
        f"other programs changed it before each of {ATTEMPTS} attempts; `kubectl get --show-managed-fields -o yaml` "
        f"names them, so stop them or wait until they rest, and run the same command again ({conflict})",
        conflict.status,
        why=conflict.why,
    ) from conflict
