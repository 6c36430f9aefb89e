"""What a server loads at start has a budget of lines; all of them are read, parsed and kept by every process."""

import subprocess
import sys
from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The modules with which a server begins, the most lines of ours that they may load, and why so many."""

    modules: tuple[str, ...]
    lines: int
    reason: str


BUDGETS = {
    "hooks": Budget(
        modules=("hooks.server.commands.serve", "hooks.server.app"),
        lines=45_150,
        reason="All five kinds, whose calls are made by the same server, rollouts in sets that people steer, "
        "the history of specs, what frontends say, Grove's parts one by one, replicas that it loses or that wait, "
        "topologies that it refuses, graphs that share workers, names that a deletion holds, releases that tags no "
        "longer name, what policies may change, and what conversion, rules and clients need.",
    ),
    "admission": Budget(
        modules=("hooks.server.commands.serve_admission", "hooks.server.admission.app"),
        lines=13_420,
        reason="Clients, settings and what every server has; rules and schemas are loaded by the first review.",
    ),
    "prober": Budget(
        modules=("hooks.server.commands.prober", "hooks.server.prober.app"),
        lines=10_070,
        reason="It loads none of the hooks, but the map in `hooks/__init__.py`. It calls engines, and asks frontends.",
    ),
}
"""Raise a number only together with its reason; lower it where code went."""

COUNT = """
import importlib, pathlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "hooks" and module.__file__:
        print(name, len(pathlib.Path(module.__file__).read_text().splitlines()))
"""


@pytest.mark.parametrize("server", BUDGETS)
def test_server_loads_no_more_lines_than_its_budget(server: str) -> None:
    budget = BUDGETS[server]
    done = subprocess.run([sys.executable, "-c", COUNT, *budget.modules], capture_output=True, text=True, check=True)
    loaded = {name: int(lines) for name, lines in map(str.split, done.stdout.splitlines())}
    assert set(budget.modules) <= loaded.keys()
    assert sum(loaded.values()) <= budget.lines, f"{len(loaded)} modules: {sorted(loaded)}"
