"""How tests wait: for what happens anyway as long as a slow machine needs, for silence the longer the busier it is.

A test that passes never waits for all of `PATIENCE`: it says when one that hangs ends. Whether something is fast is a
matter of `bench/`.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 600.0
"""Seconds after which a process, a call or a thread that should end, or begin, by itself is given up."""

LOAD = Path("/proc/loadavg")
"""Source: proc_loadavg(5): the average of a minute, and how many programs want a processor now."""

_LEAST_POLL_SECONDS, _MOST_POLL_SECONDS = 0.01, 0.2
"""Between two looks: a fifth of the time so far, as a look costs both sides."""


def wait_for(
    condition: Callable[[], T | None], what: str | Callable[[], object], seconds: float = PATIENCE, *, poll: float = 0.0
) -> T:
    """Poll until the condition gives something true, and give that; AssertionError with `what` if it never does.

    `seconds` are for what must happen before something else would; `poll` are those between two looks that cost much.
    """
    start = time.monotonic()
    while True:
        found = condition()
        if found:
            return found
        waited = time.monotonic() - start
        assert waited < seconds, f"never happened in {seconds:.0f} s: {what() if callable(what) else what}"
        time.sleep(poll or min(max(waited / 5, _LEAST_POLL_SECONDS), _MOST_POLL_SECONDS))


def stretch(seconds: float) -> float:
    """As many seconds as give a program on this machine, as busy as it is now, what these give it on a quiet one.

    For a silence, which a program that waits for a processor keeps too, and for limits of the product's own.
    """
    minute, _, _, running, _ = LOAD.read_text().split()
    busy = max(float(minute), float(running.partition("/")[0]))
    return seconds * max(1.0, busy / (os.cpu_count() or 1))
