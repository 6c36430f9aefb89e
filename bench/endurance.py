"""`python -m bench.endurance`: many connections for minutes, with slow and broken clients among them.

Meanwhile a worker is killed and the server is hung up; at the end the server is drained and stopped under load, and
another one takes over. No call of a good client may fail, except those in flight in the killed worker.
"""

import json
import os
import platform
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import Any

import click

from bench.bodies import Case, build_cases
from bench.broken_clients import Fault, break_until_over
from bench.endurance_report import find_misses, summarise, write_load
from bench.good_clients import Call, Manner, Record, Service, call_until_over
from bench.load import NEW_EACH_TIME
from bench.page import RELIABILITY, RESULTS, replace_part
from bench.server import ask_until_answered, find_free_port, find_workers, image_environment, read_memory
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app

PHASES = (
    "only clients",
    "a worker is killed (SIGKILL)",
    "the server is hung up (SIGHUP): new workers take over",
    "the server is drained and stopped (SIGTERM): another one takes over",
)
_MANNERS = (Manner.KEEPS, Manner.OPENS, Manner.KEEPS, Manner.KEEPS, Manner.SLOW, Manner.KEEPS)
_PROGRESS_SECONDS = 30.0
_SAMPLE_SECONDS = 2.0
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@dataclass
class Server:
    """A server of hooks, where it listens, and its drain file and log."""

    process: subprocess.Popen[bytes]
    port: int
    drain_file: Path
    log: Path


@dataclass
class Course:
    """A run: `memory` are samples of each worker (monotonic seconds and MiB), `killed` when a worker was killed."""

    service: Service
    record: Record
    until: float
    memory: dict[int, list[tuple[float, float]]] = field(default_factory=dict)
    killed: tuple[float, float] = (0.0, 0.0)
    told: float = field(default_factory=time.monotonic)


@click.command()
@click.option(
    "--minutes", default=17.0, show_default=True, help="Length of the run; the last workers live three fifths."
)
@click.option("--connections", default=50, show_default=True, help="Clients; a third of them is broken.")
@click.option("--workers", default=2, show_default=True, help="Processes of the server.")
@click.option("--page", is_flag=True, help="Write the tables into docs/reliability.md.")
def main(*, minutes: float, connections: int, workers: int, page: bool) -> None:
    """Load a server with good and broken clients, and say what became of the calls."""
    options = {"minutes": minutes, "connections": connections, "workers": workers}
    result = run(minutes, connections, workers)
    result |= {
        "options": options,
        "machine": {"processors": len(os.sched_getaffinity(0)), "python": platform.python_version()},
        "time": datetime.now(UTC).isoformat(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"endurance-{datetime.now(UTC):%Y%m%dT%H%M%S}.json").write_text(json.dumps(result, indent=2) + "\n")
    text = write_load(result)
    click.echo(text)
    if page:
        RELIABILITY.write_text(replace_part(RELIABILITY.read_text(), "load", text))
    misses = find_misses(result)
    for miss in misses:
        click.echo(f"missed   {miss}")
    click.echo(json.dumps(result["failures"][:20], indent=2) if result["failures"] else "no call failed")
    sys.exit(1 if misses else 0)


def run(minutes: float, connections: int, workers: int) -> dict[str, Any]:
    """Run the whole course, and return what is reported of it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-endurance-")))
        token = secrets.token_hex(16)
        first = stack.enter_context(_serving(folder / "first", token, workers))
        calls = [_learn_answer(first.port, token, case) for case in _build_cases()]
        course = Course(Service(first.port, token), Record(phase=PHASES[0]), time.monotonic() + minutes * 60)
        clients = _start_clients(course, calls, connections)
        quarter = minutes * 60 / 5
        _watch(course, first, quarter)
        _kill_a_worker(course, first)
        _watch(course, first, quarter)
        course.record.phase = PHASES[2]
        first.process.send_signal(signal.SIGHUP)
        _watch(course, first, course.until - time.monotonic())
        second = stack.enter_context(_serving(folder / "second", token, workers))
        status = _replace(course, first, second)
        _watch(course, second, min(5.0, quarter))
        course.service.over.set()
        for client in clients:
            client.join(timeout=60)
        hanging = sum(client.is_alive() for client in clients)
        tracebacks = sum(server.log.read_text().count("Traceback") for server in (first, second))
    return summarise(course.record, PHASES, course.memory, course.killed) | {
        "status": status,
        "tracebacks": tracebacks,
        "hanging_clients": hanging,
    }


def _build_cases() -> list[Case]:
    client = create_app(parse_settings({}), lambda: datetime.now(UTC)).test_client()
    return build_cases(client, (1, 4))


def _learn_answer(port: int, token: str, case: Case) -> Call:
    """The call with the answer that it gets while nobody else calls."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", case.path, case.body, {"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    if response.status != 200 or NEW_EACH_TIME.encode() in answer:
        raise RuntimeError(f"{case.name}: answered {response.status}, {answer[:200]!r}")
    return Call(path=case.path, body=case.body, answer=answer)


@contextmanager
def _serving(folder: Path, token: str, workers: int) -> Iterator[Server]:
    """A server that answers, in a process group of its own, which is killed after use if it still runs."""
    folder.mkdir()
    (folder / "token").write_text(token)
    port = find_free_port()
    arguments = {"bind": f"127.0.0.1:{port}", "workers": workers} | {
        "token-file": folder / "token",
        "drain-file": folder / "draining",
    }
    command = [sys.executable, "-m", "hooks", "serve", *(f"--{key}={value}" for key, value in arguments.items())]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log, start_new_session=True, env=image_environment())
    try:
        ask_until_answered(port, _HEALTH, process)
        yield Server(process, port, folder / "draining", folder / "log")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)


def _start_clients(course: Course, calls: list[Call], connections: int) -> list[threading.Thread]:
    """Two good clients for each broken one."""
    manners, faults = cycle(_MANNERS), cycle(Fault)
    threads = [
        threading.Thread(target=break_until_over, args=(course.service, next(faults), course.record), daemon=True)
        if number % 3 == 2
        else threading.Thread(
            target=call_until_over, args=(course.service, calls, next(manners), course.record), daemon=True
        )
        for number in range(connections)
    ]
    for thread in threads:
        thread.start()
    return threads


def _watch(course: Course, server: Server, seconds: float) -> None:
    """Sample the workers' memory for so long, and say every half minute how it stands."""
    until = time.monotonic() + seconds
    while (now := time.monotonic()) < until:
        sizes = _measure(server)
        for worker, size in sizes.items():
            course.memory.setdefault(worker, []).append((now, size))
        if now - course.told >= _PROGRESS_SECONDS:
            course.told = now
            shown = ", ".join(f"{size:.0f}" for size in sizes.values())
            answered, failed = course.record.answered.total(), len(course.record.failures)
            click.echo(f"{course.until - now:4.0f} s left: {answered} answered, {failed} failed, workers {shown} MiB")
        time.sleep(max(0.0, min(_SAMPLE_SECONDS, until - now)))


def _measure(server: Server) -> dict[int, float]:
    """MiB of each worker that has not ended meanwhile."""
    sizes = {}
    for worker in find_workers(server.process.pid):
        with suppress(OSError, KeyError):  # it ends in this moment
            sizes[worker] = read_memory(worker)["rss"]
    return sizes


def _kill_a_worker(course: Course, server: Server) -> None:
    worker = find_workers(server.process.pid)[0]
    course.record.phase = PHASES[1]
    begun = time.monotonic()
    os.kill(worker, signal.SIGKILL)
    while Path(f"/proc/{worker}").exists():  # a zombie whose other threads still end has its connections, too
        time.sleep(0.001)
    course.killed = begun, time.monotonic()


def _replace(course: Course, old: Server, new: Server) -> int:
    """What an upgrade does: the preStop hook, meanwhile the Service sends elsewhere, then SIGTERM; the exit status."""
    course.record.phase = PHASES[3]
    old.drain_file.touch()
    _watch(course, old, 1)
    course.service.port = new.port
    _watch(course, old, 1)
    old.process.send_signal(signal.SIGTERM)
    return old.process.wait(timeout=60)


if __name__ == "__main__":
    main()
