"""`simulate` on a terminal: what is seen while it runs, at its end, and after Ctrl-C."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulation.progress import ObjectProgress
from hooks.tools.offline.simulation.report import build_table
from hooks.tools.offline.simulation.snapshots import Snapshot
from hooks.tools.offline.simulation.trees import ObjectTree
from tests.waiting import PATIENCE

EXAMPLE = Path(__file__).parents[4] / "examples" / "vllm-disagg.yaml"
COLUMNS = 80
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ERASE_UP = "\x1b[1A"


def run_on_terminal(*arguments: str, look: Callable[[subprocess.Popen[bytes], str], None]) -> tuple[int, str]:
    """Run `simulate` on a terminal of 80 columns; `look` gets all output so far, again and again."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, COLUMNS))
    command = [sys.executable, "-m", "hooks", "simulate", "--given", "Secret/*", *arguments, str(EXAMPLE)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": "40"}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    # Shells start background jobs with SIGINT ignored, and a child inherits that.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    started = subprocess.Popen(command, env=environment, start_new_session=True, **streams)  # type: ignore[call-overload] # streams are descriptors
    signal.signal(signal.SIGINT, before)
    watchdog = threading.Timer(PATIENCE, started.kill)  # the test then fails
    watchdog.start()
    with started as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                text += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            look(process, text.decode())
        status: int = process.wait(timeout=PATIENCE)
    watchdog.cancel()
    os.close(ours)
    return status, text.decode().replace("\r\n", "\n")


def test_last_screen_is_the_tree_and_one_line() -> None:
    status, text = run_on_terminal("--speed", "200", look=lambda *_: None)
    assert status == 0
    screen = _ESCAPE.sub("", text[text.rindex(_ERASE_UP) :]).strip("\n").splitlines()
    assert screen[0].strip() == "DynamoGraphDeployment vllm-disagg  Ready"
    assert screen[1].startswith("├── ServiceAccount")
    assert screen[-2].startswith("└── RoleBinding")
    assert screen[-1].startswith("all Ready after ")
    assert screen[-1].endswith("-o yaml for the statuses")


def test_interrupted_simulation_leaves_its_table_and_ends_with_130() -> None:
    sent: list[str] = []

    def interrupt(process: subprocess.Popen[bytes], text: str) -> None:
        if "components 0/3" in text and len(sent) < 5:  # impatient users press it again and again
            sent.append(text)
            process.send_signal(signal.SIGINT)

    status, text = run_on_terminal("--speed", "1", "--hold", "Frontend", look=interrupt)
    assert status == 130
    left = _ESCAPE.sub("", text[text.rindex("DynamoGraphDeployment default/vllm-disagg") :])
    assert "components 0/3" in left
    assert "s of the cluster's time" in left
    assert "Traceback" not in text
    assert "Aborted" not in text


def progress(name: str, *, ready: bool) -> tuple[ObjectProgress, Manifest]:
    root: Manifest = {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "metadata": {"name": name, "namespace": "default"},
        "status": {"restart": {"observedID": "r" * 30, "phase": "Restarting", "inProgress": ["Frontend", "Worker"]}},
    }
    found = ObjectProgress(
        kind=root["kind"],
        namespace="a-long-namespace-of-somebody",
        name=name,
        ready=ready,
        components_ready=2,
        components=3,
        pods=((f"Pending (Secret {'s' * 60} is missing)", 12), ("CreateContainerConfigError", 7)),
        reasons=(),
    )
    return found, root


def show(count: int, *, width: int, height: int) -> list[str]:
    pairs = [progress(f"graph-{index}-{'n' * 50}", ready=index == 0) for index in range(count)]
    snapshot = Snapshot(
        seconds=1.0,
        progress=tuple(found for found, _ in pairs),
        roots=tuple(root for _, root in pairs),
        tree=ObjectTree([]),
    )
    console = Console(width=width, height=height, force_terminal=False)
    with console.capture() as capture:
        console.print(build_table(snapshot, height))
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [20, 40, COLUMNS, 200])
def test_nothing_is_cut_in_a_narrow_terminal(width: int) -> None:
    lines = show(2, width=width, height=100)
    assert all(len(line) <= width for line in lines)
    text = "".join(line.strip() for line in lines).replace(" ", "")
    for name in (f"graph-1-{'n' * 50}", f"Secret{'s' * 60}ismissing", "7CreateContainerConfigError", "Frontend,Worker"):
        assert name in text
    assert "…" not in text.replace("…Dynamo", "")


def test_objects_that_are_not_ready_come_first_and_the_rest_is_counted() -> None:
    lines = show(20, width=200, height=12)
    assert len(lines) <= 12
    assert lines[0].startswith("… DynamoGraphDeployment")
    assert "graph-1-" in lines[0]
    assert lines[-2] == "and 17 more"
