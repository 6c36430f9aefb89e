"""Who may call the hooks: the token, its change, and what it does not guard."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from hooks.ground.errors import InvalidSettings
from hooks.server.serving.callers import NOT_ACCEPTED, NOT_SHOWN, OVERLAP_SECONDS, CallerToken
from hooks.server.serving.web import ServedBy
from tests.hook_client import GOOD, call, client_with
from tests.server.serving.forks import run_to_end
from tests.server.serving.servers import HOOKS, SYNC, SYNC_PATH, running
from tests.test_app import is_one_sentence


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first-token\n")
    return path


def write(file: Path, text: str) -> None:
    """Another file under the same name, as the kubelet does."""
    fresh = file.with_name("fresh")
    fresh.write_text(text)
    fresh.replace(file)


def write_in_place(file: Path, text: str) -> None:
    before = file.stat()
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))  # a later time, however coarse the clock


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("Bearer first-token", ""),
        ("bearer first-token", ""),
        ("Bearer  first-token ", ""),
        ("", NOT_SHOWN),
        ("first-token", NOT_SHOWN),
        ("Basic first-token", NOT_SHOWN),
        ("Bearer", NOT_SHOWN),
        ("Bearer ", NOT_ACCEPTED),
        ("Bearer first-toke", NOT_ACCEPTED),
        ("Bearer first-token2", NOT_ACCEPTED),
        ("Bearer FIRST-TOKEN", NOT_ACCEPTED),
        ("Bearer fürst-token", NOT_ACCEPTED),
    ],
)
def test_caller_must_show_the_whole_token(file: Path, header: str, reason: str) -> None:
    assert CallerToken(file).refusal(header) == reason


@pytest.mark.parametrize("change", [write, write_in_place], ids=["replaced", "in place"])
def test_changed_token_counts_at_once_and_the_one_before_for_a_while(
    file: Path, change: Callable[[Path, str], None]
) -> None:
    clock = Clock()
    token = CallerToken(file, clock)
    change(file, "second-token")
    assert token.refusal("Bearer second-token") == ""
    assert token.refusal("Bearer first-token") == ""
    clock.now += OVERLAP_SECONDS - 1
    assert token.refusal("Bearer first-token") == ""
    clock.now += 2
    assert token.refusal("Bearer first-token") == NOT_ACCEPTED
    assert token.refusal("Bearer second-token") == ""


def test_file_that_is_written_again_with_the_same_token_changes_nothing(file: Path) -> None:
    token = CallerToken(file, Clock())
    write(file, "second-token")
    assert token.refusal("Bearer second-token") == ""
    write(file, " second-token\n")
    assert token.refusal("Bearer first-token") == ""


@pytest.mark.parametrize("spoil", [lambda file: file.unlink(), lambda file: write(file, " \n")], ids=["gone", "empty"])
def test_token_stays_while_the_file_cannot_be_used(
    file: Path, spoil: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    token = CallerToken(file, Clock())
    spoil(file)
    with caplog.at_level(logging.WARNING):
        assert [token.refusal("Bearer first-token") for _ in range(3)] == [""] * 3
    assert token.refusal("Bearer ") == NOT_ACCEPTED
    assert len(caplog.records) == 1
    write(file, "second-token")
    assert token.refusal("Bearer second-token") == ""


@pytest.mark.parametrize("text", ["", " \n", "two\nlines", "tök"], ids=repr)
def test_file_without_a_token_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidSettings, match="holds no token"):
        CallerToken(file)


# Over HTTP


def guarded(file: Path) -> FlaskClient:
    return client_with(GOOD, served_by=ServedBy(refuse=CallerToken(file).refusal))


@pytest.mark.parametrize("path", ["/graph/sync", "/graph/customize"])
def test_call_without_the_token_gets_401_and_one_sentence(file: Path, path: str) -> None:
    answer = guarded(file).post(path, data=call())
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert is_one_sentence(answer)
    assert "--token-secret" in answer.text
    wrong = guarded(file).post(path, data=call(), headers={"Authorization": "Bearer other"})
    assert wrong.status_code == 401
    assert "first-token" not in wrong.text


@pytest.mark.parametrize("path", ["/graph/sync", "/graph/customize"])
def test_line_of_a_refused_call_names_the_peer(file: Path, path: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    guarded(file).post(path, data=call(), environ_base={"REMOTE_ADDR": "192.0.2.7"})
    (line,) = (vars(record)["fields"] for record in caplog.records if record.message == "call")
    assert (line["status"], line["fault"], line["peer"]) == (401, NOT_SHOWN, "192.0.2.7")


def test_call_with_the_token_is_answered(file: Path) -> None:
    answer = guarded(file).post("/graph/sync", data=call(), headers={"Authorization": "Bearer first-token"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_and_metrics_ask_for_no_token(file: Path, path: str) -> None:
    assert guarded(file).get(path).status_code == 200


def test_refused_calls_are_counted_without_a_namespace(file: Path) -> None:
    client = guarded(file)
    client.post("/graph/sync", data=call())
    assert (
        'dynamo_hooks_calls_total{call="sync",hook="graph",outcome="unknown_caller"} 1.0' in client.get("/metrics").text
    )


# As a process


def test_large_body_of_a_stranger_does_not_cost_the_answer(file: Path, tmp_path: Path) -> None:
    with running(tmp_path, *HOOKS, "--token-file", str(file)) as server:
        for size in (10, 2**20):
            status, text = server.ask("POST", SYNC_PATH, b" " * size)
            assert (status, text.decode()) == (401, f"{NOT_SHOWN}\n")
        connection = server.connect()
        connection.request("POST", SYNC_PATH, SYNC, {"Authorization": "Bearer first-token"})
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--bind", "0.0.0.0:0"), "other machines can reach 0.0.0.0:0, and no token says who may call"),
        (("--bind", "[::]:0"), "give --token-file FILE, or say --set callers=any if every caller may"),
        (("--bind", "hooks.example:80"), "other machines can reach hooks.example:80"),
        (("--token-file", "/none/token"), "--token-file /none/token cannot be read: No such file or directory"),
        (("--token-file", "/dev/null"), "--token-file /dev/null holds no token"),
        (("--token-file", "x", "--set", "callers=any"), "--token-file and the setting callers=any exclude each other"),
        (("--set", "callers=all"), "setting callers is 'all', should be: 'token' or 'any'"),
    ],
)
def test_server_that_anybody_could_call_does_not_start(arguments: tuple[str, ...], sentence: str) -> None:
    status, written = run_to_end(["-m", "hooks", "serve", *arguments])
    assert status == 2
    assert sentence in " ".join(written.split())
    assert "Traceback" not in written


@pytest.mark.parametrize("arguments", [(), ("--set", "callers=any")], ids=["loopback", "any"])
def test_server_without_a_token_answers_on_loopback(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with running(tmp_path, *HOOKS, *arguments) as server:
        assert server.post(SYNC)[0] == 200
