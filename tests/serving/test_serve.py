"""The server as a process: it stops without losing a request, and refuses what it cannot serve."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from hooks.serving.server import drop_new_handshakes
from tests import make

SYNC = orjson.dumps(
    {
        "parent": make.graph(),
        "children": {
            kind: {}
            for kind in (
                "ConfigMap.v1",
                "DynamoComponentDeployment.nvidia.com/v1alpha1",
                "DynamoGraphDeploymentScalingAdapter.nvidia.com/v1alpha1",
                "Ingress.networking.k8s.io/v1",
                "PersistentVolumeClaim.v1",
                "Role.rbac.authorization.k8s.io/v1",
                "RoleBinding.rbac.authorization.k8s.io/v1",
                "Secret.v1",
                "Service.v1",
                "ServiceAccount.v1",
            )
        },
        "related": {},
    }
)


@dataclass
class Running:
    """A server process; `lines` are its log lines so far."""

    process: subprocess.Popen[str]
    port: int = 0
    lines: list[str] = field(default_factory=list)

    def connect(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.connect()
        return connection

    def get(self, path: str) -> tuple[int, str]:
        connection = self.connect()
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def post(self, body: bytes) -> tuple[int, bytes]:
        connection = self.connect()
        answer = post_on(connection, body)
        connection.close()
        return answer[:2]

    def worker_ids(self) -> list[int]:
        found = (re.search(r"Booting worker with pid: (\d+)", line) for line in self.lines)
        return [int(match[1]) for match in found if match]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)


def post_on(connection: http.client.HTTPConnection, body: bytes) -> tuple[int, bytes, bool]:
    """Status, whole body, and whether the server closes the connection."""
    connection.request("POST", "/graph/sync", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    data = response.read()
    return response.status, data, response.will_close


def children_of(body: bytes) -> object:
    """An answer without its status, which holds the time of the first sync."""
    return orjson.loads(body)["children"]


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Running] = []

    def begin(*arguments: str, **environment: str) -> Running:
        variables = {**os.environ, "TMPDIR": str(tmp_path), **environment}
        if "PROMETHEUS_MULTIPROC_DIR" not in environment:
            variables.pop("PROMETHEUS_MULTIPROC_DIR", None)
        command = [sys.executable, "-m", "hooks", "serve", "--bind", "127.0.0.1:0", *arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables)
        server = Running(process)
        running.append(server)
        listens = threading.Event()
        threading.Thread(target=read_log, args=(server, listens), daemon=True).start()
        assert listens.wait(30), server.lines
        return server

    yield begin
    for server in running:
        with suppress(ProcessLookupError):
            server.process.kill()
        server.process.wait(timeout=10)


def read_log(server: Running, listens: threading.Event) -> None:
    assert server.process.stderr is not None
    for line in server.process.stderr:
        server.lines.append(line)
        match = re.search(r"Listening at: http://127\.0\.0\.1:(\d+)", line)
        if match:
            server.port = int(match[1])
            listens.set()
    server.process.stderr.close()


@dataclass
class Load:
    """What clients saw; `enough` is set once `threshold` answers came."""

    threshold: int
    answers: list[tuple[int, bytes]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    refused: int = 0
    polite: int = 0
    enough: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, status: int, body: bytes, closes: bool, is_kept: bool) -> None:
        with self.lock:
            self.answers.append((status, body))
            self.polite += closes and is_kept
            if len(self.answers) >= self.threshold:
                self.enough.set()


def send_requests(server: Running, load: Load, is_kept: bool, limit: int) -> None:
    """Post until the server takes no connection any more; whatever fails after a connection was made is a loss."""
    connection: http.client.HTTPConnection | None = None
    for _ in range(limit):
        if connection is None:
            try:
                connection = server.connect()
            except OSError:
                load.refused += 1
                return
        try:
            status, body, closes = post_on(connection, SYNC)
        except (OSError, http.client.HTTPException) as error:
            load.lost.append(repr(error))
            return
        load.note(status, body, closes, is_kept)
        if closes or not is_kept:
            connection.close()
            connection = None
    if connection is not None:
        connection.close()


def watch_readiness(server: Running, seen: list[int]) -> None:
    """Ask until the server takes no connection any more."""
    while True:
        try:
            status = server.get("/readyz")[0]
        except ConnectionRefusedError:
            return
        if seen[-1:] != [status]:
            seen.append(status)


def test_sigterm_under_load_loses_no_request(start: Start) -> None:
    server = start("--workers", "2", "--threads", "2", "--drain", "1")
    load = Load(threshold=100)
    expected = children_of(server.post(SYNC)[1])
    readiness: list[int] = []
    threads = [
        threading.Thread(target=send_requests, args=(server, load, number % 2 == 0, 20_000)) for number in range(8)
    ]
    threads.append(threading.Thread(target=watch_readiness, args=(server, readiness)))
    for thread in threads:
        thread.start()
    assert load.enough.wait(30)
    before = len(load.answers)
    assert server.stop() == 0
    for thread in threads:
        thread.join(timeout=30)
    assert load.lost == []
    assert {status for status, _ in load.answers} == {200}
    assert all(children_of(body) == expected for _, body in load.answers)
    assert len(load.answers) > before
    assert load.refused == 8
    assert load.polite >= 4
    assert readiness == [200, 503]


def test_request_in_flight_at_sigterm_is_answered(start: Start) -> None:
    server = start("--workers", "1", "--drain", "0")
    expected = children_of(server.post(SYNC)[1])
    slow = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    head = f"POST /graph/sync HTTP/1.1\r\nHost: h\r\nContent-Length: {len(SYNC)}\r\n\r\n".encode()
    slow.sendall(head + SYNC[:100])
    server.get("/healthz")  # the one worker has taken the slow connection before this one
    server.process.send_signal(signal.SIGTERM)
    wait_until_refused(server)
    slow.sendall(SYNC[100:])
    response = http.client.HTTPResponse(slow)
    response.begin()
    assert (response.status, children_of(response.read())) == (200, expected)
    slow.close()
    assert server.process.wait(timeout=40) == 0


def wait_until_refused(server: Running) -> None:
    """Return once no new connection is made: it is refused, or its first packet dropped."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=0.5).close()
        except OSError:
            return


def test_idle_connection_does_not_hold_up_the_end(start: Start) -> None:
    server = start("--workers", "1", "--drain", "0")
    idle = server.connect()
    assert post_on(idle, SYNC)[2] is False
    assert server.stop() == 0
    assert idle.sock is not None
    assert idle.sock.recv(1) == b""
    idle.close()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's packet filter is Linux's")
def test_listener_that_keeps_out_new_connections_keeps_those_it_has() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        waiting = socket.create_connection(address, timeout=5)
        drop_new_handshakes(listener)
        with pytest.raises(TimeoutError):
            socket.create_connection(address, timeout=0.2)
        accepted, _ = listener.accept()
        waiting.sendall(b"x")
        assert accepted.recv(1) == b"x"
        accepted.close()
        waiting.close()


def total_calls(server: Running) -> float:
    text = server.get("/metrics")[1]
    found = re.findall(r"^dynamo_operator_reconcile_total\{[^}]*\} (\S+)$", text, re.MULTILINE)
    return sum(float(value) for value in found)


def test_metrics_count_the_calls_of_all_workers_and_leave_no_file_behind(start: Start, tmp_path: Path) -> None:
    server = start("--workers", "2", "--drain", "0")
    for _ in range(20):
        assert server.post(SYNC)[0] == 200
    assert total_calls(server) == 20
    assert len(list(tmp_path.iterdir())) == 1
    assert server.stop() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_server_that_is_ended_while_it_starts_leaves_no_file_behind(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hooks", "serve", "--bind", "127.0.0.1:0", "--drain", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        while process.poll() is None and not list(tmp_path.iterdir()):
            pass
        process.send_signal(signal.Signals[name])
        process.wait(timeout=40)
    assert list(tmp_path.iterdir()) == []


def connections_of(worker: int, port: int) -> int:
    """Established connections to the port that a process holds; Linux shows them under /proc."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    own = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"}
    links = [link.readlink() for link in Path(f"/proc/{worker}/fd").iterdir() if link.is_symlink()]
    return sum(str(target) in own for target in links)


def close_all(held: list[http.client.HTTPConnection]) -> None:
    while held:
        held.pop().close()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_workers_share_the_connections_that_clients_keep(start: Start) -> None:
    server = start("--workers", "2", "--drain", "0")
    held: list[http.client.HTTPConnection] = []

    def counts() -> list[int]:
        return [connections_of(worker, server.port) for worker in server.worker_ids()]

    def hold_one_more() -> None:
        assert len(held) < 1000
        held.append(server.connect())
        assert post_on(held[-1], SYNC)[0] == 200

    while len(counts()) < 2 or 0 in counts():  # until both workers are up
        hold_one_more()
    close_all(held)
    wait_until(lambda: counts() == [0, 0])
    for _ in range(24):
        hold_one_more()
    first, second = counts()
    assert first + second == 24
    assert abs(first - second) <= 2  # what a worker has just closed may still be counted
    close_all(held)


def test_worker_that_hangs_keeps_no_connection_from_the_others(start: Start) -> None:
    server = start("--workers", "2", "--drain", "0")
    while len(server.worker_ids()) < 2:
        assert server.post(SYNC)[0] == 200
    os.kill(server.worker_ids()[0], signal.SIGSTOP)
    held = [server.connect() for _ in range(6)]
    assert [post_on(connection, SYNC)[0] for connection in held] == [200] * 6
    assert connections_of(server.worker_ids()[1], server.port) == 6
    os.kill(server.worker_ids()[0], signal.SIGCONT)
    close_all(held)


def test_given_metrics_directory_is_emptied_of_an_earlier_run_and_kept(start: Start, tmp_path: Path) -> None:
    directory = tmp_path / "metrics"
    directory.mkdir()
    (directory / "counter_1.db").write_bytes(b"old")
    server = start("--workers", "1", "--drain", "0", PROMETHEUS_MULTIPROC_DIR=str(directory))
    assert server.post(SYNC)[0] == 200
    assert total_calls(server) == 1
    assert server.stop() == 0
    assert directory.is_dir()
    assert not (directory / "counter_1.db").exists()


def test_killed_worker_is_replaced_and_its_counts_stay(start: Start) -> None:
    server = start("--workers", "1", "--drain", "0")
    assert server.post(SYNC)[0] == 200
    os.kill(server.worker_ids()[0], signal.SIGKILL)
    assert server.post(SYNC)[0] == 200  # waits in the listener's queue for the new worker
    assert len(server.worker_ids()) == 2
    assert total_calls(server) == 2


def test_too_large_body_in_chunks_is_refused_with_one_sentence(start: Start) -> None:
    server = start("--workers", "1", "--drain", "0", "--set", "max_body_bytes=64KiB")
    connection = server.connect()
    connection.request("POST", "/graph/sync", (b" " * 1024 for _ in range(80)))
    response = connection.getresponse()
    assert response.status == 413
    assert response.read() == b"the body is larger than 65536 bytes; raise the setting max_body_bytes\n"
    connection.close()
    assert server.post(SYNC)[0] == 200


def test_every_log_line_is_json(start: Start) -> None:
    server = start("--workers", "1", "--drain", "0")
    server.post(SYNC)
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.lines]
    assert [line["hook"] for line in lines if line["message"] == "call"] == ["graph"]
    assert all({"time", "level", "message"} <= set(line) for line in lines)


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ((), ["effect_events", "effect_scale", "effect_write_back"]),
        (("effect_events", "effect_scale"), ["effect_write_back"]),
        (("effect_events", "effect_scale", "effect_write_back"), None),
    ],
    ids=["all on", "one on", "all off"],
)
def test_effects_that_no_api_server_takes_are_switched_off_and_named_once(
    start: Start, off: tuple[str, ...], left: list[str] | None
) -> None:
    settings = [part for name in off for part in ("--set", f"{name}=off")]
    server = start("--workers", "2", "--drain", "0", *settings, KUBERNETES_SERVICE_HOST="")
    assert server.stop() == 0
    told = [json.loads(line) for line in server.lines if "effects are switched off" in line]
    assert [line["settings"] for line in told] == ([left] if left else [])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "log_levl=debug"), "unknown setting log_levl; did you mean log_level?"),
        (("--set", "log_level"), "--set log_level is not a setting; write --set key=value"),
        (("--set", "max_body_bytes=many"), "setting max_body_bytes is 'many', should be: write a number of bytes"),
        (("--bind", "8080"), "'8080' is not an address; write HOST:PORT"),
        (("--bind", "localhost:70000"), "'localhost:70000' is not an address"),
    ],
    ids=["unknown setting", "no value", "malformed setting", "no host", "no such port"],
)
def test_wrong_usage_ends_with_one_sentence_and_status_2(arguments: tuple[str, ...], sentence: str) -> None:
    command = [sys.executable, "-m", "hooks", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_help_shows_examples() -> None:
    command = [sys.executable, "-m", "hooks", "serve", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "dynamo-hooks serve --bind 0.0.0.0:8080 --workers 4" in done.stdout
