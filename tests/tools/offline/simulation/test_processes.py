"""The real hooks server as a child process: it comes up, answers, and is gone afterwards."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from hooks.tools.offline.simulation import starting
from hooks.tools.offline.simulation.processes import ServerFailed, run_servers
from hooks.tools.offline.simulator.metacontroller.hook_client import connect_hook
from hooks.tools.offline.simulator.metacontroller.webhook import SyncFailed
from tests.waiting import PATIENCE, wait_for

USER = """
import sys
from hooks.tools.offline.simulation.processes import run_servers
with run_servers([], prober=True) as servers:
    print(servers.hooks_url, *(f"http://127.0.0.1:{server.port}" for server in servers.running), flush=True)
    sys.stdin.read()
"""


def _listens(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def test_the_hooks_server_answers_and_is_stopped() -> None:
    with run_servers([], prober=False) as servers, connect_hook(servers.hooks_url) as hook:
        assert requests.get(f"{servers.hooks_url}/healthz", timeout=PATIENCE).status_code == 200
        status, _, _ = hook("/graph/sync", b"no json")
        assert status == 400
        servers.check()
    assert not _listens(servers.hooks_url)


def test_a_server_that_starts_slowly_is_waited_for_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "SAY_SECONDS", 0.0)
    said: list[str] = []
    with run_servers([], prober=False, say=said.append) as servers:
        servers.check()
    assert said
    assert all(
        re.fullmatch(r"dynamo-hooks serve is still starting after \d+ s, .* for \d+\.\d s", line) for line in said
    )


def test_a_server_that_does_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = tmp_path / "python"
    hangs.write_text("#!/bin/sh\nexec cat\n")  # it waits for input, which the simulation never writes
    hangs.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(hangs))
    monkeypatch.setattr(starting, "STILL_SECONDS", 1.0)
    with pytest.raises(ServerFailed, match="did nothing in the last"), run_servers([], prober=False):
        pytest.fail("the server came up")


def test_an_error_on_our_side_stops_the_server_too() -> None:
    with pytest.raises(ZeroDivisionError), run_servers([], prober=False) as servers:
        raise ZeroDivisionError
    assert not _listens(servers.hooks_url)


def test_a_server_that_refuses_its_settings_is_reported_with_its_own_words() -> None:
    with pytest.raises(ServerFailed, match="no_such_setting"), run_servers(["no_such_setting=1"], prober=False):
        pytest.fail("the server came up")


def test_a_server_that_died_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # killed, it leaves its metrics behind
    with run_servers([], prober=False) as servers:
        servers.running[0].process.kill()
        servers.running[0].process.wait()
        with pytest.raises(ServerFailed, match="ended with status"):
            servers.check()


def test_the_servers_end_when_the_program_that_started_them_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", USER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        urls = process.stdout.readline().split()
        assert [_listens(url) for url in urls] == [True] * 3
        process.kill()
    wait_for(lambda: not list(tmp_path.iterdir()) and not any(map(_listens, urls)), "the servers are gone")


def test_a_hook_that_does_not_answer_is_a_failed_sync() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with connect_hook(url) as hook, pytest.raises(SyncFailed, match="http error"):
            hook("/graph/sync", b"{}")
