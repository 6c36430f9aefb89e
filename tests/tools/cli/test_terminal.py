"""A terminal gets no commands from texts of others: logs, what a cluster says, manifests, and their mistakes."""

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click
import pytest

from hooks.ground.k8s.types import Manifest
from hooks.server.commands.main import main
from hooks.server.commands.terminal import without_controls
from hooks.tools.cli.kubectl.main import group
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.operating import live_tree
from tests.tools.cli.test_kubectl import played, world
from tests.tools.operating.migration.played_cluster import PlayedCluster

HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\x1b]52;c;aGk=\x1b\\d\re\x9b31mf\x08g\x7fh\ti"
SHOWN = "a\ufffd[2Jb\ufffd]0;title\ufffdc\ufffd]52;c;aGk=\ufffd\\d\ufffde\ufffd31mf\ufffdg\ufffdh\ti"
_OURS = re.compile(r"\x1b\[[0-9;]*m")
"""Colours, which our commands write themselves."""

__all__ = ["played", "world"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command on a terminal; returns all that it writes there."""

    def run(command: click.Command, *words: str) -> str:
        found = Terminal()
        with monkeypatch.context() as here, suppress(SystemExit):
            here.setenv("TERM", "xterm")
            for name in ("stdout", "stderr"):
                here.setattr(sys, name, found)
            command.main([*words], "program")
        return found.getvalue()

    return run


def test_controls_are_shown_as_a_sign() -> None:
    assert without_controls(HOSTILE) == SHOWN
    assert without_controls("plain, ünïcode → 漢字\n") == "plain, ünïcode → 漢字\n"


def test_logs_give_a_terminal_no_commands(
    played: PlayedCluster, terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(played), "read_lines", lambda *_: iter([HOSTILE]))
    assert terminal(group, "logs", "llm", "Frontend") == f"{SHOWN}\n"


def test_logs_in_a_pipe_stay_as_they_are(
    played: PlayedCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(type(played), "read_lines", lambda *_: iter(["a\x08b\x07"]))
    with suppress(SystemExit):
        group.main(["logs", "llm", "Frontend"], "program")
    assert capsys.readouterr().out == "a\x08b\x07\n"


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize("words", [("status", "llm"), ("why", "llm"), ("status",), ("status", "llm", "-o", "json")])
def test_what_a_cluster_says_gives_a_terminal_no_commands(
    words: tuple[str, ...], world: SimulatedCluster, terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = live_tree.read_tree

    def read_hostile(cluster: object, graph: Manifest, now: object) -> live_tree.LiveTree:
        found = read(cluster, graph, now)  # type: ignore[arg-type] # passed on
        return replace(found, reasons=(f"Worker: {HOSTILE}",), unread=(HOSTILE,))

    for module in ("status", "listing", "why"):
        monkeypatch.setattr(f"hooks.tools.cli.kubectl.{module}.read_tree", read_hostile)
    text = terminal(group, *words)
    assert "llm" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", _OURS.sub("", text))
    assert ("]0;title" in text) == (words[:2] == ("status", "llm"))


@pytest.mark.parametrize("command", ["validate", "render", "explain", "diff", "graph"])
def test_manifests_give_a_terminal_no_commands(command: str, terminal: Callable[..., str], tmp_path: Path) -> None:
    name = "g\x1b]0;t\x07.yaml"
    (tmp_path / name).write_text(
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: llm}\nspec: {services: "
        '{"W\\e[2J": {componentType: "\\e]0;t\\a\\x9b", replicas: "\\e[31m"}}}\n'
    )
    files = [str(tmp_path / name)]
    more = {"explain": ["replicas"], "diff": files}.get(command, [])
    text = terminal(main, command, *files, *more)
    assert "W" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", _OURS.sub("", text))
    assert "\x1b[31m\n" not in text


def test_colours_of_our_own_reach_a_terminal() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "hooks", "validate", "-"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        assert process.stdin is not None
        process.stdin.write(
            b'apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: "\\e[2J"}\n'
        )
        process.stdin.close()
        text = b""
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                text += part
    os.close(ours)
    assert b"\x1b[1m<stdin>:" in text
    assert b"\x1b[2J" not in text
