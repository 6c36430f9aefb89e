"""An object as the key of a cache, equal to itself alone.

A call's parsed objects, and the children of a cached plan, are the same objects in most calls. Comparing them by value
would cost as much as what the caches save.
"""

from typing import Generic, TypeVar

V = TypeVar("V")
MAX_REMEMBERED = 128
"""About as many as the objects whose parsed values are kept: a cache by identity then keeps few others in memory."""


class ByIdentity(Generic[V]):
    """An object as a key; the cache refers to it, so no other object gets its identity."""

    __slots__ = ("value",)

    def __init__(self, value: V) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.value is other.value
