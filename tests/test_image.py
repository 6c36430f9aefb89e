"""What the image and CI are made of, and whether the wheel runs on each Python that it is for."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bench.server import image_environment
from tests import effort
from tests.server.serving.servers import SYNC, Running, running

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
TRIED = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that the project says it runs on."""
LOCKS: Mapping[str, tuple[str, ...]] = {
    "image.txt": (),
    "package.txt": (),
    "test.txt": ("test", "docs"),
    "release.txt": ("release",),
    "dynamo.txt": ("runtime", "planner"),
    "build.txt": (),
}
"""Each lock file, and the extras whose packages it has."""
GENERATED = ["**/__pycache__", "**/*.pyc"]
MINUTES = 5 * 60


@dataclass(frozen=True)
class Locked:
    """One line of a lock file: a package in a version, where its marker holds."""

    package: str
    version: str
    marker: Marker | None
    hashes: int

    def is_for(self, python: str) -> bool:
        """Whether pip installs it on Linux with this version of CPython."""
        names = {"python_version": python, "python_full_version": f"{python}.0", "implementation_name": "cpython"}
        names |= {"sys_platform": "linux", "platform_system": "Linux", "platform_python_implementation": "CPython"}
        return self.marker is None or self.marker.evaluate(names)


def read_lock(name: str) -> Iterator[Locked]:
    """What a lock file has; a package has several lines where its version depends on the Python."""
    lock = (ROOT / "requirements" / name).read_text()
    for entry in re.split(r"^(?=[\w.-]+==)", lock, flags=re.MULTILINE)[1:]:
        found = Requirement(entry.partition("\\")[0])
        [pin] = found.specifier
        yield Locked(canonicalize_name(found.name), pin.version, found.marker, entry.count("--hash=sha256:"))


def read_versions(name: str, python: str) -> Mapping[str, str]:
    """Version of each package that a lock file installs on Linux with this version of CPython."""
    found = [locked for locked in read_lock(name) if locked.is_for(python)]
    versions = {locked.package: locked.version for locked in found}
    assert len(versions) == len(found), f"{name} has two versions of a package for Python {python}"
    return versions


def test_every_lock_file_is_known() -> None:
    assert {path.name for path in (ROOT / "requirements").iterdir()} == set(LOCKS)


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_hashes(name: str) -> None:
    locked = list(read_lock(name))
    assert locked
    assert [found.package for found in locked if not found.hashes] == []


@pytest.mark.parametrize("python", TRIED)
@pytest.mark.parametrize("name", sorted(set(LOCKS) - {"build.txt"}))
def test_lock_has_every_dependency_in_a_version_that_fits(name: str, python: str) -> None:
    locked = read_versions(name, python)
    extras = [PROJECT["optional-dependencies"][extra] for extra in LOCKS[name]]
    for text in [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]:
        wanted = Requirement(text)
        version = locked[canonicalize_name(wanted.name)]
        assert version in wanted.specifier, f"{text}, but {version} is locked: make lock"


def test_lock_has_what_builds_the_project() -> None:
    locked = read_versions("build.txt", TRIED[0])
    for text in PYPROJECT["build-system"]["requires"]:
        assert locked[Requirement(text).name] in Requirement(text).specifier, f"{text}: make lock"


@pytest.mark.parametrize("python", TRIED)
def test_ci_and_the_action_install_the_versions_of_the_image(python: str) -> None:
    image, build = read_versions("image.txt", python), read_versions("build.txt", python)
    for name in LOCKS:
        locked = read_versions(name, python)
        for package, version in {**build, **image}.items():
            assert locked.get(package, version) == version, f"{name} and the image differ in {package}: make lock"


def test_ci_downloads_nothing_without_a_hash() -> None:
    printed = subprocess.run(
        ["make", "--dry-run", "--always-make", "CI=true", "test", "docs", "sbom", "schemas"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    commands = re.findall(r"-m pip (?:install|download|wheel)\b[^&|;\n]*", printed.replace("\\\n", " "))
    assert len(commands) > 4, printed
    for command in commands:
        locked = "--require-hashes --only-binary :all:" in command and "--requirement requirements/" in command
        assert locked or "--no-deps --no-index --no-build-isolation" in command, command


def test_base_is_pinned_by_digest_and_one_that_was_tried() -> None:
    [base] = re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)
    found = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert found, base
    assert found[1] in TRIED
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert f"IN_IMAGE := --python-version {found[1]} " in MAKEFILE


def test_docker_gets_exactly_what_the_dockerfile_copies() -> None:
    copied = [
        line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY ") and "--from=" not in line
    ]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[ignored.index("*") + 1 :] == [f"!{path}" for paths in copied for path in paths] + GENERATED


def test_lock_files_are_for_the_oldest_python_and_all_newer_ones() -> None:
    assert f"ANYWHERE := --universal --python-version {TRIED[0]}\n" in MAKEFILE


def test_project_says_which_pythons_were_tried_and_refuses_no_newer_one() -> None:
    assert PROJECT["requires-python"] == f">={TRIED[0]}"
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    assert named == list(TRIED)


def test_workflow_of_ci_runs_the_tests_on_each_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    tried = {*jobs["pythons"]["strategy"]["matrix"]["python"], *find_pythons(jobs["test"])}
    assert sorted(tried) == list(TRIED)


def find_pythons(job: Mapping[str, Any]) -> list[str]:
    return [step["with"]["python-version"] for step in job["steps"] if "python-version" in step.get("with", {})]


def test_make_says_in_one_sentence_that_python_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.10.13 && exit\nexit 1\n')
    old.chmod(0o755)
    command = ["make", "--no-print-directory", "demo", f"VENV={tmp_path}/.venv", f"PYTHON={old}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    sentence = (
        f"Python 3.11 or later is needed, but {old} is Python 3.10.13: name a newer one: make demo PYTHON=python3.13"
    )
    assert done.stdout.splitlines() == [sentence]
    assert not (tmp_path / ".venv").exists()


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
    """The interpreter of a new environment that has the wheel and what is locked for it, and nothing else."""
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"no Python {request.param} here: the wheel is not tried on it")
    if not effort.IN_CI:
        pytest.skip("the wheel is installed on all Pythons in CI only (CI=true)")
    run(python, "-m", "venv", tmp_path / "environment")
    inside = tmp_path / "environment" / "bin" / "python"
    lock = "image.txt" if f"python:{request.param}-" in DOCKERFILE else "package.txt"
    hashes = ("--require-hashes", "--only-binary", ":all:", "--requirement", ROOT / "requirements" / lock)
    run(inside, "-m", "pip", "install", "--quiet", *hashes)
    run(inside, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
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


FREED = """
import re
from pathlib import Path
from threading import Thread

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

def make_large_calls():
    for _ in range(3):
        bodies = [bytes(4 * 2**20) for _ in range(4)]
        pieces = [bytes(5000) for _ in range(3000)]
        del bodies, pieces

before = resident()
for _ in range(24):
    thread = Thread(target=make_large_calls)
    thread.start()
    thread.join()
print(resident() - before)
"""


def test_image_keeps_no_heap_for_each_thread() -> None:
    settings = image_environment().items() - os.environ.items()
    assert {name for name, _ in settings} == {"MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"}
    done = subprocess.run(
        [sys.executable, "-c", FREED], check=True, capture_output=True, text=True, env=image_environment()
    )
    assert int(done.stdout) < 16
