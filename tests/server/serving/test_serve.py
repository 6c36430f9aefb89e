"""The server as a process: workers, signals, metrics, log lines, and what it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.server.serving.forks import run_to_end
from tests.server.serving.servers import HOOKS, SYNC, Running, running, running_admission
from tests.waiting import PATIENCE, wait_for

Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *arguments, **environment: stack.enter_context(
            running(tmp_path, *HOOKS, *arguments, **environment)
        )


def wait_until(is_so: Callable[[], bool]) -> None:
    wait_for(is_so, "the workers are as wanted")


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}/stat").exists()


def running_hooks(folder: Path, *arguments: str) -> AbstractContextManager[Running]:
    return running(folder, *HOOKS, *arguments)


def hang_up(server: Running) -> None:
    """Two new workers take the place of the old ones."""
    old = server.worker_ids()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(server.worker_ids()) == len(old) + 2 and not any(map(is_alive, old)))


def have_one_worker_less(server: Running) -> None:
    server.process.send_signal(signal.SIGTTOU)
    wait_until(lambda: not is_alive(server.worker_ids()[0]))


def end_one_worker(number: signal.Signals) -> Callable[[Running], None]:
    def end(server: Running) -> None:
        old = server.worker_ids()
        os.kill(next(filter(is_alive, old)), number)
        wait_until(lambda: len(server.worker_ids()) == len(old) + 1)

    return end


@pytest.mark.sampled
@pytest.mark.parametrize("begin", [running_hooks, running_admission], ids=["hooks", "admission"])
@pytest.mark.parametrize(
    "happen",
    [hang_up, have_one_worker_less, end_one_worker(signal.SIGTERM), end_one_worker(signal.SIGKILL)],
    ids=["SIGHUP", "SIGTTOU", "worker terminated", "worker killed"],
)
def test_server_hears_on_whatever_happens_to_a_worker(
    begin: Callable[[Path], AbstractContextManager[Running]], happen: Callable[[Running], None], tmp_path: Path
) -> None:
    with begin(tmp_path) as server:
        wait_until(lambda: len(server.worker_ids()) == 2)
        for _ in range(2):
            happen(server)
            for _ in range(20):
                assert server.ask("POST", *server.call)[0] == 200
            if happen is have_one_worker_less:
                break
        assert server.stop() == 0


def test_worker_that_hangs_keeps_no_connection_from_the_others(start: Start) -> None:
    server = start("--workers", "2")
    wait_until(lambda: len(server.worker_ids()) == 2)
    assert server.post(SYNC)[0] == 200
    os.kill(server.worker_ids()[0], signal.SIGSTOP)
    assert [server.post(SYNC)[0] for _ in range(6)] == [200] * 6
    os.kill(server.worker_ids()[0], signal.SIGCONT)


def total_calls(server: Running) -> float:
    text = server.get("/metrics")[1]
    found = re.findall(r"^dynamo_operator_reconcile_total\{[^}]*\} (\S+)$", text, re.MULTILINE)
    return sum(float(value) for value in found)


def test_metrics_count_the_calls_of_all_workers_and_leave_no_file_behind(start: Start, tmp_path: Path) -> None:
    server = start("--workers", "2")
    for _ in range(20):
        assert server.post(SYNC)[0] == 200
    assert total_calls(server) == 20
    assert len(list(tmp_path.iterdir())) == 1
    assert server.stop() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_server_that_is_ended_while_it_starts_leaves_no_file_behind(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hooks", "serve", "--bind", "127.0.0.1:0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("PROMETHEUS_MULTIPROC_DIR", None)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
        while process.poll() is None and not list(tmp_path.iterdir()):
            pass
        process.send_signal(signal.Signals[name])
        process.wait(timeout=PATIENCE)
    assert list(tmp_path.iterdir()) == []


SLOW_BEGIN = """
import gunicorn.util, sys, time
from hooks.server.commands import prober
from hooks.server.commands.main import main
from hooks.server.serving import server
def begin(title):
    if title.startswith("worker"):
        print("forked", flush=True)
        time.sleep(2)
gunicorn.util._setproctitle, server.REQUEST_SECONDS, prober._GRACE_SECONDS = begin, 1000, 1000
main(sys.argv[1:])
"""


@pytest.mark.parametrize("server", ["serve", "prober"])
def test_worker_that_has_just_been_forked_hears_that_the_server_ends(server: str) -> None:
    command = [sys.executable, "-c", SLOW_BEGIN, server, "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=PATIENCE) == 0
        finally:
            process.kill()


def test_given_metrics_directory_is_emptied_of_an_earlier_run_and_kept(start: Start, tmp_path: Path) -> None:
    directory = tmp_path / "metrics"
    directory.mkdir()
    (directory / "counter_1.db").write_bytes(b"old")
    server = start("--workers", "1", PROMETHEUS_MULTIPROC_DIR=str(directory))
    assert server.post(SYNC)[0] == 200
    assert total_calls(server) == 1
    assert server.stop() == 0
    assert directory.is_dir()
    assert not (directory / "counter_1.db").exists()


def test_killed_worker_is_replaced_and_its_counts_stay(start: Start) -> None:
    server = start("--workers", "1")
    assert server.post(SYNC)[0] == 200
    os.kill(server.worker_ids()[0], signal.SIGKILL)
    assert server.post(SYNC)[0] == 200  # waits in the listener's queue for the new worker
    assert len(server.worker_ids()) == 2
    assert total_calls(server) == 2


def test_too_large_body_in_chunks_is_refused_with_one_sentence(start: Start) -> None:
    server = start("--workers", "1", "--set", "max_body_bytes=64KiB")
    connection = server.connect()
    connection.request("POST", "/graph/sync", (b" " * 1024 for _ in range(80)))
    response = connection.getresponse()
    assert response.status == 413
    assert response.read() == b"the body is larger than 65536 bytes; raise the setting max_body_bytes\n"
    connection.close()
    assert server.post(SYNC)[0] == 200


def test_every_log_line_is_json(start: Start) -> None:
    server = start("--workers", "1")
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
    server = start("--workers", "2", *settings, KUBERNETES_SERVICE_HOST="")
    assert server.stop() == 0
    told = [json.loads(line) for line in server.lines if "effects are switched off" in line]
    assert [line["settings"] for line in told] == ([left] if left else [])


@pytest.mark.parametrize(("rule", "told"), [("pods", 1), ("routable", 0), ("any", 0)])
def test_server_that_can_read_no_pod_says_once_that_no_engine_is_called(start: Start, rule: str, told: int) -> None:
    server = start("--workers", "2", "--set", f"engine_addresses={rule}", KUBERNETES_SERVICE_HOST="")
    assert server.stop() == 0
    found = [json.loads(line) for line in server.lines if "no engine is called, because no pod can be read" in line]
    assert [line["settings"] for line in found] == [["engine_addresses"]] * told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--set", "log_levl=debug"), "unknown setting log_levl; did you mean log_level?"),
        (("--set", "log_level"), "--set log_level is not a setting; write --set key=value"),
        (("--set", "max_body_bytes=many"), "setting max_body_bytes is 'many', should be: write a number of bytes"),
        (
            ("--set", "installation=team-a"),
            "and the setting installation_namespace is empty: anyone who writes the label",
        ),
        (("--bind", "8080"), "'8080' is not an address; write HOST:PORT"),
        (("--bind", "localhost:70000"), "'localhost:70000' is not an address"),
        (("--admission-bind", "0.0.0.0:9443"), "--admission-bind no longer exists: admission is a process of its own"),
        (("--tls-cert", "a"), "dynamo-hooks serve-admission --bind HOST:PORT --tls-cert FILE --tls-key FILE"),
        (("--tls-key=a",), "dynamo-hooks serve-admission --bind HOST:PORT --tls-cert FILE --tls-key FILE"),
        (("--drain", "5"), "--drain no longer exists: let something wait before SIGTERM, such as a preStop hook"),
    ],
    ids=[
        *(
            "unknown setting",
            "no value",
            "malformed setting",
            "installation without a namespace",
            "no host",
            "no such port",
        ),
        *("admission", "certificate", "key", "drain"),
    ],
)
def test_wrong_usage_ends_with_one_sentence_and_status_2(arguments: tuple[str, ...], sentence: str) -> None:
    status, written = run_to_end(["-m", "hooks", "serve", *arguments])
    assert status == 2
    assert sentence in written
    assert "Traceback" not in written


def test_help_shows_examples() -> None:
    command = [sys.executable, "-m", "hooks", "serve", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "dynamo-hooks serve --bind 0.0.0.0:8080 --set callers=any --workers 4" in done.stdout


def test_sigusr2_starts_no_second_server(start: Start) -> None:
    server = start("--workers", "1")
    server.process.send_signal(signal.SIGUSR2)
    assert server.post(SYNC)[0] == 200
    server.process.send_signal(signal.SIGTTIN)  # one worker more, so the signal before was seen
    wait_until(lambda: len(server.worker_ids()) == 2)
    started = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    assert sorted(map(int, started)) == sorted(server.worker_ids())


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "PATH_INFO", "REMOTE_USER"])
def test_header_of_this_machine_does_not_say_where_the_application_is(start: Start, name: str) -> None:
    server = start("--workers", "1")
    connection = server.connect()
    connection.request("GET", "/healthz", headers={name: "/nowhere"})
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"alive\n")
    connection.close()
