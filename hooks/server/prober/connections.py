"""How many connections to engines and frontends are kept open."""

import logging
import resource

logger = logging.getLogger("hooks.model.prober")

MOST_OPEN_ENGINES = 2048
CONNECTIONS_PER_ENGINE = 2
"""One for lists, one for loads and unloads, because both may be under way at the same time."""
MOST_OPEN_FRONTENDS = 4096
_OWN_FILES = 128
"""Open files that are not connections to engines: logs, libraries, connections of hooks and of Prometheus."""


def open_frontends(files: int) -> int:
    """The number of frontends to each of which a connection is kept open: a quarter of the files that may be open."""
    return MOST_OPEN_FRONTENDS if files == resource.RLIM_INFINITY else min(MOST_OPEN_FRONTENDS, files // 4)


def open_engines(files: int, calls: int) -> int:
    """The number of engines whose connections are kept open; `files` may be open, `calls` of them for calls under way.

    Engines beyond that number get a new connection for each call.
    """
    if files == resource.RLIM_INFINITY:
        return MOST_OPEN_ENGINES
    kept = (files - _OWN_FILES - calls) // CONNECTIONS_PER_ENGINE
    if kept >= MOST_OPEN_ENGINES:
        return MOST_OPEN_ENGINES
    kept = max(1, kept)
    logger.warning("few open files", extra={"fields": {"limit": files, "calls": calls, "open_engines": kept}})
    return kept
