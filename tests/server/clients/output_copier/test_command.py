"""`copy-output` as the kubelet runs it: exit status and sentence."""

import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from tests.waiting import PATIENCE

OPTIONS = ("--config-map", "dgdr-output-qwen", "--request", "qwen", "--pod", "p", "--namespace", "ns")
NO_CLUSTER = {"KUBERNETES_SERVICE_HOST": None, "KUBERNETES_SERVICE_PORT": None}


def run(*arguments: str, env: Mapping[str, str | None] = NO_CLUSTER) -> Result:
    return CliRunner().invoke(main, ["copy-output", *arguments], env=env)


def test_outside_of_a_pod_it_fails_with_a_sentence() -> None:
    result = run(*OPTIONS)
    assert result.exit_code == 1
    assert result.stderr.startswith("KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or /var/run/secrets/")
    assert result.stderr.endswith("run this in a pod that mounts the token of its ServiceAccount\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing option '--config-map'"),
        (OPTIONS[:4], "Missing option '--pod'"),
        ((*OPTIONS, "--deadline", "0"), "Invalid value for '--deadline'"),
        ((*OPTIONS, "--required", "graph.yaml"), "Invalid value for '--required'"),
    ],
)
def test_wrong_usage_is_refused(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments, env={**NO_CLUSTER, "POD_NAME": None, "POD_NAMESPACE": None})
    assert result.exit_code == 2
    assert words in result.stderr


def test_pod_may_come_from_the_environment() -> None:
    result = run(*OPTIONS[:4], env={**NO_CLUSTER, "POD_NAME": "p", "POD_NAMESPACE": "ns"})
    assert result.exit_code == 1


def test_sigterm_ends_it_at_once(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    # What cannot be a bundle would be refused before anything is sent; an empty folder is one.
    (tmp_path / "ca.crt").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(silent.getsockname()[1])}
        command = [sys.executable, "-m", "hooks", "copy-output", *OPTIONS, "--account-folder", str(tmp_path)]
        with subprocess.Popen(
            command, env=environment, cwd=Path(__file__).parents[5], stderr=subprocess.PIPE
        ) as process:
            silent.settimeout(PATIENCE)
            connection, _ = silent.accept()
            with connection:
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=PATIENCE) == 143
