"""Remembers which reads the API server refused, and for how long nothing is read there."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from http import HTTPStatus

from hooks.server.clients.api_server import Refused

PAUSE_SECONDS = 5.0
"""How long nothing is read at a place after the API server refused it there, or anywhere if it did not answer."""
MOST_REMEMBERED = 256


class ReadFaults:
    """The faults by place, such as a namespace, until a read succeeds; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock that never goes back."""
        self._clock = clock
        self._lock = threading.Lock()
        self._everywhere = (-math.inf, "")
        self._faults: OrderedDict[Hashable, tuple[float, str]] = OrderedDict()

    def find(self, place: Hashable, *, also_old: bool = False) -> str:
        """Why nothing is read at a place now, or was not when it was last tried; empty if something is."""
        now = -math.inf if also_old else self._clock()
        with self._lock:
            faults = (self._everywhere, self._faults.get(place, (-math.inf, "")))
        return next((reason for until, reason in faults if now < until), "")

    def note(self, place: Hashable, refused: Refused, *, forbidden: str, what: str = "") -> str:
        """Keep from reading for a moment, and return why; a server that answers is reachable.

        `what` ends the sentence about a status; `forbidden` is the reason if a right is missing.
        """
        fault = f"the API server answers {refused.status}{what}" if refused.status else refused.why
        if refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            fault = forbidden
        found = (self._clock() + PAUSE_SECONDS, fault)
        with self._lock:
            if refused.is_unreachable:
                self._everywhere = found
                return fault
            if refused.status:
                self._everywhere = (-math.inf, "")
            self._faults[place] = found
            self._faults.move_to_end(place)
            if len(self._faults) > MOST_REMEMBERED:
                self._faults.popitem(last=False)
        return fault

    def clear(self, place: Hashable) -> None:
        """A read succeeded there."""
        with self._lock:
            self._everywhere = (-math.inf, "")
            self._faults.pop(place, None)
