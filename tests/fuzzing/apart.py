"""Inputs in a process of their own: one that ends the process is found like any other, and the rest go on."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import orjson

from tests.fuzzing.trying import Found, measure_memory, try_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was found with an input, if anything, and the MiB that its process used at most until then."""

    found: Found | None
    mib: float


def try_apart(
    surface: str, seed: int, numbers: range, program: Sequence[str] = ("-m", "tests.fuzzing.apart")
) -> Iterator[Outcome]:
    """Give the inputs of these numbers, in order, in a process that is begun again behind an input that ends it."""
    left = numbers
    mib = 0.0
    while left:
        reader, writer = os.pipe()
        arguments = [surface, str(seed), str(left.start), str(left.stop), str(writer)]
        command = [sys.executable, *program, *arguments]
        with subprocess.Popen(command, pass_fds=[writer]) as process, os.fdopen(reader, "rb") as lines:
            os.close(writer)
            for line in lines:
                outcome = _read(line)
                left, mib = left[1:], outcome.mib
                yield outcome
        if process.returncode == 0:
            return
        if not left:
            raise RuntimeError(f"the process of {surface} ended with status {process.returncode} behind all inputs")
        what = f"ended the process: {_describe(process.returncode)}"
        yield Outcome(found=Found(number=left.start, what=what, seconds=0), mib=mib)
        left = left[1:]


def _describe(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name


def _read(line: bytes) -> Outcome:
    found = orjson.loads(line)
    return Outcome(found=found["found"] and Found(**found["found"]), mib=found["mib"])


def main() -> None:
    """Give the inputs, and write a line for each once it is answered."""
    logging.getLogger("hooks").propagate = False
    surface, (seed, first, end, writer) = sys.argv[1], map(int, sys.argv[2:])
    with os.fdopen(writer, "wb", buffering=0) as lines:
        for found in try_numbers(surface, seed, range(first, end)):
            outcome = {"found": found and asdict(found), "mib": measure_memory()}
            lines.write(orjson.dumps(outcome, option=orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
