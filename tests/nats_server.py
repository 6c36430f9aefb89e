"""A real NATS server with JetStream: the one on PATH, or one that is built from its Go module on first use."""

import hashlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.binaries import BIN
from tests.ports import free_port
from tests.waiting import wait_for

MODULE = Path(__file__).parent / "e2e" / "nats"
PACKAGE = "github.com/nats-io/nats-server/v2"
ADDRESS = "127.0.0.1"


class NoServer(Exception):
    """There is no NATS server, and none could be built; the message says what to install."""


def find_nats() -> Path:
    """The program. Debian's package is too old for the runtime, so it is built where PATH has none.

    Raises:
        NoServer: Go is missing, or the build failed.
    """
    if found := shutil.which("nats-server"):
        return Path(found)
    program, stamp = BIN / "nats-server", BIN / "nats-server.stamp"
    wanted = hashlib.sha256((MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()).hexdigest()
    if program.is_file() and stamp.is_file() and stamp.read_text() == wanted:
        return program
    if shutil.which("go") is None:
        raise NoServer("neither nats-server nor Go, which would build it, is on PATH")
    BIN.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", str(program), PACKAGE]
    done = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoServer(f"nats-server could not be built: {done.stderr[-1000:]}")
    stamp.write_text(wanted)
    return program


@contextmanager
def running_nats(folder: Path) -> Iterator[str]:
    """Run it, with its files and its log in the folder, and give its URL.

    Raises:
        NoServer: there is none.
    """
    port = free_port()
    # Ended by the kernel if this process is killed.
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        str(find_nats()),
        "-a",
        ADDRESS,
        "-p",
        str(port),
        "-js",
        "-sd",
        str(folder / "nats"),
    ]
    with (folder / "nats.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            wait_for(lambda: _listens(port), "NATS listens")
            yield f"nats://{ADDRESS}:{port}"
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection((ADDRESS, port), 1).close()
    except OSError:
        return False
    return True
