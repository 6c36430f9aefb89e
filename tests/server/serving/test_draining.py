"""How a server ends: as the chart ends it, without losing a request."""

import http.client
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from tests.server.serving.servers import HOOKS, SYNC, SYNC_PATH, Running, post_on, running, running_admission
from tests.waiting import PATIENCE

Start = Callable[..., AbstractContextManager[Running]]


def running_hooks(folder: Path, *arguments: str) -> AbstractContextManager[Running]:
    return running(folder, *HOOKS, *arguments)


@dataclass
class Load:
    """What clients saw; `enough` is set once `threshold` answers came.

    Once the Service has `moved`, it sends no new connection; `settled` is set once those before have an answer.
    """

    threshold: int
    opening: int = 0
    statuses: list[int] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    polite: int = 0
    enough: threading.Event = field(default_factory=threading.Event)
    moved: threading.Event = field(default_factory=threading.Event)
    settled: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may_open(self) -> bool:
        """Whether the Service sends one more connection; the caller tells `opened` once it has an answer."""
        with self.lock:
            if not self.moved.is_set():
                self.opening += 1
            return not self.moved.is_set()

    def opened(self) -> None:
        with self.lock:
            self.opening -= 1
            self._settle()

    def move(self) -> None:
        with self.lock:
            self.moved.set()
            self._settle()

    def _settle(self) -> None:
        if self.moved.is_set() and not self.opening:
            self.settled.set()

    def note(self, status: int, is_polite: bool) -> None:
        with self.lock:
            self.statuses.append(status)
            self.polite += is_polite
            if len(self.statuses) >= self.threshold:
                self.enough.set()


def send_requests(server: Running, load: Load, is_kept: bool) -> None:
    """Post until the Service sends no new connection here; a kept connection is used until the server closes it."""
    connection: http.client.HTTPConnection | None = None
    while connection is not None or load.may_open():
        is_new = connection is None
        try:
            connection = connection or server.connect()
            status, _, closes = post_on(connection, *server.call)
        except (OSError, http.client.HTTPException) as error:
            load.lost.append(f"{'new' if is_new else 'kept'} connection: {error!r}")
            return
        finally:
            if is_new:
                load.opened()
        load.note(status, closes and is_kept)
        if closes or not is_kept:
            connection.close()
            connection = None


@pytest.mark.parametrize("start", [running_hooks, running_admission], ids=["hooks", "admission"])
def test_stop_under_load_loses_no_request(start: Start, tmp_path: Path) -> None:
    drain_file = tmp_path / "draining"
    drain_file.touch()  # of a container before; otherwise this one would never be ready
    with start(tmp_path, "--drain-file", str(drain_file)) as server:
        assert server.get("/readyz") == (200, "ready\n")
        load = Load(threshold=100)
        threads = [
            threading.Thread(target=send_requests, args=(server, load, number % 2 == 0), daemon=True)
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        assert load.enough.wait(PATIENCE), load.lost
        subprocess.run(["sh", "-c", f"touch {drain_file} && exec sleep 1"], check=True)  # the chart's preStop
        assert server.get("/readyz")[0] == 503
        before = len(load.statuses)
        load.move()
        assert load.settled.wait(PATIENCE), load.lost
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(timeout=PATIENCE)
        assert not any(thread.is_alive() for thread in threads)
        assert server.process.wait(timeout=PATIENCE) == 0
    assert load.lost == []
    assert set(load.statuses) == {200}
    assert before > load.threshold
    assert load.polite >= 4


def test_request_in_flight_at_sigterm_is_answered(tmp_path: Path) -> None:
    with running_hooks(tmp_path, "--workers", "1") as server:
        expected = orjson.loads(server.post(SYNC)[1])["children"]
        slow = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        head = f"POST {SYNC_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(SYNC)}\r\n\r\n".encode()
        slow.sendall(head + SYNC[:100])
        server.get("/healthz")  # the one worker has taken the slow connection before this one
        server.process.send_signal(signal.SIGTERM)
        wait_until_refused(server)
        slow.sendall(SYNC[100:])
        response = http.client.HTTPResponse(slow)
        response.begin()
        assert (response.status, orjson.loads(response.read())["children"]) == (200, expected)
        slow.close()
        assert server.process.wait(timeout=PATIENCE) == 0


def test_call_on_a_kept_connection_after_sigterm_is_answered(tmp_path: Path) -> None:
    with running_hooks(tmp_path, "--workers", "1") as server:
        for _ in range(5):
            assert server.post(SYNC)[0] == 200  # on connections of their own, which must count once when they end
        kept, slow = server.connect(), socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        assert post_on(kept, *server.call)[2] is False
        slow.sendall(f"POST {SYNC_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{{".encode())
        server.process.send_signal(signal.SIGTERM)
        wait_until_refused(server)
        status, _, closes = post_on(kept, *server.call)
        assert (status, closes) == (200, True)
        kept.close()
        slow.close()
        assert server.process.wait(timeout=PATIENCE) == 0


def wait_until_refused(server: Running) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=0.5).close()
        except OSError:
            return


def test_idle_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with running_hooks(tmp_path, "--workers", "1") as server:
        idle = server.connect()
        assert post_on(idle, *server.call)[2] is False
        assert server.stop() == 0
        assert idle.sock is not None
        assert idle.sock.recv(1) == b""
        idle.close()
