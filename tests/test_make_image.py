"""`make image` and `make push` take the first builder that works; `make image` by buildah makes an image that serves.

The base image is made by debootstrap, from the release of Debian that the Dockerfile's base has. No registry of images
is asked.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hooks import __version__
from tests import effort
from tests.server.serving.servers import SYNC, Running, running

ROOT = Path(__file__).parents[1]
BASE_IMAGE = re.search(r"^ARG BASE=python:([\d.]+)-slim-(\w+)@", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
assert BASE_IMAGE is not None
PYTHON, DEBIAN = BASE_IMAGE.groups()
USER = "65532"
MINUTES = 15 * 60


def make(target: str, *words: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL"}}
    command = [str(shutil.which("make")), "--no-print-directory", target, *words]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )


def place_program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with nothing but what make's recipes need, and the programs that a test puts into `tmp_path`."""
    for name in ("sh", "sed", "echo"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    return str(tmp_path)


def test_first_builder_that_works_builds_and_pushes(path: str, tmp_path: Path) -> None:
    place_program(tmp_path, "docker", "exit 1")  # its daemon does not run
    place_program(tmp_path, "podman", 'echo podman "$@"')
    place_program(tmp_path, "buildah", 'echo buildah "$@"')
    image = f"registry.example.com/ai/dynamo-hooks:{__version__}"
    for target, said in (("image", f"podman build --tag {image} ."), ("push", f"podman push {image}")):
        done = make(target, "REGISTRY=registry.example.com/ai", path=path)
        assert (done.returncode, done.stdout.splitlines()) == (0, [said]), done.stderr


def test_builder_image_tag_and_options_can_be_named(path: str, tmp_path: Path) -> None:
    place_program(tmp_path, "podman", "echo podman")
    place_program(tmp_path, "buildah", 'echo buildah "$@"')
    done = make("image", "BUILDER=buildah", "IMAGE=mine/hooks", "TAG=2", "BUILD_OPTIONS=--isolation chroot", path=path)
    assert done.stdout.splitlines() == ["buildah build --isolation chroot --tag mine/hooks:2 ."]


@pytest.mark.parametrize("target", ["image", "push"])
def test_make_says_which_builders_there_could_be(target: str, path: str) -> None:
    done = make(target, "REGISTRY=r", path=path)
    assert done.returncode != 0
    assert f"make {target} needs docker, podman or buildah, and none of them works here: install one" in done.stdout


def test_image_without_a_registry_is_not_pushed(path: str) -> None:
    done = make("push", path=path)
    assert done.returncode != 0
    sentence = "make push needs to know where to: make push REGISTRY=registry.example.com/ai"
    assert done.stdout.splitlines() == [sentence]


@pytest.mark.parametrize("target", ["deploy", "undeploy"])
def test_make_says_that_it_needs_helm_or_kubectl(target: str, path: str) -> None:
    done = make(target, path=path)
    assert done.returncode != 0
    assert done.stdout.splitlines() == [f"make {target} needs helm or kubectl, and neither is here"]


# The real image


@dataclass(frozen=True)
class Image:
    """An image in a storage of its own, and a container of it."""

    storage: tuple[str, ...]
    container: str

    def buildah(self, *words: str) -> str:
        return run("buildah", *self.storage, *words)

    def inside(self, *words: str) -> tuple[str, ...]:
        """Arguments of buildah that run words in the container, as the image's user, with the image's variables."""
        return ("run", "--isolation", "chroot", self.container, "--", *words)

    @contextmanager
    def serving(self, folder: Path, *words: str) -> Iterator[Running]:
        command = (*self.storage, *self.inside("dynamo-hooks", *words))
        with running(folder, *command, program=str(shutil.which("buildah"))) as server:
            yield server


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=MINUTES, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def find_hindrance() -> str:
    """Why no image can be built here; empty if one can."""
    if not effort.FULL:
        return "takes minutes; FULL=1 runs it"
    missing = [name for name in ("buildah", "debootstrap") if shutil.which(name) is None]
    if missing:
        return f"no {' and no '.join(missing)}: the image is not built (apt install buildah debootstrap)"
    return "" if os.geteuid() == 0 else "debootstrap needs root: the image is not built"


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    if hindrance := find_hindrance():
        pytest.skip(hindrance)
    with TemporaryDirectory(prefix="dynamo-hooks-image-") as name:
        folder = Path(name)
        storage = ("--root", name + "/storage", "--runroot", name + "/run", "--storage-driver", "vfs")
        try:
            make_base(folder, storage)
            yield build(folder, storage)
        finally:
            subprocess.run(["buildah", *storage, "rm", "--all"], capture_output=True, check=False)


def make_base(folder: Path, storage: tuple[str, ...]) -> None:
    """The image `localhost/base`: the Python of a release of Debian, named as in the usual images of Python."""
    base = run("buildah", *storage, "from", "scratch")
    root = run("buildah", *storage, "mount", base)
    options = ("--variant=minbase", "--include=python3,python3-venv,ca-certificates")
    done = subprocess.run(["debootstrap", *options, DEBIAN, root], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"debootstrap cannot make a base here: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
    Path(root, "usr/bin/python").symlink_to("python3")
    run("buildah", *storage, "umount", base)
    run("buildah", *storage, "commit", "--quiet", "--rm", base, "localhost/base")


def build(folder: Path, storage: tuple[str, ...]) -> Image:
    """What `make image` builds on that base, with this machine's settings of pip and its authorities."""
    pip = folder / "pip.conf"
    pip.touch(0o600)
    pip.write_text("[global]\n" + "".join(f"{line}\n" for line in pip_settings()))
    mounts = [f"{pip}:/etc/pip.conf:ro"]
    if Path("/etc/ssl/certs").is_dir():
        mounts.append("/etc/ssl/certs:/etc/ssl/certs:ro")
    options = ["--isolation chroot", "--build-arg BASE=localhost/base", *(f"--volume {mount}" for mount in mounts)]
    builder = f"BUILDER=buildah {' '.join(storage)}"
    done = make("image", builder, "IMAGE=localhost/hooks", "TAG=tried", f"BUILD_OPTIONS={' '.join(options)}")
    assert done.returncode == 0, done.stdout + done.stderr
    return Image(storage, run("buildah", *storage, "from", "--pull-never", "localhost/hooks:tried"))


def pip_settings() -> list[str]:
    """Where pip downloads from here, and whom it trusts, as lines of its configuration."""
    listed = run(sys.executable, "-m", "pip", "config", "list")
    found = re.findall(r"^(?:global|:env:)\.(cert|proxy|index-url|extra-index-url)='(.*)'$", listed, re.MULTILINE)
    return [f"{key} = {value}" for key, value in dict(found).items()]


def test_image_has_the_user_and_the_command_of_the_dockerfile(image: Image) -> None:
    config = json.loads(image.buildah("inspect", "--type", "image", "localhost/hooks:tried"))["OCIv1"]["config"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["dynamo-hooks"]
    assert config["WorkingDir"] == "/tmp"


def test_image_runs_the_python_of_its_base_as_a_user_without_rights(image: Image) -> None:
    said = image.buildah(*image.inside("sh", "-c", "id -u; id -g; dynamo-hooks --version; python --version"))
    user, group, version, python = said.splitlines()
    assert (user, group, version) == (USER, USER, f"dynamo-hooks {__version__}")
    assert python.startswith(f"Python {PYTHON}.")
    writable = "find /opt /usr /etc -xdev -writable -not -type l | head -3"
    assert image.buildah(*image.inside("sh", "-c", writable)) == ""


def test_hooks_answer_from_the_file_system_of_the_image(image: Image, tmp_path: Path) -> None:
    with image.serving(tmp_path, "serve", "--bind", "127.0.0.1:0") as server:
        assert server.get("/readyz")[0] == 200
        status, answer = server.post(SYNC)
        assert (status, b'"children":[{' in answer) == (200, True)
        assert users_of(server) == {int(USER)}


def test_prober_runs_from_the_image_too(image: Image, tmp_path: Path) -> None:
    with image.serving(tmp_path, "prober", "--bind", "127.0.0.1:0") as server:
        assert server.get("/readyz")[0] == 200


def users_of(server: Running) -> set[int]:
    """Who runs the server's workers."""
    return {Path(f"/proc/{worker}").stat().st_uid for worker in server.worker_ids()}
