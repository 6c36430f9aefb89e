"""`python -m bench.sieges`: servers of hooks and of admission under siege, as four good callers and a probe see them.

Figures only: how long answers take depends on the machine. What must hold anywhere is in
tests/server/serving/test_sieges.py.
"""

import os
import platform
import secrets
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

import click

from bench.admission import build_cases as build_reviews
from bench.bodies import Case, build_cases
from bench.page import RELIABILITY, replace_part
from bench.server import count_processors, find_free_port, image_environment
from bench.siege_clients import Count, Siege
from hooks.ground.settings import parse_settings
from hooks.server.admission.certificates.authority import issue
from hooks.server.app import create_app

CALLERS = 4
CALL_SECONDS, PROBE_SECONDS = 5.0, 1.0
"""Within which a good call and a probe should be answered."""
_PATIENCE = 60.0
_PAUSE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Besieged:
    """A server, a call that it answers with 200, the headers of good callers, and whom they trust (TLS)."""

    name: str
    port: int
    case: Case
    token: str = ""
    context: ssl.SSLContext | None = None

    def ask(self, case: Case | None) -> float:
        """How many seconds an answer to the call, or to a probe, takes on a new connection; infinite if it fails."""
        started = time.monotonic()
        try:
            connection = self._connect()
            if case is None:
                connection.request("GET", "/healthz")
            else:
                connection.request("POST", case.path, case.body, {"Authorization": f"Bearer {self.token}"})
            response = connection.getresponse()
            response.read()
            connection.close()
        except (OSError, HTTPException):
            return float("inf")
        return time.monotonic() - started if response.status == 200 else float("inf")

    def _connect(self) -> HTTPConnection:
        if self.context is None:
            return HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        return HTTPSConnection("127.0.0.1", self.port, timeout=_PATIENCE, context=self.context)


@dataclass(slots=True)
class Seconds:
    """How long calls and probes took, and how many answers the peers had meanwhile."""

    calls: list[float] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    besiegers: int = 0


@click.command()
@click.option("--seconds", default=20.0, show_default=True, help="Length of each siege.")
@click.option("--connections", default=400, show_default=True, help="Connections of the peers.")
@click.option("--page", is_flag=True, help="Write the table into docs/reliability.md.")
def main(*, seconds: float, connections: int, page: bool) -> None:
    """Besiege hooks and admission in each way, and print how long good calls and probes take."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-sieges-") as folder, _serving(Path(folder)) as servers:
        for server in servers:
            for siege in (None, *Siege):
                if siege is Siege.HANDSHAKE and server.context is None:
                    continue
                found = measure(server, siege, Path(folder), connections=connections, seconds=seconds)
                rows.append(write_row(server.name, siege, found))
                click.echo(rows[-1])
    text = write_table(rows, connections)
    click.echo(text)
    if page:
        RELIABILITY.write_text(replace_part(RELIABILITY.read_text(), "sieges", text))


def measure(server: Besieged, siege: Siege | None, folder: Path, *, connections: int, seconds: float) -> Seconds:
    """What good callers and a probe see for so long."""
    found, over = Seconds(), threading.Event()

    def repeat(into: list[float], case: Case | None) -> None:
        while not over.is_set():
            into.append(server.ask(case))
            over.wait(_PAUSE)

    answers = Count.create(folder / "answers")
    threads = [threading.Thread(target=repeat, args=(found.calls, server.case)) for _ in range(CALLERS)]
    threads.append(threading.Thread(target=repeat, args=(found.probes, None)))
    with besieging(server, siege, connections, folder):
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        over.set()
        for thread in threads:
            thread.join()
    found.besiegers = answers.value
    return found


@contextmanager
def besieging(server: Besieged, siege: Siege | None, connections: int, folder: Path) -> Iterator[None]:
    """The siege, which is under way; with None there is none."""
    if siege is None:
        yield
        return
    tls = "plain" if server.context is None else "tls"
    words = (str(server.port), server.case.path, siege.name, str(connections), "3600", tls, str(folder / "answers"))
    with subprocess.Popen(
        [sys.executable, "-m", "bench.siege_clients", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - as asked for
        try:
            process.stdout.readline()
            yield
        finally:
            process.kill()


def write_row(name: str, siege: Siege | None, found: Seconds) -> str:
    """A row of the table."""
    cells = [name, siege or "nobody besieges it", str(found.besiegers)]
    for times, most in ((found.calls, CALL_SECONDS), (found.probes, PROBE_SECONDS)):
        ordered = sorted(times)
        in_time = sum(one <= most for one in times)
        cells += [f"{in_time} of {len(times)}", f"{ordered[len(ordered) // 2]:.2f}", f"{ordered[-1]:.2f}"]
    return f"| {' | '.join(cells)} |"


def write_table(rows: Sequence[str], connections: int) -> str:
    """The table of the page."""
    machine = (
        f"{count_processors()} processors shared with peers, callers and others, Python {platform.python_version()}"
    )
    head = "server | each peer | answers to peers"
    head += "".join(f" | {what} | median s | longest s" for what in ("calls in 5 s", "probes in 1 s"))
    return "\n".join(
        [
            f"{connections} peers, {CALLERS} good callers, 2 workers, {machine}; {datetime.now(UTC):%Y-%m-%d}.",
            "",
            f"| {head} |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


@contextmanager
def _serving(folder: Path) -> Iterator[list[Besieged]]:
    """Hooks with a token, and admission with a certificate, with the arguments of the chart."""
    token = secrets.token_hex(16)
    (folder / "token").write_text(token)
    issued = issue(["127.0.0.1"], datetime.now(UTC), timedelta(hours=1))
    (folder / "tls.crt").write_text(issued.certificate)
    (folder / "tls.key").write_text(issued.key)
    client = create_app(parse_settings({}), lambda: datetime.now(UTC)).test_client()
    hooks = Besieged(name="hooks", port=find_free_port(), case=build_cases(client, (4,))[0], token=token)
    context = ssl.create_default_context(cadata=issued.authorities)
    admission = Besieged(name="admission", port=find_free_port(), case=build_reviews(4)[0], context=context)
    started = [
        _start(folder, "serve", hooks.port, f"--token-file={folder / 'token'}"),
        _start(
            folder,
            "serve-admission",
            admission.port,
            f"--tls-cert={folder / 'tls.crt'}",
            f"--tls-key={folder / 'tls.key'}",
        ),
    ]
    try:
        for server in (hooks, admission):
            while server.ask(None) == float("inf"):
                time.sleep(_PAUSE)
        yield [hooks, admission]
    finally:
        for process in started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)


def _start(folder: Path, command: str, port: int, *options: str) -> "subprocess.Popen[bytes]":
    words = (command, f"--bind=127.0.0.1:{port}", *options)
    with (folder / f"{command}.log").open("wb") as log:
        started = [sys.executable, "-m", "hooks", *words]
        return subprocess.Popen(started, stderr=log, start_new_session=True, env=image_environment())


if __name__ == "__main__":
    main()
