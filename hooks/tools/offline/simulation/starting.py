"""How long a server that does not listen yet is waited for: while it makes progress, however slow the machine is.

A server makes progress while it uses the processor or writes to its log. It knows nothing of ports.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

STILL_SECONDS = 60.0
"""A server that used no processor and wrote nothing for so long hangs, even on a machine that is very busy."""
MOST_PROCESSOR_SECONDS = 120.0
"""A server needs about one second of processor time to listen; one that used so many never will."""
SAY_SECONDS = 10.0
"""Who waits for longer is told, and again each time that this has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What was seen of a server so far; `began`, `moved` (its last progress) and `said` are seconds of one clock."""

    began: float
    moved: float
    said: float
    processor: float = 0.0
    written: int = 0


def begin_wait(now: float) -> Wait:
    """A wait of which nothing was seen yet."""
    return Wait(began=now, moved=now, said=now)


def look_again(wait: Wait, now: float, *, processor: float, written: int) -> Wait:
    """The wait after another look: the seconds of processor time and the bytes of log that the server has by now."""
    if processor <= wait.processor and written <= wait.written:
        return wait
    return replace(wait, moved=now, processor=processor, written=written)


def find_fault(wait: Wait, now: float) -> str:
    """Why it is not waited for any longer; empty while the server makes progress."""
    if now - wait.moved > STILL_SECONDS:
        return f"does not listen after {now - wait.began:.0f} s, and did nothing in the last {STILL_SECONDS:.0f} s"
    if wait.processor > MOST_PROCESSOR_SECONDS:
        return f"does not listen after {wait.processor:.0f} s of processor time"
    return ""


def say_so(wait: Wait, now: float) -> tuple[Wait, str]:
    """The wait, and a line for who waits; the line is empty where nothing is to be said yet."""
    if now - wait.said < SAY_SECONDS:
        return wait, ""
    line = f"still starting after {now - wait.began:.0f} s, in which it had a processor for {wait.processor:.1f} s"
    return replace(wait, said=now), line


def read_processor_seconds(process_id: int) -> float:
    """The processor time that a process of this machine has used; 0 if it is gone.

    Source: proc_pid_stat(5), utime and stime.
    """
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
