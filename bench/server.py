"""The server to measure, started as a process."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_DOCKERFILE = Path(__file__).parent.parent / "Dockerfile"


def image_environment() -> dict[str, str]:
    """The variables of this process, and those by which the image sets the memory allocator."""
    lines = (line for line in _DOCKERFILE.read_text().splitlines() if line.startswith("ENV MALLOC_"))
    return {**os.environ, **{name: value for line in lines for name, value in re.findall(r"(MALLOC_\w+)=(\S+)", line)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredServer:
    """A running server: its port, its first process, and the milliseconds from its start to its first answers."""

    port: int
    process_id: int
    healthy_after: float
    synced_after: float


@contextmanager
def run_server(command: list[str], body: bytes, path: str) -> Iterator[MeasuredServer]:
    """Start a module, wait until it answers, and stop it after use; ADDRESS in `command` is replaced by its address."""
    port = find_free_port()
    started = time.perf_counter()
    arguments = [part.replace("ADDRESS", f"127.0.0.1:{port}") for part in command]
    command = [sys.executable, "-m", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=image_environment())
    try:
        ask_until_answered(port, b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", process)
        healthy_after = (time.perf_counter() - started) * 1000
        head = f"POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        ask_until_answered(port, head.encode() + body, process)
        synced_after = (time.perf_counter() - started) * 1000
        yield MeasuredServer(port=port, process_id=process.pid, healthy_after=healthy_after, synced_after=synced_after)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


def find_free_port() -> int:
    """A port of 127.0.0.1 at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def ask_until_answered(port: int, request: bytes, process: subprocess.Popen[bytes]) -> None:
    """Send a request until the server accepts the connection.

    Raises:
        RuntimeError: the server ended, or did not answer 200.
    """
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            break
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with status {process.returncode}") from None
            time.sleep(0.002)
    with connection:
        connection.sendall(request)
        answer = connection.recv(64)
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(f"the server answered {answer!r}")


def measure_memory(process_id: int) -> list[dict[str, float]]:
    """MiB of each worker: `rss` counts shared pages in full, `pss` counts this process's share of them."""
    return [read_memory(worker) for worker in find_workers(process_id)]


def find_workers(process_id: int) -> list[int]:
    """The ids of a server's workers."""
    return [int(child) for child in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


def read_memory(process_id: int) -> dict[str, float]:
    """MiB of one process, as `measure_memory` gives them."""
    text = Path(f"/proc/{process_id}/smaps_rollup").read_text()
    found = {key: int(size) for key, size in re.findall(r"^(Rss|Pss):\s+(\d+) kB$", text, re.MULTILINE)}
    return {"rss": found["Rss"] / 1024, "pss": found["Pss"] / 1024}


def count_processors() -> int:
    return len(os.sched_getaffinity(0))
