"""Runs `dynamo-hooks` in a Python from which is taken what those of macOS or of Windows lack.

`python -m tests.tools.cli.fewer_systems win32 validate examples/` is the command; `win32 - CODE` runs Python's code
there. What the standard library and click load differently on those systems is loaded before, as on Linux.
"""

import asyncio
import concurrent.futures.process
import http.server
import multiprocessing.popen_fork
import os
import select
import signal
import subprocess  # noqa: F401 - loaded as on Linux
import sys
import sysconfig
import tempfile
import uuid

import click
import click.testing
import requests

LOADED = (asyncio, concurrent.futures.process, http.server, multiprocessing.popen_fork, tempfile, uuid, click, requests)
"""The standard library's modules, and click's, that would look for functions of the other system."""

ONLY_UNIX = ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog")
FUNCTIONS = {
    "darwin": {os: ("sched_getaffinity", "O_DIRECT", "memfd_create", "eventfd"), select: ("epoll",)},
    "win32": {
        os: (
            *("fork", "forkpty", "killpg", "setsid", "getpgid", "getuid", "geteuid", "getgid", "getegid", "mkfifo"),
            *("openpty", "sched_getaffinity", "sysconf", "uname", "O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_CLOEXEC"),
            "register_at_fork",
        ),
        signal: (
            *("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGPIPE", "SIGQUIT"),
            *("alarm", "setitimer", "pthread_sigmask", "pthread_kill", "sigwait"),
        ),
        select: ("poll", "epoll"),
    },
}
"""What each system lacks, by the module that has it on Linux.

Source: Python, the availability notes of the modules os, signal and select.
"""


def take_away(system: str) -> None:
    """Leave this process what Python has on `darwin` or `win32`."""
    if system == "win32":
        sys.modules.update(dict.fromkeys(ONLY_UNIX))  # type: ignore[arg-type]  # None: the import fails
    for module, names in FUNCTIONS[system].items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sysconfig.get_config_vars()  # read from a file that is named after the system
    sys.platform = system


def main() -> None:
    """Run what the arguments say."""
    system, *words = sys.argv[1:]
    take_away(system)
    if words[0] == "-":
        exec(words[1], {})  # noqa: S102 - a test's own code
        return
    from hooks.server.commands.main import main as command  # noqa: PLC0415 - loaded as on that system

    command(words, prog_name="dynamo-hooks")


if __name__ == "__main__":
    main()
