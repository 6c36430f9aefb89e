"""How seldom Python looks for garbage.

This module loads nothing else, because each command needs it at its start.
"""

import gc

GC_THRESHOLD = (20_000, 20, 20)
"""Numbers of new objects after which Python looks for garbage, in place of its 700, 10 and 10.

The modules that a command loads all stay, and reference counting alone frees the small objects of a request.
"""


def collect_seldom() -> None:
    """Look for garbage only after as many new objects as `GC_THRESHOLD` says."""
    gc.set_threshold(*GC_THRESHOLD)


def freeze_memory() -> None:
    """Exclude everything loaded so far from garbage collection: a collection would copy pages that the forks share.

    There is next to no garbage in it, so it is not looked for: that would delay the first answer.
    """
    gc.freeze()
    collect_seldom()
