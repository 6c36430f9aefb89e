"""Spreads work on many objects over processes; little work, and work on a single processor, is done in this one."""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from hooks.wire.world.spreading import in_one_part

Item = TypeVar("Item")
Result = TypeVar("Result")

LEAST = 200
"""Fewer items are done sooner here than processes start and send their results."""
MOST_PROCESSES = 4
"""More processes save little time, because one process reads all results; each needs memory."""
_PARTS_OF_A_PROCESS = 2
"""A process that is done early takes another part."""

_work: list[tuple[Callable[[Sequence[Any]], list[Any]], Sequence[Any]]] = []
"""The function and the items; a forked process has them without a copy."""


def spread_over_processes(function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], /) -> list[Result]:
    """Apply the function to parts of the items in forked processes, and return all results in order.

    If a process ends early, for example because memory runs out, all work is done here.
    """
    processes = min(_count_processors(), MOST_PROCESSES)
    with without_collections():
        if len(items) < LEAST or processes < 2 or sys.platform != "linux":  # elsewhere forking is not safe
            return in_one_part(function, items)
        return _spread(function, items, processes)


@contextmanager
def without_collections() -> Iterator[None]:
    """A context without garbage collections, also in processes that are forked in it.

    What is read and made of thousands of objects stays, and looking through it again and again takes longer than
    unpickling it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _spread(function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], processes: int) -> list[Result]:
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - costs more than a small input
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    first = function(items[:1])  # what this loads and builds, such as schemas, all processes then have
    length = -(-(len(items) - 1) // (processes * _PARTS_OF_A_PROCESS))
    _work.append((function, items))
    try:
        with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
            parts = list(pool.map(_do_part, range(1, len(items), length), [length] * len(items)))
    except BrokenProcessPool:
        return in_one_part(function, items)
    finally:
        _work.pop()
    return [*first, *(result for part in parts for result in part)]


def _do_part(first: int, length: int) -> list[Any]:
    function, items = _work[-1]
    return function(items[first : first + length])
