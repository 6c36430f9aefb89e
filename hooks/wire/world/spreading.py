"""How work on many independent items is done: here, one after another, or by a function of the shell in processes."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Spread(Protocol):
    """Applies a function to items in parts of any length, and returns all results in order.

    The function gets one part of the items, and knows nothing of the others. So it returns the same for any parts.
    """

    def __call__(self, function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], /) -> list[Result]:
        """All results of the function, in the order of the items."""
        ...


def in_one_part(function: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], /) -> list[Result]:
    """Apply the function to all items at once."""
    return function(items)
