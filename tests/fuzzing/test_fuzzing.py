"""The first thousand inputs of each surface, the same in every run."""

import pytest

from tests.fuzzing.mutations import RandomChoices, change, list_paths, remove
from tests.fuzzing.surfaces import SURFACES, Broken, Seed
from tests.fuzzing.trying import make_input, try_numbers, try_one

INPUTS = 1_000


@pytest.mark.parametrize("surface", SURFACES)
def test_every_input_is_answered_soundly(surface: str) -> None:
    found = [one for one in try_numbers(surface, 0, range(INPUTS)) if one is not None and one.what]
    assert not found, "\n".join(f"--surface {surface} --only {one.number}: {one.what}" for one in found[:5])


@pytest.mark.parametrize("surface", SURFACES)
def test_inputs_differ_and_are_the_same_in_each_run(surface: str) -> None:
    made = [make_input(surface, RandomChoices(str(number))).body for number in range(50)]
    assert made == [make_input(surface, RandomChoices(str(number))).body for number in range(50)]
    assert len(set(made)) > 25


def test_what_is_raised_is_found_with_its_number() -> None:
    def give(seed: Seed, body: bytes, places: object) -> None:
        raise Broken("it broke") if body else KeyError(seed.name, places)

    found = try_one("prober", give, 0, 17)
    assert found is not None
    assert (found.number, found.what.rpartition(": ")[2]) == (17, "it broke")


def test_a_place_is_changed_and_the_rest_stays() -> None:
    value = {"a": [1, {"b": 2}], "c": 3}
    assert ("a", 1, "b") in list_paths(value)
    assert change(value, ("a", 1, "b"), lambda old: old + 1) == {"a": [1, {"b": 3}], "c": 3}
    assert change(value, ("a", 0), remove) == {"a": [{"b": 2}], "c": 3}
    assert value == {"a": [1, {"b": 2}], "c": 3}
