"""How many files a process may have open; each connection is one."""

import resource
from contextlib import suppress


def raise_file_limit() -> int:
    """Raise this process's limit of open files to the highest that is allowed, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # if the kernel allows less than the hard limit, the soft limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft
