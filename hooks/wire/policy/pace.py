"""The pace of a rollout as a graph writes it into a component's annotation, and as the component hook reads it."""

import re
from dataclasses import dataclass

_WRITTEN = re.compile(r"([0-9]{1,9}) old of ([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """So many old pods of a worker stay, and there are so many pods of it at most."""

    kept: int
    most: int

    def __str__(self) -> str:
        """`2 old of 3`."""
        return f"{self.kept} old of {self.most}"


def read_pace(text: str) -> Pace | None:
    """The pace that an annotation says, None if it says none."""
    found = _WRITTEN.fullmatch(text)
    return Pace(kept=int(found[1]), most=int(found[2])) if found else None
