"""Releases of Dynamo from the package index, each in a virtual environment of its own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RELEASES = ("0.8.1.post3", "0.9.1", "1.0.2", "1.1.1", "1.2.1", "1.3.1", "1.4.2", "1.5.1", "1.6.1")
"""The newest wheels of each minor release."""

PACKAGES = ("ai-dynamo", "ai-dynamo-runtime")
IMPORTED = (
    *("aiohttp==3.14.5", "kubernetes==32.0.1", "msgspec==0.22.0", "numpy==2.4.6", "packaging==26.4"),
    *("prometheus-client==0.26.0", "pydantic==2.14.4", "pyyaml==6.0.4", "pyzmq==27.3.0", "transformers==5.24.0"),
    *("typing-extensions==4.16.0", "uvloop==0.23.0", "zstandard==0.25.0"),
)
"""What frontend and mocker import, as it was tried. The wheels ask for more, not all of which is on every index."""
QUIETLY = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")


class NotInstalled(Exception):
    """A release cannot be installed; the message is what the installer said last."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release, as its wheels are named, and where its programs are."""

    name: str
    programs: Path

    @property
    def tag(self) -> str:
        """The tag of upstream's images: three numbers."""
        return tag_of(self.name)


def tag_of(name: str) -> str:
    """`0.8.1` of `0.8.1.post3`."""
    return ".".join(name.split(".")[:3])


def releases_folder() -> Path:
    """Where installed releases are kept between runs: $DYNAMO_RELEASES, else below the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("DYNAMO_RELEASES") or cache / "dynamo-hooks" / "releases").absolute()


def install(name: str, folder: Path) -> Release:
    """Install a release below the folder, unless it is there.

    Raises:
        NotInstalled: its wheels, or what they import, cannot be installed.
    """
    return install_into(folder / name, name, IMPORTED)


def install_into(home: Path, name: str, imported: Sequence[str]) -> Release:
    """Install a release into a folder, unless it is there, with what it imports.

    Raises:
        NotInstalled: its wheels, or what they import, cannot be installed.
    """
    release = Release(name, home / "bin")
    if not (home / "installed").exists():
        _run(sys.executable, "-m", "venv", "--clear", str(home))
        pip = (str(release.programs / "python3"), "-m", "pip", "install", *QUIETLY)
        _run(*pip, "--no-deps", *(f"{package}=={name}" for package in PACKAGES))
        _run(*pip, *imported)
        (home / "installed").touch()
    return release


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise NotInstalled(said or f"{' '.join(command[1:4])} ended with {done.returncode}")
