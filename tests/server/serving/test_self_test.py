"""`dynamo-hooks self-test` against servers as processes, as `helm test` runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from tests.ports import free_port
from tests.server.serving.servers import HOOKS, Running, running, running_admission


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text("a-token-of-some-length\n")
    return file


@pytest.fixture(scope="module")
def hooks(token_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("hooks"), *HOOKS, "--workers=1", f"--token-file={token_file}") as server:
        yield server


@pytest.fixture(scope="module")
def admission(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_admission(tmp_path_factory.mktemp("admission"), "--workers=1") as server:
        yield server


def run(hooks_port: int, *options: str) -> Result:
    return CliRunner().invoke(main, ["self-test", "--url", f"http://127.0.0.1:{hooks_port}/", *options])


def test_good_installation_passes_every_check(
    hooks: Running, admission: Running, token_file: Path, tmp_path: Path
) -> None:
    authorities = tmp_path / "ca.crt"
    authorities.write_text(admission.trusted)
    of_admission = (f"--admission-url=https://127.0.0.1:{admission.port}", f"--ca-file={authorities}")
    result = run(hooks.port, f"--token-file={token_file}", *of_admission)
    assert result.output.splitlines() == [
        "ok: the hooks are ready",
        "ok: the hooks answer a call about a graph",
        "ok: the hooks refuse a caller without the token",
        "ok: admission is ready, with a trusted certificate",
        "ok: admission allows a valid graph",
        "ok: a graph is converted to v1beta1",
    ]
    assert result.exit_code == 0


def test_wrong_token_is_said(hooks: Running, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("another")
    result = run(hooks.port, f"--token-file={tmp_path / 'token'}")
    assert result.exit_code == 1
    assert "failed: the hooks answer a call about a graph: answered 401: the bearer token is not" in result.output


def test_certificate_that_nobody_trusts_is_said(hooks: Running, admission: Running, token_file: Path) -> None:
    result = run(hooks.port, f"--token-file={token_file}", f"--admission-url=https://127.0.0.1:{admission.port}")
    assert result.exit_code == 1
    (line,) = (line for line in result.output.splitlines() if line.startswith("failed: admission is ready"))
    assert "certificate verify failed" in line


def test_hooks_that_do_not_answer_are_said() -> None:
    result = run(free_port())
    assert result.exit_code == 1
    assert [line.partition(": ")[0] for line in result.output.splitlines()] == ["failed", "failed"]
