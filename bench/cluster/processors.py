"""Processor time and memory of the programs that this process started, by the program's name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_NAMES = {"kube-controller": "kube-controller-manager", "gunicorn": "hooks"}
"""Names that the kernel cuts off after 15 characters, or that a program gives itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A line of /proc/<pid>/stat; `rss` is in MiB."""

    pid: int
    parent: int
    name: str
    seconds: float
    rss: float


def read_seconds() -> Mapping[str, float]:
    """Processor seconds, in user and kernel mode, of each program with all processes that it started."""
    return {name: sum(one.seconds for one in processes) for name, processes in _read_programs().items()}


def read_memory() -> Mapping[str, float]:
    """MiB of the largest process of each program."""
    return {name: max(one.rss for one in processes) for name, processes in _read_programs().items()}


def _read_programs() -> Mapping[str, list[Process]]:
    """The children of this process by name, each with all its descendants."""
    processes = [found for path in Path("/proc").iterdir() if path.name.isdigit() and (found := _read(path))]
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    programs: dict[str, list[Process]] = {}
    for first in sorted(children.get(os.getpid(), []), key=lambda one: one.pid):
        name = "hooks" if first.name.startswith("python") else _NAMES.get(first.name, first.name)
        programs.setdefault(name, []).extend(_with_descendants(first, children))
    return programs


def _with_descendants(first: Process, children: Mapping[int, list[Process]]) -> list[Process]:
    return [first, *(one for child in children.get(first.pid, ()) for one in _with_descendants(child, children))]


def _read(path: Path) -> Process | None:
    """None if the process has just ended."""
    try:
        head, _, tail = (path / "stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = tail.split()
    ticks = int(fields[11]) + int(fields[12])
    rss = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    name = head.partition("(")[2]
    return Process(pid=int(path.name), parent=int(fields[1]), name=name, seconds=ticks / _TICKS, rss=rss)
