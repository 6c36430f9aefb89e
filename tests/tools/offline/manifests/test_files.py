"""What a command does with pipes, sockets, devices and links: one sentence each, and never a wait without end."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from hooks.tools.offline.manifests import files
from hooks.tools.offline.manifests.files import read_file
from tests.tools.offline.manifests.test_directories import graph
from tests.waiting import PATIENCE

PIPE = "it is a pipe without a writer; start the writer, or name a file"
LINK = "it is a link to a file outside of the directory; name that file itself"
OBSTACLE = "it is no file but a pipe, a socket or a device; take it out of the directory"


def validate(*paths: Path) -> Result:
    return CliRunner().invoke(main, ["validate", *map(str, paths)])


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def bound_socket(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "s.yaml"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        yield path


def test_pipe_without_a_writer_is_given_up(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WRITER_SECONDS", 0.1)
    result = validate(pipe)
    assert (result.exit_code, result.stderr) == (1, f"{pipe}: cannot be read: {PIPE}\n1 problem\n")


def test_pipe_is_read_until_its_last_writer_closes_it(pipe: Path) -> None:
    text = "x" * 300_000

    def write() -> None:
        with pipe.open("w") as file:
            for start in range(0, len(text), 70_000):
                file.write(text[start : start + 70_000])
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    assert read_file(pipe) == text.encode()
    writer.join(timeout=PATIENCE)


def test_pipe_that_a_shell_opens_is_read(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(graph())
    command = f"{sys.executable} -m hooks validate <(cat {tmp_path}/g.yaml) /dev/stdin < {tmp_path}/g.yaml"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout.partition(",")[0]) == (0, "2 manifests valid")


def test_pipe_whose_writer_writes_nothing_is_empty(pipe: Path) -> None:
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(read_file(pipe)))
    reader.start()
    with pipe.open("wb"):  # returns once there is a reader
        pass
    reader.join(timeout=PATIENCE)
    assert found == [b""]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_device_is_not_read(device: str) -> None:
    result = validate(Path(device))
    said = f"{device}: cannot be read: it is a device; name a file, or - for standard input\n1 problem\n"
    assert (result.exit_code, result.stderr) == (1, said)


def test_socket_is_not_read(bound_socket: Path) -> None:
    result = validate(bound_socket)
    assert result.exit_code == 1
    assert "it is a socket; name a file, or - for standard input" in result.stderr


def test_directory_is_read_beside_what_is_no_file_in_it(tmp_path: Path, bound_socket: Path) -> None:
    (tmp_path / "graph.yaml").write_text(graph())
    os.mkfifo(tmp_path / "p.yaml")
    os.mkfifo(tmp_path / "p")
    result = validate(tmp_path)
    assert result.exit_code == 1
    assert result.stderr == (
        f"{tmp_path}/p.yaml: cannot be read: {OBSTACLE}\n{bound_socket}: cannot be read: {OBSTACLE}\n2 problems\n"
    )
    for path in (tmp_path / "p.yaml", bound_socket):
        path.unlink()
    assert validate(tmp_path).exit_code == 0


def test_link_that_leaves_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(graph("elsewhere"))
    folder = tmp_path / "d"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "graph.yaml").write_text(graph())
    link = folder / "below" / "l.yaml"
    link.symlink_to("../../outside.yaml")
    result = validate(folder)
    assert (result.exit_code, result.stderr) == (1, f"{link}: cannot be read: {LINK}\n1 problem\n")
    assert validate(link).exit_code == 0, "a link that is named is meant"


def test_links_within_the_directory_are_followed_and_those_to_nothing_are_not(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "..2026").mkdir(parents=True)
    (real / "..2026" / "graph.data").write_text(graph())
    (real / "..data").symlink_to("..2026")
    (real / "graph.yaml").symlink_to("..data/graph.data")
    (real / ".#lock.yaml").symlink_to("me@host.1234")
    (real / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "link").symlink_to("real")
    for folder in (real, tmp_path / "link"):
        result = validate(folder)
        assert (result.exit_code, result.stdout) == (0, "1 manifest valid\n"), result.stderr
