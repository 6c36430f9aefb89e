"""A run tries a few failures of a whole run again, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.run import CACHE, MOST_AGAIN, may_try_again, read_failed

FAILED = [f"tests/test_one.py::test_{number}" for number in range(MOST_AGAIN)]


@pytest.mark.parametrize(
    ("code", "failed", "may"),
    [
        (1, FAILED[:1], True),
        (1, FAILED, True),
        (1, [*FAILED, "tests/test_one.py::test_last"], False),
        (1, [], False),  # an error that no test stands for
        (0, [], False),
        (2, FAILED[:1], False),  # interrupted: not all ran
        (3, FAILED[:1], False),  # pytest itself failed
    ],
)
def test_only_a_few_failures_of_a_whole_run_are_tried_again(code: int, failed: list[str], may: bool) -> None:
    assert may_try_again(code, failed) is may


def test_failures_are_read_where_pytest_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_one.py").write_text("def test_bad(): assert False\ndef test_good(): pass\n")
    command = [sys.executable, "-m", "pytest", f"--rootdir={tmp_path}", str(tmp_path)]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    assert read_failed(tmp_path / CACHE) == ["test_one.py::test_bad"]


def test_no_failure_leaves_nothing_to_read(tmp_path: Path) -> None:
    assert read_failed(tmp_path / "lastfailed") == []
