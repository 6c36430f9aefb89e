"""Every command but the servers and `simulate` works with what Python has on macOS and on Windows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.server.commands.main import LazyGroup

ROOT = Path(__file__).parents[3]
EXAMPLE = "examples/vllm-agg.yaml"
ADDRESS = ("--server", "https://127.0.0.1:1", "--token-file", "token", "--ca-file", "ca.crt")
SYSTEMS = ("darwin", "win32")
SAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "validate": ((EXAMPLE,), "1 manifest valid"),
    "render": ((EXAMPLE,), "kind: Deployment"),
    "diff": ((EXAMPLE, "examples/vllm-disagg.yaml"), "No pod restarts."),
    "explain": ((EXAMPLE, "spec.services"), "Deployment/vllm-agg-frontend"),
    "graph": ((EXAMPLE,), "flowchart"),
    "convert": (("--to", "v1beta1", EXAMPLE), "apiVersion: nvidia.com/v1beta1"),
    "crds": ((), "kind: CustomResourceDefinition"),
    "schema": (("DynamoModel",), "modelName"),
    "controllers": ((), "kind: CompositeController"),
    "doctor": (ADDRESS, "does not answer: Connection refused"),
    "upgrade-plan": (ADDRESS, "does not answer: Connection refused"),
    "migrate": (("--all-namespaces", *ADDRESS), "does not answer: Connection refused"),
    "prepare-uninstall": (ADDRESS, "127.0.0.1"),
    "self-test": (("--url", "http://127.0.0.1:1"), "failed: the hooks are ready"),
    "certificates": ((), "Missing option"),
    "enforce-admission": ((), "Usage"),
    "mpi-key": ((), "Missing option"),
    "copy-output": ((), "Missing option"),
}
"""Arguments of each command, and a part of what it prints on these systems as on Linux."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "token").write_text("secret")
    (tmp_path / "ca.crt").write_text("")
    return tmp_path


def run(system: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    command = [sys.executable, "-m", "tests.tools.cli.fewer_systems", system, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_each_command_is_tried_or_refused() -> None:
    assert set(SAYS) | LazyGroup.only_unix == set(LazyGroup.modules)
    assert set(SAYS).isdisjoint(LazyGroup.only_unix)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("command", SAYS)
def test_command_does_what_it_does_on_linux(command: str, system: str, folder: Path) -> None:
    words, said = SAYS[command]
    done = run(system, folder, command, *words)
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", sorted(LazyGroup.only_unix))
def test_server_is_refused_on_windows_in_one_sentence(command: str, folder: Path) -> None:
    done = run("win32", folder, command, *((EXAMPLE,) if command == "simulate" else ()))
    assert done.returncode != 0
    assert done.stderr.startswith(f"Error: {command} needs Linux: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("system", SYSTEMS)
def test_unit_tests_of_users_run(system: str, folder: Path) -> None:
    code = "from hooks.testing import Dynamo; import tests.make as m; print(Dynamo().sync(m.graph()).status['state'])"
    done = run(system, folder, "-", code)
    assert done.stdout == "pending\n", done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_device_is_refused_as_on_linux(system: str, folder: Path) -> None:
    done = run(system, folder, "validate", os.devnull)
    assert "it is a device" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
