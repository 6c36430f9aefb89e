"""The first thousand inputs of each surface, the same in every run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import effort
from tests.faults.page import read_rows
from tests.fuzzing.apart import try_apart
from tests.fuzzing.giving import Broken, Seed
from tests.fuzzing.guided import GuidedChoices
from tests.fuzzing.mutations import RandomChoices, change, list_paths, remove
from tests.fuzzing.page import Tried, merge
from tests.fuzzing.surfaces import SURFACES
from tests.fuzzing.trying import make_input, try_one

INPUTS = effort.examples(1_000)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_input_is_answered_soundly(surface: str) -> None:
    outcomes = (outcome.found for outcome in try_apart(surface, 0, range(INPUTS)))
    found = [one for one in outcomes if one is not None and one.what]
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


DYING = """
import os, signal, sys
first, end, lines = map(int, sys.argv[3:])
for number in range(first, end):
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 6:
        os._exit(7)
    os.write(lines, b'{"found": null, "mib": %d}\\n' % number)
"""


def test_input_that_ends_its_process_is_found_and_the_others_are_given() -> None:
    outcomes = list(try_apart("yaml", 0, range(1, 8), ("-c", DYING)))
    found = {number: outcome.found for number, outcome in enumerate(outcomes, 1)}
    assert {number: one.what for number, one in found.items() if one is not None} == {
        3: "ended the process: SIGSEGV",
        6: "ended the process: status 7",
    }
    assert all(one.number == number for number, one in found.items() if one is not None)
    assert [outcome.mib for outcome in outcomes] == [1, 2, 2, 4, 5, 5, 7]


def test_a_place_is_changed_and_the_rest_stays() -> None:
    value = {"a": [1, {"b": 2}], "c": 3}
    assert ("a", 1, "b") in list_paths(value)
    assert change(value, ("a", 1, "b"), lambda old: old + 1) == {"a": [1, {"b": 3}], "c": 3}
    assert change(value, ("a", 0), remove) == {"a": [{"b": 2}], "c": 3}
    assert value == {"a": [1, {"b": 2}], "c": 3}


class Bytes:
    """A reader of bytes as atheris has one: each number is taken from the next byte."""

    def __init__(self, data: bytes) -> None:
        self.left = list(data)

    def ConsumeIntInRange(self, least: int, most: int) -> int:  # noqa: N802 - the name in atheris
        return least + (self.left.pop(0) if self.left else 0) % (most - least + 1)


@pytest.mark.parametrize("surface", SURFACES)
def test_bytes_of_libfuzzer_make_inputs(surface: str) -> None:
    made = [
        make_input(surface, GuidedChoices(Bytes(bytes((number * 37 + at * 11) % 256 for at in range(60)))))
        for number in range(40)
    ]
    assert len({one.body for one in made}) > 20
    assert make_input(surface, GuidedChoices(Bytes(b""))) == make_input(surface, GuidedChoices(Bytes(b"\0" * 60)))


def test_guided_run_tries_as_many_as_it_is_told(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    options = ["--surface=prober", "--inputs=50", "--seed=0", f"--corpus={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzzing.guided", *options], check=True, capture_output=True, text=True
    )
    assert "Done 50 runs" in done.stderr
    assert list(tmp_path.iterdir())


def test_a_run_of_one_surface_leaves_the_rows_of_the_others() -> None:
    def tried(surface: str, seed: int) -> Tried:
        return Tried(surface=surface, inputs=1_000_000, seed=seed, found=0, seconds=2345.6, early_mib=90, late_mib=99)

    first = merge([], [tried("prober", 1), tried("hooks", 1)])
    second = merge(read_rows(first), [tried("prober", 2)])
    assert read_rows(second) == [
        ["hooks", "1,000,000", "1", "0", "2,346", "90", "99"],
        ["prober", "1,000,000", "2", "0", "2,346", "90", "99"],
    ]
