"""The unit tests of docs/unit-tests.md, run as a user runs them: by pytest, with the wheel installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[4]

PAGE = (ROOT / "docs/unit-tests.md").read_text()


def snippet() -> str:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    return str(code)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip installed the wheel that it built, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def run(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_snippet_of_the_page_passes_with_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_graph.py").write_text(snippet())
    where = run(installed, tmp_path, "-c", "import hooks; print(hooks.__file__)")
    assert where.stdout.startswith(str(installed)), where.stderr
    done = run(installed, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_graph.py")
    assert done.returncode == 0, done.stdout
    [(command, said)] = re.findall(r"run `pytest (\S+)`: (\d+) tests pass", PAGE)
    assert (command, f"{said} passed" in done.stdout) == ("test_graph.py", True), done.stdout


def test_installed_package_needs_no_pytest(installed: Path, tmp_path: Path) -> None:
    modules = "hooks.testing, hooks.server.commands.main, hooks.server.app"
    code = f"import sys; sys.modules['pytest'] = None; import {modules}; print('fine')"
    done = run(installed, tmp_path, "-c", code)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_runs_of_pytest_that_do_not_use_the_fixture_load_no_hook(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_other():\n    assert 'flask' not in sys.modules\n"
    )
    done = run(installed, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_other.py")
    assert done.returncode == 0, done.stdout
