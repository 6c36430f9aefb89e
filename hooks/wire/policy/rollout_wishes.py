"""How a person steers the rollout of a graph's workers: annotations of the graph, as they are read everywhere."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s.quantities import scale_amount

_COUNT = re.compile(r"[0-9]{1,9}")
_PERCENTAGE = re.compile(r"(?:[0-9]{1,2}|100)%")


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutWishes:
    """What the annotations ask; a value that says nothing counts as not written.

    `canary` is a number or a percentage of complete sets, as written; empty for all of them.
    """

    is_paused: bool = False
    canary: str = ""

    def count_canary(self, sets: int) -> int:
        """How many of so many sets the new generation gets: rounded up, and at least one."""
        if not self.canary:
            return sets
        share = int(self.canary) if not self.canary.endswith("%") else scale_amount(self.canary, sets, up=True)
        return max(1, min(sets, share))


NO_WISHES = RolloutWishes()


def read_wishes(annotations: Mapping[str, str]) -> RolloutWishes:
    """What annotations of a graph, or of a component of it, ask."""
    canary = annotations.get(contract.ANNOTATION_ROLLOUT_CANARY) or ""
    return RolloutWishes(
        is_paused=annotations.get(contract.ANNOTATION_ROLLOUT_PAUSED) == "true",
        canary=canary if is_canary(canary) else "",
    )


def is_canary(written: str) -> bool:
    """Whether a text is a number of sets, or a percentage of them, and not none."""
    fits = _COUNT.fullmatch(written) or _PERCENTAGE.fullmatch(written)
    return fits is not None and int(written.rstrip("%")) > 0
