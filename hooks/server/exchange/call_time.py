"""How long the call that a thread answers may still wait for other programs, so that its answer is not too late."""

import math
import time
from contextvars import ContextVar

CALL_SECONDS = 8.5
"""Metacontroller and the API server give up after ten seconds."""
_until = ContextVar("until", default=math.inf)


def begin_call() -> None:
    """A call has arrived in this thread."""
    _until.set(time.monotonic() + CALL_SECONDS)


def end_call() -> None:
    """It is answered."""
    _until.set(math.inf)


def seconds_left() -> float:
    """What is left of the time of the present call; without one there is no limit."""
    return max(0.0, _until.get() - time.monotonic())
