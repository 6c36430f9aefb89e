"""What the image is made of, and whether the wheel runs on each Python that it is for."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from shutil import which

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests import effort
from tests.serving.servers import SYNC, Running, running

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
TRIED = ("3.11", "3.12", "3.13")
"""Versions of Python that the project says it runs on."""
MINUTES = 5 * 60


def read_lock(name: str) -> Mapping[str, tuple[str, int]]:
    """Version and number of hashes of each locked package."""
    lock = (ROOT / "requirements" / name).read_text()
    entries = re.findall(r"^([\w.-]+)==(\S+)(.*?)(?=^[\w.-]+==|\Z)", lock, re.DOTALL | re.MULTILINE)
    return {canonicalize_name(found): (version, rest.count("--hash=sha256:")) for found, version, rest in entries}


@pytest.mark.parametrize("name", ["image.txt", "build.txt"])
def test_every_locked_package_has_hashes(name: str) -> None:
    locked = read_lock(name)
    assert locked
    assert [package for package, (_, hashes) in locked.items() if not hashes] == []


def test_lock_has_every_dependency_in_a_version_that_fits() -> None:
    locked = read_lock("image.txt")
    for text in PROJECT["dependencies"]:
        wanted = Requirement(text)
        version, _ = locked[canonicalize_name(wanted.name)]
        assert version in wanted.specifier, f"{text}, but {version} is locked: make lock"


def test_base_is_pinned_by_digest_and_one_that_was_tried() -> None:
    [base] = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)
    found = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert found, base
    assert found[1] in TRIED
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert f"--python-version {found[1]} " in (ROOT / "Makefile").read_text()


def test_project_says_which_pythons_were_tried() -> None:
    wanted = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(30) if f"3.{minor}.0" in wanted] == list(TRIED)
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    assert named == list(TRIED)


def find_python(version: str) -> str | None:
    """An interpreter of this version: the one that runs, one on PATH, or one of pyenv's."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(root.glob(f"versions/{version}.*/bin/python3"))
    return str(installed[-1]) if installed else which(f"python{version}")


def run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=MINUTES, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir")
    run(sys.executable, "-m", "pip", "wheel", *options, folder, ROOT)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(params=TRIED)
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path: Path) -> Path:
    """The interpreter of a new environment that has the wheel and nothing else, with the image's lock where it fits."""
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here: the wheel is not tried on it")
    if not effort.IN_CI:
        pytest.skip("the wheel is installed on all Pythons in CI only (CI=true)")
    run(python, "-m", "venv", tmp_path / "environment")
    inside = tmp_path / "environment" / "bin" / "python"
    if f"python:{request.param}-" in DOCKERFILE:
        lock = ("--require-hashes", "--only-binary", ":all:", "--requirement", ROOT / "requirements" / "image.txt")
        run(inside, "-m", "pip", "install", "--quiet", *lock)
    run(inside, "-m", "pip", "install", "--quiet", wheel)
    run(inside, "-m", "pip", "check")
    return inside


def test_wheel_runs_both_processes_from_a_clean_environment(installed: Path, tmp_path: Path) -> None:
    command = installed.with_name("dynamo-hooks")
    clean = {"PYTHONPATH": "", "PATH": os.defpath, "PYTHONSAFEPATH": "1"}
    hooks = running(tmp_path, "serve", "--bind", "127.0.0.1:0", program=command, **clean)
    prober = running(tmp_path, "prober", "--bind", "127.0.0.1:0", program=command, **clean)
    with hooks as server, prober as sidecar:
        assert_is_ready(server)
        assert_is_ready(sidecar)
        status, answer = server.post(SYNC)
        assert (status, b'"children":[{' in answer) == (200, True)


def assert_is_ready(server: Running) -> None:
    assert server.get("/readyz")[0] == 200
    assert server.get("/metrics")[0] == 200
