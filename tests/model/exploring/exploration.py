"""Tries every order of steps, and finds what goes wrong, and states from which nothing leads to the end."""

from collections import deque
from dataclasses import dataclass, field

from tests.model.exploring.steps import find_steps, take
from tests.model.exploring.world import Bounds, World, begin, fingerprint


@dataclass(slots=True)
class Found:
    """How many `states` and `steps` there are, what is `wrong` with the way to it, and the ways to `stuck` states."""

    states: int = 0
    steps: int = 0
    settled: int = 0
    wrong: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)


def explore(bounds: Bounds, most_wrong: int = 3) -> Found:
    """Every state that can be reached."""
    found, first = Found(), begin(bounds)
    ways: list[tuple[int, str]] = [(-1, "")]
    numbers: dict[int, int] = {hash(fingerprint(first)): 0}  # 64 bits; the keys themselves would take gigabytes
    before: list[list[int]] = [[]]
    settled: list[int] = []
    waiting: deque[tuple[int, World]] = deque([(0, first)])
    while waiting:
        number, world = waiting.popleft()
        if world.is_settled:
            settled.append(number)
        for step in find_steps(world):
            after, wrong = take(world, step)
            found.steps += 1
            key = hash(fingerprint(after))
            reached = numbers.get(key)
            if reached is None:
                reached = numbers[key] = len(ways)
                ways.append((number, step.name))
                before.append([])
                if not wrong:
                    waiting.append((reached, after))
            if step.helps:
                before[reached].append(number)
            found.wrong += [f"{text}\n{_tell(ways, number)}\n  {step.name}" for text in wrong]
            if len(found.wrong) >= most_wrong:
                return found
    found.states, found.settled = len(ways), len(settled)
    found.stuck = [_tell(ways, number) for number in _find_stuck(before, settled)[:most_wrong]]
    return found


def _find_stuck(before: list[list[int]], settled: list[int]) -> list[int]:
    """The states from which no steps that happen by themselves lead to a settled one."""
    good, waiting = set(settled), list(settled)
    while waiting:
        for number in before[waiting.pop()]:
            if number not in good:
                good.add(number)
                waiting.append(number)
    return [number for number in range(len(before)) if number not in good]


def _tell(ways: list[tuple[int, str]], number: int) -> str:
    steps: list[str] = []
    while number > 0:
        number, step = ways[number]
        steps.append(f"  {step}")
    return "\n".join(reversed(steps))
