"""`python -m tests.checks NAME…`: the checks of `make lint`, `make types`, `make tests` and, all three, `make test`.

Each runs though one before it failed, and the end names those that did.
"""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from tests import run

_BIN = Path(sys.executable).parent

LATE_WORKERS = ("Failed to establish connection with worker", "INTERNAL ERROR")
"""What mypy says where its workers did not start within three seconds, on a busy machine; it then checks nothing."""


def main(names: Sequence[str], checks: Mapping[str, Callable[[], bool]]) -> int:
    """Run the checks; the exit code is 1 if any of them failed."""
    failed = [name for name in names if not checks[name]()]
    if failed:
        click.echo(f"FAILED: {', '.join(failed)}")
    return int(bool(failed))


def check_lint() -> bool:
    """Whether everything is formatted and ruff finds nothing."""
    codes = [
        subprocess.run([_BIN / "ruff", *words], check=False).returncode for words in (("format", "--check"), ("check",))
    ]
    return not any(codes)


def check_types(mypy: Path = _BIN / "mypy") -> bool:
    """Whether mypy finds nothing; where its workers were late it runs again without any, which takes longer."""
    first = subprocess.run([mypy], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    click.echo(first.stdout, nl=False)
    if not first.returncode or not any(text in first.stdout for text in LATE_WORKERS):
        return not first.returncode
    click.echo("mypy's workers did not start in time: it runs again without them")
    return not subprocess.run([mypy, "--num-workers", "0"], check=False).returncode


def check_tests() -> bool:
    """Whether all tests pass that this machine can run."""
    return not run.main([])


CHECKS = {"lint": check_lint, "types": check_types, "tests": check_tests}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], CHECKS))
