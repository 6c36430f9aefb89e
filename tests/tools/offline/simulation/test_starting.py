"""A server is waited for while it makes progress, and no longer; time is an argument."""

import os

import pytest

from hooks.tools.offline.simulation.starting import (
    MOST_PROCESSOR_SECONDS,
    SAY_SECONDS,
    STILL_SECONDS,
    Wait,
    begin_wait,
    find_fault,
    look_again,
    read_processor_seconds,
    say_so,
)

HOUR = 3600


def wait_for(seconds: int, *, processor: float = 0.0, written: float = 0.0) -> tuple[Wait, str]:
    """A wait of so many seconds, and its fault; `processor` and `written` are what the server has in a second."""
    wait = begin_wait(0.0)
    for now in range(1, seconds + 1):
        wait = look_again(wait, float(now), processor=round(now * processor, 2), written=int(now * written))
        if fault := find_fault(wait, float(now)):
            return wait, fault
    return wait, ""


@pytest.mark.parametrize("progress", [{"processor": 0.005}, {"written": 0.1}], ids=["a hundredth", "a line"])
def test_server_that_makes_little_progress_is_waited_for(progress: dict[str, float]) -> None:
    assert wait_for(HOUR, **progress)[1] == ""


def test_server_that_does_nothing_is_given_up() -> None:
    assert wait_for(HOUR)[1] == "does not listen after 61 s, and did nothing in the last 60 s"
    assert wait_for(int(STILL_SECONDS))[1] == ""


def test_server_that_stops_in_the_middle_is_given_up() -> None:
    wait, _ = wait_for(500, processor=0.1)
    assert find_fault(wait, 500 + STILL_SECONDS) == ""
    assert find_fault(wait, 501 + STILL_SECONDS).startswith("does not listen after 561 s, and did nothing")


def test_server_that_computes_for_ever_is_given_up() -> None:
    wait, fault = wait_for(HOUR, processor=1.0)
    assert fault == "does not listen after 121 s of processor time"
    assert wait.processor > MOST_PROCESSOR_SECONDS


def test_who_waits_long_is_told_from_time_to_time() -> None:
    wait, lines = begin_wait(0.0), []
    for now in range(1, 26):
        wait, line = say_so(look_again(wait, float(now), processor=now / 10, written=0), float(now))
        lines += [line] if line else []
    assert lines == [
        "still starting after 10 s, in which it had a processor for 1.0 s",
        "still starting after 20 s, in which it had a processor for 2.0 s",
    ]
    assert SAY_SECONDS == 10


def test_processor_time_grows_with_work_and_is_none_of_a_process_that_is_gone() -> None:
    before = read_processor_seconds(os.getpid())
    while read_processor_seconds(os.getpid()) < before + 0.05:
        sum(range(1000))
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert read_processor_seconds(child) == 0.0
