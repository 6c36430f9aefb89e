"""The real engine's tests where its package is not installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).with_name("test_real_engines.py")

HIDDEN = """
import sys, pytest
sys.modules["dynamo"] = None
sys.exit(pytest.main(["-p", "no:cacheprovider", "-k", "distinguished", sys.argv[1]]))
"""


@pytest.mark.parametrize(
    ("ci", "code", "said"), [("true", 1, "1 error"), ("", 0, "1 skipped")], ids=["CI", "elsewhere"]
)
def test_missing_engine_fails_in_ci_and_is_skipped_elsewhere(ci: str, code: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, str(TESTS)],
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout
