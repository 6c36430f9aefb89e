"""Makes inputs by number, gives them, and collects what does not hold."""

import resource
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from tests.fuzzing.giving import Broken, Give, Seed
from tests.fuzzing.mutations import Choices, Path, RandomChoices, list_paths, mutate, mutate_text, write
from tests.fuzzing.surfaces import SURFACES
from tests.fuzzing.yaml_mutations import mutate_yaml

_TEXT_SHARE = 8
"""One of so many inputs is changed as text."""
_MOST_CHANGES = 3
_MOST_MIB = 256.0
"""By how much one input may make the process grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input, the seed that it was made of, and the places of its changes."""

    seed: Seed
    body: bytes
    places: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An input after which something did not hold, and the processor time that it took."""

    number: int
    what: str
    seconds: float


def make_input(surface: str, choices: Choices) -> Input:
    """An input of a surface by these choices."""
    seeds = _seeds(surface)
    seed, paths = seeds[choices.below(len(seeds))]
    if SURFACES[surface].is_text:
        text = str(seed.value).encode()
        for _ in range(choices.below(_MOST_CHANGES + 1)):
            text = mutate_yaml(text, choices)
        return Input(seed=seed, body=text, places=((),))
    value: Any = seed.value
    if choices.below(_TEXT_SHARE) == 0:
        return Input(seed=seed, body=mutate_text(_write(surface, value), choices), places=((),))
    places: list[Path] = []
    for _ in range(1 + choices.below(_MOST_CHANGES)):
        value, place = mutate(value, paths if not places else list(list_paths(value)), choices)
        places.append(place)
    return Input(seed=seed, body=_write(surface, value), places=tuple(places))


@cache
def _seeds(surface: str) -> list[tuple[Seed, list[Path]]]:
    return [(seed, list(list_paths(seed.value))) for seed in SURFACES[surface].seeds()]


def _write(surface: str, value: Any) -> bytes:
    if not SURFACES[surface].write_yaml:
        return write(value)
    documents = value if isinstance(value, list) else [value]
    try:
        return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, allow_unicode=True).encode()
    except RecursionError:  # the writer's; JSON is YAML, too
        return b"\n---\n".join(map(write, documents))


def try_numbers(surface: str, seed: int, numbers: Iterable[int]) -> Iterator[Found | None]:
    """Give the inputs of these numbers; yields what was found with each, None for nothing."""
    with SURFACES[surface].open() as give:
        for number in numbers:
            yield try_one(surface, give, seed, number)


def try_one(surface: str, give: Give, seed: int, number: int) -> Found | None:
    """Give one input; what it raises is found, whatever it is."""
    made = make_input(surface, RandomChoices(f"{surface}:{seed}:{number}"))
    before, mib = time.thread_time(), measure_memory()
    try:
        give(made.seed, made.body, made.places)
    except Broken as broken:
        return Found(number=number, what=f"{made.seed.name}: {broken}", seconds=time.thread_time() - before)
    except Exception:  # what is raised is what is looked for
        what = f"{made.seed.name}: {traceback.format_exc(limit=-3)}"
        return Found(number=number, what=what, seconds=time.thread_time() - before)
    spent, grown = time.thread_time() - before, measure_memory() - mib
    if grown > _MOST_MIB:
        return Found(number=number, what=f"{made.seed.name}: took {grown:.0f} MiB", seconds=spent)
    return Found(number=number, what="", seconds=spent) if spent > 1 else None


def measure_memory() -> float:
    """MiB that the process used at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
