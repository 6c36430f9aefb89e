"""Runs `dynamo-hooks` for the pages' blocks in forks of one process that has loaded its modules: saves 1 s a command.

As a program it serves. `running_server` gives a folder with a `dynamo-hooks` that asks it: standard streams, working
folder, variables and exit status are those of a process of its own.
"""

import array
import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

_CLIENT = """\
#!{python} -IS
import array, json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({path!r})
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
what = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
asked.sendmsg([len(what).to_bytes(4, "big")], streams)
asked.sendall(what)
answer = asked.recv(1)
sys.exit(answer[0] if answer else 70)
"""


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[Path]:
    """Start the server; gives a folder whose `dynamo-hooks` it runs."""
    path, programs = folder / "socket", folder / "programs"
    programs.mkdir()
    client = programs / "dynamo-hooks"
    client.write_text(_CLIENT.format(python=sys.executable, path=str(path)))
    client.chmod(0o755)
    with (
        socket.socket(socket.AF_UNIX) as listener,
        subprocess.Popen(
            [sys.executable, "-m", "tests.docs.command_server", _listen(listener, path)],
            pass_fds=[listener.fileno()],
            cwd=Path(__file__).parents[2],
        ) as server,
    ):
        try:
            yield programs
        finally:
            server.terminate()


def _listen(listener: socket.socket, path: Path) -> str:
    listener.bind(str(path))
    listener.listen()
    return str(listener.fileno())


def serve(descriptor: int) -> None:
    """Load every command's module once, then fork for each call."""
    main = importlib.import_module("hooks.server.commands.main").main
    for name in main.modules:
        main.get_command(click.Context(main), name)
    with socket.socket(fileno=descriptor) as listener:
        while True:
            asked, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(asked, main)
                os._exit(0)
            asked.close()
            _bury_the_dead()


def _bury_the_dead() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _answer(asked: socket.socket, main: Any) -> None:
    """Run one command as the process that asked would, and tell it the exit status."""
    size, ancillary, *_ = asked.recvmsg(4, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    streams = array.array("i", ancillary[0][2])
    what = b""
    while len(what) < int.from_bytes(size, "big"):
        what += asked.recv(1 << 16)
    words, folder, variables = json.loads(what)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    status = 70
    try:
        main.main(args=words, prog_name="dynamo-hooks")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        asked.sendall(bytes([status]))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
