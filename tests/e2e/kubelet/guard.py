"""Ends every process that has a mark in its environment, when the one who started it ends, however that happens.

`python guard.py NAME=VALUE` waits for the end of its standard input, which the kernel closes with the process that
holds the other end, also after SIGKILL. Children inherit their environment, so children's children are found too. Once
it is done it writes the numbers of the processes that it had to end.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PAUSE_SECONDS = 0.05


class Guard:
    """A guard that runs beside this process; `marked` is the environment that its processes must have."""

    def __init__(self, name: str, value: str) -> None:
        self._mark = f"{name}={value}"
        self.marked = {name: value}
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(Path(__file__)), self._mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def close(self) -> list[int]:
        """End what is left, and give the numbers of those processes."""
        output, _ = self._process.communicate("")
        return [int(number) for number in output.split()]


def find_marked(mark: str) -> list[int]:
    """The numbers of the processes that have the mark `NAME=VALUE`, without those that have ended."""
    wanted = mark.encode()
    folders = (folder for folder in Path("/proc").iterdir() if folder.name.isdigit())
    return [int(folder.name) for folder in folders if wanted in _environment_of(folder)]


def end_marked(mark: str) -> set[int]:
    """Kill processes with the mark until there are none, and give their numbers."""
    ended = set[int]()
    while found := find_marked(mark):
        for number in found:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
            ended.add(number)
        time.sleep(PAUSE_SECONDS)
    return ended


def _environment_of(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return []


if __name__ == "__main__":
    sys.stdin.read()
    sys.stdout.write(" ".join(map(str, sorted(end_marked(sys.argv[1])))))
