"""The manifest for krew, the archive that a release gets, and the program in it."""

import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
KREW = ROOT / ".github/krew"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
PLAYED_PYTHON = f"""\
#!{sys.executable}
import pathlib, sys
words = sys.argv[1:]
if words[:2] == ["-m", "venv"]:
    program = pathlib.Path(words[2]) / "bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(pathlib.Path(__file__).read_text())
    program.chmod(0o755)
elif words[0] == "-c" and "main()" not in words[1]:
    sys.exit("OLD" in pathlib.Path(__file__).name)
else:
    print(*words)
"""


def read_manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def test_manifest_has_the_version_of_the_package_and_what_krew_requires() -> None:
    manifest = read_manifest(KREW / "dynamo.yaml")
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    spec = manifest["spec"]
    assert spec["version"] == f"v{VERSION}"
    assert 0 < len(spec["shortDescription"]) <= 50
    assert not spec["shortDescription"].endswith(".")
    for platform in spec["platforms"]:
        assert platform["uri"].endswith(f"/releases/download/v{VERSION}/kubectl-dynamo-{VERSION}.tar.gz")
        assert platform["bin"] == "kubectl-dynamo"
        assert len(platform["sha256"]) == 64


def test_archive_has_the_wheel_the_lock_and_the_program_and_the_manifest_its_digest(tmp_path: Path) -> None:
    (tmp_path / f"dynamo_hooks-{VERSION}-py3-none-any.whl").write_text("wheel")
    digests = []
    for _ in range(2):
        subprocess.run(
            [str(KREW / "build.sh"), str(tmp_path)], check=True, env={**os.environ, "GITHUB_REPOSITORY_OWNER": "me"}
        )
        archive = tmp_path / f"kubectl-dynamo-{VERSION}.tar.gz"
        digests.append(hashlib.sha256(archive.read_bytes()).hexdigest())
    assert digests[0] == digests[1]
    with tarfile.open(archive) as opened:
        members = {member.name.removeprefix("./"): member.mode for member in opened.getmembers()}
    wheel = f"dynamo_hooks-{VERSION}-py3-none-any.whl"
    assert set(members) - {".", ""} == {"LICENSE", "VERSION", "kubectl-dynamo", "package.txt", wheel}
    assert members["kubectl-dynamo"] & 0o111
    platform = read_manifest(tmp_path / "dynamo.yaml")["spec"]["platforms"][0]
    assert (platform["sha256"], "/me/dynamo-hooks/" in platform["uri"]) == (digests[0], True)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The program as krew unpacks it, linked from another folder."""
    folder = tmp_path / "store"
    folder.mkdir()
    for name, text in {"VERSION": "1.2.3\n", "package.txt": "", "dynamo_hooks-1.2.3-py3-none-any.whl": ""}.items():
        (folder / name).write_text(text)
    program = folder / "kubectl-dynamo"
    program.write_text((KREW / "kubectl-dynamo").read_text())
    program.chmod(0o755)
    (tmp_path / "kubectl-dynamo").symlink_to(program)
    return tmp_path / "kubectl-dynamo"


def run(plugin: Path, tmp_path: Path, python: str, *words: str) -> subprocess.CompletedProcess[str]:
    played = tmp_path / python
    played.write_text(PLAYED_PYTHON)
    played.chmod(0o755)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "KUBECTL_DYNAMO_PYTHON": str(played)}
    return subprocess.run([str(plugin), *words], capture_output=True, text=True, check=False, env=environment)


def test_first_call_installs_and_later_ones_do_not(plugin: Path, tmp_path: Path) -> None:
    first = run(plugin, tmp_path, "python", "status", "-A")
    assert first.returncode == 0, first.stderr
    call = "-c from hooks.tools.cli.kubectl.main import main; main() status -A\n"
    assert first.stdout == call
    assert "kubectl dynamo: installing version 1.2.3 into " in first.stderr
    assert "--require-hashes" in first.stderr
    assert [path.name for path in (tmp_path / "cache/kubectl-dynamo").iterdir()] == ["1.2.3"]
    again = run(plugin, tmp_path, "python", "status", "-A")
    assert (again.stdout, again.stderr) == (call, "")


def test_old_python_is_refused_with_a_sentence(plugin: Path, tmp_path: Path) -> None:
    refused = run(plugin, tmp_path, "pythonOLD", "status")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        "kubectl dynamo needs Python 3.11 or later with venv; name one in KUBECTL_DYNAMO_PYTHON\n"
    )
