"""The two sides of every conversion: the stored version, and one other."""

from enum import StrEnum


class Side(StrEnum):
    """v1alpha1, in which every object is stored and to which every version is converted, or a version beside it."""

    HUB = "hub"
    SPOKE = "spoke"

    @property
    def opposite(self) -> "Side":
        """The side to which, or from which, this one is converted."""
        return Side.SPOKE if self is Side.HUB else Side.HUB
