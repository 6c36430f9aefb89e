"""`make test`: a check that fails stops no other, and mypy runs again where its workers were late."""

from functools import partial
from pathlib import Path

import pytest

from tests.checks import CHECKS, LATE_WORKERS, check_types, main


@pytest.mark.parametrize(
    ("passing", "code", "end"),
    [
        ({"lint", "types", "tests"}, 0, ""),
        ({"tests"}, 1, "FAILED: lint, types\n"),
        ({"lint", "types"}, 1, "FAILED: tests\n"),
    ],
)
def test_every_check_runs_and_the_end_says_which_failed(
    passing: set[str], code: int, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def check(name: str) -> bool:
        ran.append(name)
        return name in passing

    assert main(list(CHECKS), {name: partial(check, name) for name in CHECKS}) == code
    assert ran == ["lint", "types", "tests"]
    assert capsys.readouterr().out == end


def make_mypy(folder: Path, said: str, code: int) -> Path:
    """A mypy that says so and ends so with workers; without them it finds nothing. It keeps how it was called."""
    made = folder / "mypy"
    made.write_text(f'#!/bin/sh\necho "called $*" >> {folder}/calls\n[ "$1" ] && exit 0\necho "{said}"\nexit {code}\n')
    made.chmod(0o755)
    return made


@pytest.mark.parametrize("said", LATE_WORKERS)
def test_mypy_runs_again_without_workers_that_were_late(said: str, tmp_path: Path) -> None:
    assert check_types(make_mypy(tmp_path, said, 2))
    assert (tmp_path / "calls").read_text() == "called \ncalled --num-workers 0\n"


@pytest.mark.parametrize(("said", "code"), [("hooks/server/app.py:1: error: a fault", 1), ("Success", 0)])
def test_mypy_that_checked_is_believed(said: str, code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check_types(make_mypy(tmp_path, said, code)) is (code == 0)
    assert (tmp_path / "calls").read_text() == "called \n"
    assert said in capfd.readouterr().out


def test_make_runs_the_checks_that_there_are() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for target, names in {"lint": "lint", "types": "types", "tests": "tests", "test": "lint types tests"}.items():
        recipe = makefile.partition(f"\n{target}: ")[2].partition("\n")[2].partition("\n")[0]
        assert recipe == f"\t$(BIN)/python -m tests.checks {names}"
