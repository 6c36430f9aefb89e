"""The tools that build directories: the real ones where they are found, and programs that play them."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.binaries import BIN

Play = Callable[[str, str], None]


def find_real(name: str) -> Path | None:
    """`helm` or `kubectl`: as the cluster tests built it, otherwise on PATH; None if there is none."""
    built = BIN / name
    found = str(built) if built.is_file() else shutil.which(name)
    return Path(found) if found else None


def use_real(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only this tool be on PATH; without it the test is skipped."""
    found = find_real(name)
    if found is None:
        pytest.skip(f"{name} is not here to build what it builds")
    (folder / "bin").mkdir()
    (folder / "bin" / name).symlink_to(found.resolve())
    monkeypatch.setenv("PATH", str(folder / "bin"))


def play(name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a Python program of this name on a PATH that has nothing else of the kind."""
    bin_ = folder / "bin"
    bin_.mkdir(parents=True, exist_ok=True)
    program = bin_ / name
    program.write_text(f"#!{sys.executable}\nimport sys\n{code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_))


def without_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH without any tool."""
    (folder / "empty").mkdir()
    monkeypatch.setenv("PATH", f"{folder / 'empty'}{os.pathsep}")
