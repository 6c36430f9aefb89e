"""The real downloaders of two releases say of each source what the table has, where their wheels can be installed.

The older one is tried where all is (`tests.effort`).
"""

import ast
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import effort
from tests.model.prober.downloader_texts import EARLY, LATE, SAID, SaidOfSource
from tests.model.runtime.played_sources import serve
from tests.waiting import PATIENCE

DOWNLOAD = Path(__file__).with_name("download.py")
PACKAGE = "ai-dynamo-runtime"


def _run(*command: str) -> str:
    """What went wrong; empty if the command succeeded."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "no end within 300 s"
    return "" if done.returncode == 0 else (done.stderr.strip() or "no word").splitlines()[-1]


def _install(release: str, home: Path) -> Path:
    """The Python of an environment with the release's runtime; made once, and kept for the next run of the tests."""
    python = home / "bin" / "python"
    if (home / "installed").exists():
        return python
    options = ("--quiet", "--disable-pip-version-check", "--retries", "1", "--only-binary", ":all:")
    problem = _run(sys.executable, "-m", "venv", "--clear", str(home)) or _run(
        str(python), "-m", "pip", "install", *options, f"{PACKAGE}=={release}"
    )
    if problem:
        pytest.skip(f"{PACKAGE} {release} cannot be installed here: {problem}")
    (home / "installed").touch()
    return python


@pytest.fixture(scope="module", params=[EARLY, LATE] if effort.FULL else [LATE])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def downloader(release: str, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = getattr(pytestconfig, "cache", None)
    kept = cache.mkdir("dynamo-runtime") if cache else tmp_path_factory.mktemp("runtime")
    return _install(release, kept / release)


def ask(python: Path, uri: str, environment: Mapping[str, str], home: Path) -> str:
    """What the downloader says, with an environment of its own."""
    homes = {"HOME": str(home), "HF_HOME": str(home / "hub"), "DYN_LORA_PATH": str(home / "loras"), "DYN_LOG": "off"}
    done = subprocess.run(
        [str(python), str(DOWNLOAD), uri],
        env={**environment, **homes},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("said: ")]
    assert said, done.stderr
    return str(ast.literal_eval(said[-1].removeprefix("said: ")))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("case", SAID, ids=lambda case: case.id)
def test_downloader_says_what_the_table_has(case: SaidOfSource, release: str, downloader: Path, tmp_path: Path) -> None:
    with serve(case.served) as environment:
        said = ask(downloader, case.uri, environment, tmp_path)
    said = re.sub(r"in [0-9.]+(?:ns|µs|ms|s)", "in {seconds}", said.replace(environment["AWS_ENDPOINT"], "{endpoint}"))
    assert said == case.said(release)
