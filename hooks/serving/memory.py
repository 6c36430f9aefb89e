"""How seldom Python looks for garbage, and which memory is given back at once.

This module loads nothing else, because each command needs it at its start.
"""

import gc

GC_THRESHOLD = (20_000, 20, 20)
"""Numbers of new objects after which Python looks for garbage, in place of its 700, 10 and 10.

The modules that a command loads all stay, and reference counting alone frees the small objects of a request.
"""

LARGE_BLOCK = 2**20
"""Bytes from which a block of memory is given back to the system as soon as it is free."""

_M_MMAP_THRESHOLD = -3
"""The number of this parameter in glibc's malloc.h."""


def collect_seldom() -> None:
    """Look for garbage only after as many new objects as `GC_THRESHOLD` says."""
    gc.set_threshold(*GC_THRESHOLD)


def freeze_memory() -> None:
    """Exclude everything loaded so far from garbage collection: a collection would copy pages that the forks share.

    There is next to no garbage in it, so it is not looked for: that would delay the first answer.
    """
    gc.freeze()
    collect_seldom()


def give_back_large_blocks() -> None:
    """Have glibc give large blocks back to the system; other C libraries do so anyway, or have no such parameter.

    Otherwise it keeps the memory of large bodies for each of many threads, and a process grows by hundreds of MiB.
    """
    import ctypes  # noqa: PLC0415 - only servers need it

    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)
