"""Recorded calls are answered by another version, in an environment of its own."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from click.testing import CliRunner

import hooks
from hooks.server.commands.main import main
from hooks.tools.offline.other_version import NotInstalled, installed, read_requirement
from tests import make
from tests.server.recording.test_recording import component, serve

SOURCES = Path(hooks.__file__).parent


@pytest.fixture(scope="module")
def other_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with a version that gives every main container another port."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(SOURCES, folder / "sources" / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
    (contract,) = folder.glob("sources/hooks/ground/contract.py")
    contract.write_text(
        contract.read_text().replace("HTTP_PORT, HTTP_PORT_NAME = 8000,", "HTTP_PORT, HTTP_PORT_NAME = 8001,")
    )
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder / "venv")
    packages = next((folder / "venv").glob("lib/*/site-packages"))
    (packages / "a.pth").write_text(f"{folder / 'sources'}\n{sysconfig.get_path('purelib')}\n")
    return folder / "venv" / "bin" / "python"


def replay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hooks", "replay", *map(str, arguments)]
    return subprocess.run(command, check=False, text=True, capture_output=True)


def test_other_version_of_an_environment_answers(tmp_path: Path, other_python: Path) -> None:
    serve(tmp_path).post("/component/sync", json=make.wire_request(component()))
    found = replay(tmp_path, "--python", other_python, "--exit-code")
    assert (found.returncode, found.stderr) == (1, "")
    assert "8001" in found.stdout
    assert replay(tmp_path, "--exit-code").returncode == 0


def test_environment_without_hooks_is_said(tmp_path: Path) -> None:
    venv.EnvBuilder(with_pip=False, symlinks=True).create(tmp_path / "venv")
    found = replay(tmp_path, "--python", tmp_path / "venv" / "bin" / "python")
    assert found.returncode == 1
    assert "No module named hooks" in found.stderr


@pytest.mark.parametrize(("text", "wanted"), [("1.2.0", "dynamo-hooks==1.2.0"), ("1.3.0rc1", "dynamo-hooks==1.3.0rc1")])
def test_version_is_what_pip_calls_it(text: str, wanted: str) -> None:
    assert read_requirement(text) == wanted


def test_checkout_and_wheel_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    wheel = tmp_path / "a.whl"
    wheel.touch()
    assert (read_requirement(str(tmp_path)), read_requirement(str(wheel))) == (str(tmp_path), str(wheel))


@pytest.mark.parametrize("text", ["", "main", "../nowhere", "-r"])
def test_anything_else_is_refused_with_a_sentence(tmp_path: Path, text: str) -> None:
    found = CliRunner().invoke(main, ["replay", str(tmp_path), f"--against={text or ' '}"])
    assert found.exit_code == 1
    assert "is no version, no wheel and no folder with a pyproject.toml" in found.output


def test_two_versions_are_refused(tmp_path: Path) -> None:
    found = CliRunner().invoke(main, ["replay", str(tmp_path), "--against=1.0", f"--python={sys.executable}"])
    assert (found.exit_code, "give one of them" in found.output) == (2, True)


def test_what_pip_refuses_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.whl"
    broken.write_text("no wheel")
    monkeypatch.delenv("PIP_DISABLE_PIP_VERSION_CHECK", raising=False)
    with pytest.raises(NotInstalled, match=r"broken\.whl cannot be installed: ERROR: "), installed(str(broken)):
        pass
