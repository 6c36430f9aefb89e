"""What follows from parents, cached: bounded by a number of graphs, and in the bytes from which it follows.

A changed child, not a changed parent, causes most syncs. A plan's memory grows with its parent, so a parent with a
large spec counts as several.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

GRAPHS = 100
"""Graphs whose plans a process caches by default. One of four services takes some 0.7 MiB, with its components."""

PART_BYTES = 8 * 2**10
"""Bytes of a key for which it counts once."""

P = ParamSpec("P")
V = TypeVar("V")
_graphs = GRAPHS


def cache_graphs(number: int) -> None:
    """Cache the plans of so many graphs from now on."""
    global _graphs  # noqa: PLW0603 - a process has one size, and answers do not depend on it
    _graphs = number


class PlanCache(Generic[P, V]):
    """A function that remembers what it returned last, `times` for each graph; what it raises is not remembered.

    The first argument says how large the result is: it is a text, or has a `parent_key`.
    """

    __wrapped__: Callable[P, V]

    def __init__(self, function: Callable[P, V], times: int) -> None:
        update_wrapper(self, function)
        self._times = times
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[int, V]] = OrderedDict()
        self._size = 0
        self.misses = 0

    def __call__(self, *args: P.args, **_: P.kwargs) -> V:
        """What the function returns."""
        with self._lock:
            if found := self._kept.get(args):
                self._kept.move_to_end(args)
                return found[1]
        made = self.__wrapped__(*args, **_)
        self._keep(args, made)
        return made

    def _keep(self, args: tuple[Any, ...], made: V) -> None:
        text = args[0] if isinstance(args[0], bytes | str) else args[0].parent_key
        parts = 1 + len(text) // PART_BYTES
        with self._lock:
            self.misses += 1
            self._size += parts - self._kept.pop(args, (0, made))[0]
            self._kept[args] = parts, made
            while self._size > self._times * _graphs:
                self._size -= self._kept.popitem(last=False)[1][0]

    def cache_clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._size = self.misses = 0


def cached_by_parent(times: int = 1) -> Callable[[Callable[P, V]], PlanCache[P, V]]:
    """Remember what the function returns, `times` for each graph."""
    return lambda function: PlanCache(function, times)
