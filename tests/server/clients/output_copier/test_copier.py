"""The output copier against a played API server: what it asks, how long it goes on, when it gives up."""

import errno
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import responses

from hooks.request.seen.profiler_output import CopyTask
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.output_copier.copier import CopyFailed, OutputCopier, Pace, read_files

URL = "https://127.0.0.1:6443"
POD = f"{URL}/api/v1/namespaces/ns/pods/p"
CONFIG_MAP = f"{URL}/api/v1/namespaces/ns/configmaps/dgdr-output-qwen"
READ = POD.removeprefix(URL)
APPLY = f"{CONFIG_MAP.removeprefix(URL)}?fieldManager=dynamo-hooks-copy-output&force=true"
GRAPH = "config_with_planner.yaml"
RUNNING: dict[str, Any] = {"running": {}}
SUCCEEDED = {"terminated": {"exitCode": 0}}
DENIED = {"kind": "Status", "message": 'pods "p" is forbidden'}


class Time:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.waits.append(seconds)
        self.now += seconds

    def pace(self) -> Pace:
        return Pace(sleep=self.sleep, jitter=lambda: 1.0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def server() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=True) as played:
        yield played


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def copier(tmp_path: Path, time: Time, said: list[str]) -> OutputCopier:
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "ca.crt").write_text("")
    (tmp_path / GRAPH).write_text("kind: DynamoGraphDeployment\n")
    return OutputCopier(
        task=CopyTask(
            namespace="ns",
            pod="p",
            config_map="dgdr-output-qwen",
            request="qwen",
            request_uid="u-1",
            required=GRAPH,
            folder="/data",
        ),
        folder=tmp_path,
        server=ApiServer(url=URL, token_file=tmp_path / "token", ca_file=tmp_path / "ca.crt", clock=lambda: time.now),
        deadline_seconds=1000,
        say=said.append,
        pace=time.pace(),
    )


def pod(state: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "status": {"containerStatuses": [{"name": "profiler", "state": state}]},
    }


def failure(copier: OutputCopier) -> str:
    with pytest.raises(CopyFailed) as failed:
        copier.run()
    return str(failed.value)


def test_files_are_applied_as_soon_as_the_profiler_has_ended(
    server: responses.RequestsMock, copier: OutputCopier, time: Time, said: list[str]
) -> None:
    for state in (RUNNING, RUNNING, SUCCEEDED):
        server.get(POD, json=pod(state))
    managed = responses.matchers.query_param_matcher({"fieldManager": "dynamo-hooks-copy-output", "force": "true"})
    server.patch(CONFIG_MAP, json={"kind": "ConfigMap"}, status=201, match=[managed])
    copier.run()
    sent = server.calls[3].request
    assert time.waits == [5, 5]
    assert sent.headers["Content-Type"] == "application/apply-patch+yaml"
    assert sent.headers["Authorization"] == "Bearer secret"
    assert json.loads(sent.body or "")["data"] == {GRAPH: "kind: DynamoGraphDeployment\n"}
    assert said == ["the profiler is running, 0 s so far", f"ConfigMap dgdr-output-qwen holds {GRAPH}"]


def test_a_line_every_five_minutes_shows_that_it_lives(
    server: responses.RequestsMock, copier: OutputCopier, said: list[str]
) -> None:
    for state in [*[RUNNING] * 122, SUCCEEDED]:
        server.get(POD, json=pod(state))
    server.patch(CONFIG_MAP, json={})
    copier.run()
    assert [line for line in said if "so far" in line] == [
        f"the profiler is running, {seconds} s so far" for seconds in (0, 300, 600)
    ]


def test_failed_profiler_ends_the_wait_and_only_why_is_written(
    server: responses.RequestsMock, copier: OutputCopier, time: Time
) -> None:
    server.get(POD, json=pod({"terminated": {"exitCode": 1, "reason": "Error"}}))
    server.patch(CONFIG_MAP, json={"kind": "ConfigMap"}, status=201)
    assert failure(copier) == "the profiler failed with exit code 1 (Error)"
    assert time.waits == []
    assert json.loads(server.calls[1].request.body or "")["data"] == {
        "profiler_status": "failed",
        "profiler_error": "the profiler failed with exit code 1 (Error)",
    }


def test_phase_of_a_running_profiler_is_relayed_when_it_changes(
    server: responses.RequestsMock, copier: OutputCopier
) -> None:
    (copier.folder / "profiler_status.yaml").write_text("status: running\nphase: Initializing\nmessage: loading\n")
    for state in (RUNNING, RUNNING, SUCCEEDED):
        server.get(POD, json=pod(state))
    server.patch(CONFIG_MAP, json={"kind": "ConfigMap"}, status=201)
    with pytest.raises(CopyFailed, match="says 'running'"):
        copier.run()
    sent = [json.loads(call.request.body or "")["data"] for call in server.calls if call.request.method == "PATCH"]
    assert sent[0] == {"phase": "Initializing", "message": "loading"}
    assert [data.get("profiler_status") for data in sent] == [None, "failed"]


def test_phase_that_cannot_be_written_ends_nothing(
    server: responses.RequestsMock, copier: OutputCopier, said: list[str]
) -> None:
    (copier.folder / "profiler_status.yaml").write_text("status: success\nphase: Done\n")
    for state in (RUNNING, SUCCEEDED):
        server.get(POD, json=pod(state))
    server.patch(CONFIG_MAP, json={"kind": "Status"}, status=422)
    server.patch(CONFIG_MAP, json={"kind": "ConfigMap"}, status=201)
    copier.run()
    assert "could not apply ConfigMap dgdr-output-qwen" in "\n".join(said)


def test_profiler_that_never_ends_is_given_up_at_the_deadline(
    server: responses.RequestsMock, copier: OutputCopier, time: Time
) -> None:
    server.get(POD, json=pod({"waiting": {"reason": "ImagePullBackOff"}}))
    assert failure(copier) == "gave up after 1000 s: the profiler is not started (ImagePullBackOff)"
    assert time.now == 1000


def test_pod_that_is_gone_ends_the_wait(server: responses.RequestsMock, copier: OutputCopier) -> None:
    server.get(POD, status=404, json={"message": 'pods "p" not found'})
    assert failure(copier) == "pod p was deleted before its profiler ended"


PASSING: list[dict[str, Any]] = [
    {"body": requests.ConnectionError("connection refused")},
    {"body": requests.Timeout("timed out")},
    {"status": 409, "json": {"message": "the object has been modified"}},
    {"status": 429, "json": {"message": "slow down"}},
    {"status": 500, "body": "<html>"},
    {"status": 503},
]


@pytest.mark.parametrize("answer", PASSING, ids=[str(answer.get("status") or answer["body"]) for answer in PASSING])
def test_what_passes_is_tried_again(
    server: responses.RequestsMock, copier: OutputCopier, time: Time, answer: dict[str, Any]
) -> None:
    server.get(POD, **answer)
    server.get(POD, json=pod(SUCCEEDED))
    server.patch(CONFIG_MAP, **answer)
    server.patch(CONFIG_MAP, json={})
    copier.run()
    assert time.waits == [1, 1]


@pytest.mark.parametrize("status", [400, 404, 405, 413, 415, 422])
def test_refusal_that_will_stay_one_is_told_at_once(
    server: responses.RequestsMock, copier: OutputCopier, time: Time, status: int
) -> None:
    server.get(POD, json=pod(SUCCEEDED))
    server.patch(CONFIG_MAP, status=status, json={"message": "never"})
    assert failure(copier) == f"could not apply ConfigMap dgdr-output-qwen: PATCH {APPLY}: {status} never"
    assert time.waits == []


@pytest.mark.parametrize("status", [401, 403])
def test_right_that_is_on_its_way_is_waited_for(
    server: responses.RequestsMock, copier: OutputCopier, said: list[str], status: int
) -> None:
    server.get(POD, status=status, json=DENIED)
    server.get(POD, json=pod(SUCCEEDED))
    server.patch(CONFIG_MAP, json={})
    copier.run()
    assert said[0] == f'could not read pod p, trying again: GET {READ}: {status} pods "p" is forbidden'


def test_right_that_never_comes_is_given_up_long_before_the_deadline(
    server: responses.RequestsMock, copier: OutputCopier, time: Time
) -> None:
    server.get(POD, status=403, json=DENIED)
    assert failure(copier) == f'could not read pod p: GET {READ}: 403 pods "p" is forbidden'
    assert 300 <= time.now < 340


def test_back_off_grows_to_half_a_minute_and_ends_with_the_deadline(
    server: responses.RequestsMock, copier: OutputCopier, time: Time
) -> None:
    server.get(POD, json=pod(SUCCEEDED))
    server.patch(CONFIG_MAP, body=requests.ConnectionError("refused"))
    assert failure(copier) == f"could not apply ConfigMap dgdr-output-qwen before the deadline: PATCH {APPLY}: refused"
    assert time.waits[:7] == [1, 2, 4, 8, 16, 30, 30]
    assert time.now == 1000


def test_token_is_read_again_for_every_call(
    server: responses.RequestsMock, copier: OutputCopier, tmp_path: Path
) -> None:
    def renew(_request: Any) -> tuple[int, dict[str, str], str]:
        (tmp_path / "token").write_text("renewed")
        return 200, {}, json.dumps(pod(SUCCEEDED))

    server.add_callback(responses.GET, POD, callback=renew)
    server.patch(CONFIG_MAP, json={})
    copier.run()
    assert [call.request.headers["Authorization"] for call in server.calls] == ["Bearer secret", "Bearer renewed"]


def test_redirection_is_not_followed(server: responses.RequestsMock, copier: OutputCopier) -> None:
    server.get(POD, status=302, headers={"Location": "https://127.0.0.1/elsewhere"})
    assert failure(copier) == f"could not read pod p: GET {READ}: 302 Found"


# Files


def test_only_the_profilers_files_are_read(tmp_path: Path) -> None:
    (tmp_path / GRAPH).write_text("a: 1")
    (tmp_path / "profiler_status.yaml").write_text("status: success")
    (tmp_path / "other.yaml").write_text("b: 2")
    os.utime(tmp_path / GRAPH, (0, 0))
    found = read_files(tmp_path)
    assert {name: file.content for name, file in found.items()} == {
        GRAPH: b"a: 1",
        "profiler_status.yaml": b"status: success",
    }
    assert found[GRAPH].modified.isoformat() == "1970-01-01T00:00:00+00:00"


def test_of_a_large_file_only_the_beginning_is_read(tmp_path: Path) -> None:
    with (tmp_path / GRAPH).open("wb") as file:
        file.truncate(2**32)
    found = read_files(tmp_path)[GRAPH]
    assert (found.size, len(found.content)) == (2**32, 2**20 + 1)


def test_folder_that_was_not_made_has_no_files(tmp_path: Path) -> None:
    assert read_files(tmp_path / "run-1") == {}


def make_directory(path: Path) -> None:
    path.mkdir()


def make_link(path: Path) -> None:
    path.with_name("elsewhere").write_text("the account's token")
    path.symlink_to("elsewhere")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize("make", [make_directory, make_link, os.mkfifo, make_socket])
def test_what_is_no_regular_file_is_not_read_and_not_waited_for(
    make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    make(Path(GRAPH))
    with pytest.raises(CopyFailed, match=f"{GRAPH} cannot be read: it is no regular file, or a link leads to it"):
        read_files(tmp_path)


def test_file_below_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "account").mkdir()
    (tmp_path / "account" / GRAPH).write_text("the account's token")
    (tmp_path / "run-1").symlink_to("account")
    with pytest.raises(CopyFailed, match="or a link leads to it"):
        read_files(tmp_path / "run-1")


def test_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / GRAPH).write_text("a: 1")

    def refuse(*_arguments: object, **_named: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CopyFailed, match=f"{GRAPH} cannot be read: Permission denied"):
        read_files(tmp_path)
