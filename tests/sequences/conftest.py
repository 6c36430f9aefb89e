"""Which sequences are run: as many as make up the steps asked for, in slices of which each is a test.

A slice begins at a seed of its own, so that more steps go on where fewer ended.
"""

import pytest

from tests.effort import SLICES
from tests.sequences.wishes import ROADS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    again: list[str] = metafunc.config.getoption("--sequence")
    if "sequence_slice" in metafunc.fixturenames:
        slices = [] if again else [(road, number) for road in ROADS for number in range(SLICES)]
        metafunc.parametrize("sequence_slice", slices, ids=[f"{road}-{number}" for road, number in slices])
    if "sequence" in metafunc.fixturenames:
        metafunc.parametrize("sequence", [_read_sequence(text) for text in again], ids=again)


def _read_sequence(text: str) -> tuple[str, int]:
    road, _, seed = text.partition(":")
    if road not in ROADS or not seed.isdecimal():
        raise pytest.UsageError(f"--sequence {text}: write one of {', '.join(ROADS)}, a colon and a number")
    return road, int(seed)


@pytest.fixture
def steps_of_slice(request: pytest.FixtureRequest) -> int:
    """How many steps each slice takes."""
    steps: int = request.config.getoption("--steps")
    return -(-steps // (len(ROADS) * SLICES))
