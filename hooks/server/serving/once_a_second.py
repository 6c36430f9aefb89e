"""What anybody may ask for without a token, made once a second at most, however many ask."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

FRESH_SECONDS = 1.0

T = TypeVar("T")


class OnceASecond(Generic[T]):
    """What `make` returned last; who asks while it is made, or for a second afterwards, gets the same."""

    def __init__(self, make: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        """Make nothing yet; `clock` gives seconds."""
        self._make, self._clock = make, clock
        self._lock = threading.Lock()
        self._found: tuple[T, float] | None = None

    def get(self) -> T:
        """What was made; raises what `make` raises, which is not remembered."""
        with self._lock:
            if self._found is None or self._clock() >= self._found[1]:
                made = self._make()
                self._found = made, self._clock() + FRESH_SECONDS
            return self._found[0]
