"""The real hooks server as a child process: it comes up, answers, and is gone afterwards."""

import socket

import pytest
import requests

from hooks.simulator.hook_client import connect_hook
from hooks.simulator.processes import ServerFailed, run_servers
from hooks.simulator.webhook import SyncFailed


def _listens(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def test_the_hooks_server_answers_and_is_stopped() -> None:
    with run_servers([], prober=False) as servers, connect_hook(servers.hooks_url) as hook:
        assert requests.get(f"{servers.hooks_url}/healthz", timeout=5).status_code == 200
        status, _, _ = hook("/graph/sync", b"no json")
        assert status == 400
        servers.check()
    assert not _listens(servers.hooks_url)


def test_an_error_on_our_side_stops_the_server_too() -> None:
    with pytest.raises(ZeroDivisionError), run_servers([], prober=False) as servers:
        raise ZeroDivisionError
    assert not _listens(servers.hooks_url)


def test_a_server_that_refuses_its_settings_is_reported_with_its_own_words() -> None:
    with pytest.raises(ServerFailed, match="no_such_setting"), run_servers(["no_such_setting=1"], prober=False):
        pytest.fail("the server came up")


def test_a_server_that_died_is_noticed() -> None:
    with run_servers([], prober=False) as servers:
        servers.running[0].process.kill()
        servers.running[0].process.wait()
        with pytest.raises(ServerFailed, match="ended with status"):
            servers.check()


def test_a_hook_that_does_not_answer_is_a_failed_sync() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with connect_hook(url) as hook, pytest.raises(SyncFailed, match="http error"):
            hook("/graph/sync", b"{}")
