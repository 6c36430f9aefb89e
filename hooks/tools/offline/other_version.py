"""Another version of the hooks, in an environment of its own: for commands that compare two versions."""

import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*([a-z.+-][0-9a-z.+-]*)?")
_SECONDS = 600


class NotInstalled(Exception):
    """The other version cannot be installed or started; the message is a sentence."""


def read_requirement(text: str) -> str:
    """What pip is to install: a wheel or a folder as it is, a version as `dynamo-hooks==VERSION`.

    Raises:
        NotInstalled: it is none of them.
    """
    path = Path(text)
    if path.is_file() or (path / "pyproject.toml").is_file():
        return str(path.resolve())
    if _VERSION.fullmatch(text):
        return f"dynamo-hooks=={text}"
    raise NotInstalled(f"{text} is no version, no wheel and no folder with a pyproject.toml")


@contextmanager
def installed(requirement: str) -> Iterator[Path]:
    """The interpreter of a new environment with the requirement, which is removed after use.

    Raises:
        NotInstalled: pip cannot install it.
    """
    with tempfile.TemporaryDirectory(prefix="dynamo-hooks-") as folder:
        click.echo(f"installing {requirement} into an environment that is removed afterwards …", err=True)
        venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
        python = Path(folder) / "bin" / "python"
        # Without pip's word on its own newer version, which would be the last line of an error.
        pip = (str(python), "-I", "-m", "pip", "--disable-pip-version-check")
        done = _run([*pip, "install", "--quiet", requirement], capture=True)
        if done.returncode:
            said = done.stderr.strip().splitlines()
            raise NotInstalled(f"{requirement} cannot be installed: {said[-1] if said else 'pip does not say why'}")
        yield python


def run_command(python: Path, arguments: Sequence[str]) -> int:
    """Run a command of the version in that interpreter's environment; returns its exit status.

    Raises:
        NotInstalled: there is no such interpreter, or no hooks in its environment.
    """
    try:
        done = _run([str(python), "-I", "-m", "hooks", *arguments], capture=False)
    except OSError as error:
        raise NotInstalled(f"{python} cannot be started: {error.strerror}") from error
    return done.returncode


def _run(command: Sequence[str], *, capture: bool) -> subprocess.CompletedProcess[str]:
    sys.stdout.flush()
    try:
        return subprocess.run(command, check=False, text=True, capture_output=capture, timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{command[0]} took more than {_SECONDS} seconds") from error
