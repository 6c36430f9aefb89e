"""`python -m tests.run [PATH…]`: the tests of `make test` and `make alone`; in CI what fails is tried again, alone.

A test that failed beside others and passes alone has found a race, in itself or in the product. It does not stop a
release of work that has nothing to do with it, but the run says its name at the end: it is to be mended. More than a
few failures are no races, and nothing is tried again.
"""

import json
import subprocess
import sys
from pathlib import Path

import click

from tests import effort

MOST_AGAIN = 3
"""Tests that are tried a second time."""

CACHE = Path(".pytest_cache/v/cache/lastfailed")
"""Where pytest keeps the tests that failed, below the root of the run."""

_TESTS_FAILED = 1
"""pytest's exit code where all tests ran and some failed; others mean that not all ran."""

_PYTEST = (sys.executable, "-m", "pytest", "--cluster")


def main(paths: list[str]) -> int:
    """Run the tests at the paths, or all; the exit code is pytest's."""
    cache = Path(__file__).parents[1] / CACHE
    cache.unlink(missing_ok=True)
    code = subprocess.run([*_PYTEST, "-n", "auto", *paths], check=False).returncode
    code = _try_again(code, cache)
    click.echo(effort.describe())
    return code


def _try_again(code: int, cache: Path) -> int:
    """The exit code after another attempt at the tests that failed, where one is due."""
    failed = read_failed(cache)
    if not effort.IN_CI or not may_try_again(code, failed):
        return code
    click.echo(f"trying again, alone: {', '.join(failed)}")
    code = subprocess.run([*_PYTEST, "-n", "0", *failed], check=False).returncode
    if not code:
        click.echo(f"FAILED BESIDE OTHERS, PASSED ALONE, so there is a race to mend: {', '.join(failed)}")
    return code


def may_try_again(code: int, failed: list[str]) -> bool:
    """Whether the run was whole and so few tests failed that they may be races."""
    return code == _TESTS_FAILED and 0 < len(failed) <= MOST_AGAIN


def read_failed(cache: Path) -> list[str]:
    """The tests that failed in the last run, as pytest keeps them; empty where it kept none."""
    return sorted(json.loads(cache.read_text())) if cache.is_file() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
