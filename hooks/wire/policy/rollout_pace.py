"""The pace of a rollout as a graph writes it into a component's annotation, and as the component hook reads it."""

from dataclasses import dataclass

_MOST_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPace:
    """So many old pods of a worker stay, and there are so many pods of it at most."""

    kept: int
    most: int

    def __str__(self) -> str:
        """`2/3`: two old ones stay, of three pods at most."""
        return f"{self.kept}/{self.most}"


def read_pace(written: str) -> RolloutPace | None:
    """The pace that an annotation says, None if it says none."""
    kept, _, most = written.partition("/")
    if not all(_is_number(one) for one in (kept, most)):
        return None
    return RolloutPace(kept=int(kept), most=int(most))


def _is_number(digits: str) -> bool:
    return digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
