"""How seldom Python looks for garbage.

This module loads nothing else, because each command needs it at its start.
"""

import gc

GC_THRESHOLD = (20_000, 20, 20)
"""Numbers of new objects after which Python looks for garbage, in place of its 700, 10 and 10.

The modules that a command loads all stay, and reference counting alone frees the small objects of a request.
"""

GC_THRESHOLD_AT_START = (200_000, 20, 20)
"""The same while a command loads its modules, and for one that soon ends: next to nothing that it makes is garbage."""


def collect_seldom(threshold: tuple[int, int, int] = GC_THRESHOLD) -> None:
    """Look for garbage only after so many new objects."""
    gc.set_threshold(*threshold)


def freeze_memory() -> None:
    """Exclude everything loaded so far from garbage collection: a collection would copy pages that the forks share.

    There is next to no garbage in it, so it is not looked for: that would delay the first answer.
    """
    gc.freeze()
    collect_seldom()
