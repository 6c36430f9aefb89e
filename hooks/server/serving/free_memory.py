"""When a server gives memory that is free inside of its process back to the system.

glibc has a heap for each of many threads. A heap shrinks only at its end, and something that lives long is soon there,
such as an entry of a cache. So each heap would keep the pages of the largest calls that its threads ever had.
"""

import ctypes
import os
from pathlib import Path

GIVE_BACK_SECONDS = 10.0
"""How often a server looks whether it has grown."""

MOST_GROWTH = 4 * 2**20
"""Bytes by which a process may grow before its free memory is given back, which takes some milliseconds."""

LARGE_BLOCK = 2**20
"""Bytes from which a block is given back as soon as it is free."""

_M_MMAP_THRESHOLD = -3
"""The number of this parameter in glibc's malloc.h."""
_STATM = Path("/proc/self/statm")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class FreeMemory:
    """The free memory of this process; with another C library than glibc, nothing is done about it."""

    def __init__(self) -> None:
        """Find the functions of the C library, and have large blocks given back at once.

        Otherwise a process keeps the memory of large bodies, and grows by hundreds of MiB.
        """
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)
        self._least = read_resident_bytes()
        if mallopt := getattr(library, "mallopt", None):
            mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)

    def give_back(self) -> None:
        """Give free pages back if the process grew by more than `MOST_GROWTH` since the last time."""
        now = read_resident_bytes()
        if self._trim is not None and now > self._least + MOST_GROWTH:
            self._trim(0)
            self._least = read_resident_bytes()
        else:
            self._least = min(self._least, now)


def read_resident_bytes() -> int:
    """Bytes of this process that are in memory; 0 where there is no `/proc`."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0
