"""Releases of Dynamo from the package index, each in a virtual environment of its own."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RELEASES = ("0.8.1.post3", "0.9.1", "1.0.2", "1.1.1", "1.2.1", "1.3.1", "1.4.2", "1.5.1", "1.6.1")
"""The newest wheels of each minor release."""

PACKAGES = ("ai-dynamo", "ai-dynamo-runtime")
IMPORTED = (
    *("aiohttp", "kubernetes<33", "msgspec", "numpy", "packaging", "prometheus-client", "pydantic", "pyyaml"),
    *("pyzmq", "transformers", "typing-extensions", "uvloop", "zstandard"),
)
"""What frontend and mocker import. The wheels ask for more, not all of which is on every index."""


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


def install(name: str, folder: Path) -> Release:
    """Install a release below the folder, unless it is there.

    Raises:
        NotInstalled: its wheels, or what they import, cannot be installed.
    """
    home = folder / name
    release = Release(name, home / "bin")
    if not (home / "installed").exists():
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(home))
        into = ("pip", "install", "--quiet", "--python", str(release.programs / "python3"))
        _uv(*into, "--no-deps", *(f"{package}=={name}" for package in PACKAGES))
        _uv(*into, *IMPORTED)
        (home / "installed").touch()
    return release


def _uv(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "uv", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled(" ".join(done.stderr.split()) or f"uv ended with {done.returncode}")
