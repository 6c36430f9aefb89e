"""`python -m bench.commands`: what commands cost at their start and with many graphs; `--page` writes the tables.

The graphs are those of `examples/`, again and again with other names and images. Seconds of processors are those of all
processes of a command; they depend less than seconds of the clock on who else uses the machine.
"""

import copy
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

import click
import yaml

from bench.page import PAGE, replace_part, write_table
from bench.server import count_processors
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.tools.offline.manifests.writing import format_documents

EXAMPLES = Path(__file__).parents[1] / "examples"
KINDS = "lws,volcano,inference-pool"
"""Optional kinds with which every example can be rendered."""
TARGET_SECONDS = 10.0
"""The longest time of a command with 1,000 graphs, where nothing else runs."""
TARGET_START = 0.5
"""The most processor seconds of a command with one graph."""
_CHANGED = 100
"""With few changes, one graph in so many is changed."""
_MAIN = [sys.executable, "-m", "hooks"]
_BASES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    'python -c "import pydantic, yaml, click"': [sys.executable, "-c", "import pydantic, yaml, click"],
}
"""What the start of a command is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run took: seconds of the clock, and seconds of processors, those of child processes included."""

    seconds: float
    processor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Manifests as files: one for each graph, in folders; and all graphs in one file, named as its folder."""

    old: Path
    few: Path
    every: Path


@click.command()
@click.option("--graphs", default=1000, show_default=True, help="How many graphs.")
@click.option("--rounds", default=2, show_default=True, help="Runs of each command with many graphs; the best counts.")
@click.option("--starts", default=10, show_default=True, help="Runs of each command with one graph; the best counts.")
@click.option("--page", is_flag=True, help="Write the tables into docs/benchmarks.md.")
def main(*, graphs: int, rounds: int, starts: int, page: bool) -> None:
    """Measure commands with one graph and with many; exit status 1 if a target is missed."""
    with tempfile.TemporaryDirectory() as directory:
        folders = write_folders(Path(directory), graphs)
        of_start = {name: measure(command, starts) for name, command in start_commands(folders).items()}
        of_size = {name: measure(command, rounds) for name, command in size_commands(folders).items()}
    text = write_commands(of_start, of_size, graphs)
    click.echo(text, nl=False)
    if page:
        PAGE.write_text(replace_part(PAGE.read_text(), "commands", text))
        click.echo(f"written to {PAGE}")
    sys.exit(1 if "| missed |" in text else 0)


def write_folders(directory: Path, graphs: int) -> Folders:
    """Write the graphs as they are, with few changes, and with every graph changed."""
    olds = list(make_graphs(graphs))
    changes = {
        "old": olds,
        "few": [_change(graph) if index % _CHANGED == 0 else graph for index, graph in enumerate(olds)],
        "every": [_change(graph) for graph in olds],
    }
    for name, found in changes.items():
        folder = directory / name
        folder.mkdir()
        for graph in found:
            (folder / f"{graph['metadata']['name']}.yaml").write_text(format_documents([graph]))
        folder.with_suffix(".yaml").write_text(format_documents(found))
    return Folders(**{name: directory / name for name in changes})


def make_graphs(count: int) -> Iterator[Manifest]:
    """Graphs of the examples, each with a name and with images of its own."""
    documents = (one for path in sorted(EXAMPLES.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text()))
    examples = [one for one in documents if gvk_of(one) == contract.GRAPH]
    for index, example in enumerate(islice(cycle(examples), count)):
        graph = {**copy.deepcopy(example), "metadata": {**example["metadata"], "name": f"graph-{index:04}"}}
        for container in _main_containers(graph):
            if "image" in container:
                container["image"] = f"registry-{index}.example.com/{container['image']}"
        yield graph


def _change(graph: Manifest) -> Manifest:
    """The graph with one more variable in every service, so that all of its pods restart."""
    changed = copy.deepcopy(graph)
    for container in _main_containers(changed):
        container["env"] = [*container.get("env", ()), {"name": "CHANGED", "value": "yes"}]
    return changed


def _main_containers(graph: Manifest) -> Iterator[Manifest]:
    for service in graph["spec"]["services"].values():
        yield service.setdefault("extraPodSpec", {}).setdefault("mainContainer", {})


def start_commands(folders: Folders) -> dict[str, list[str]]:
    """By the name in the table, commands with one graph."""
    old, new = (str(folder / "graph-0000.yaml") for folder in (folders.old, folders.every))
    with_kinds = ["--with", KINDS]
    return {
        **_BASES,
        "validate": [*_MAIN, "validate", old],
        "render": [*_MAIN, "render", *with_kinds, old],
        "diff": [*_MAIN, "diff", *with_kinds, old, new],
        "graph": [*_MAIN, "graph", *with_kinds, old],
        "diff --help": [*_MAIN, "diff", "--help"],
    }


def size_commands(folders: Folders) -> dict[str, list[str]]:
    """By the name in the table, commands with many graphs."""
    old, few, every = (str(folder) for folder in (folders.old, folders.few, folders.every))
    diff = [*_MAIN, "diff", "--with", KINDS]
    return {
        "validate": [*_MAIN, "validate", "--with", KINDS, old],
        "render": [*_MAIN, "render", "--with", KINDS, old],
        "graph": [*_MAIN, "graph", "--with", KINDS, old],
        "diff, nothing changed": [*diff, old, old],
        "diff, one graph in 100 changed": [*diff, old, few],
        "diff, every graph changed": [*diff, old, every],
        "diff, every graph changed, one file": [*diff, f"{old}.yaml", f"{every}.yaml"],
    }


def measure(command: Sequence[str], rounds: int) -> Cost:
    """The least costs of some runs.

    Raises:
        RuntimeError: the command failed.
    """
    runs = [_run(command) for _ in range(rounds)]
    return Cost(seconds=min(run.seconds for run in runs), processor=min(run.processor for run in runs))


def _run(command: Sequence[str]) -> Cost:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before, started = _spent(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    seconds, processor = time.perf_counter() - started, _spent() - before
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return Cost(seconds=seconds, processor=processor)


def _spent() -> float:
    """Processor seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_commands(of_start: dict[str, Cost], of_size: dict[str, Cost], graphs: int) -> str:
    """Both tables, with a verdict for each command of ours."""
    said = (
        f"{count_processors()} processors, Python {platform.python_version()}; "
        f"{datetime.now(UTC).date().isoformat()}; the least of some runs.\n\n"
    )
    starts = [
        (name, f"{cost.processor:.2f}", "" if name in _BASES else _judge(cost.processor, TARGET_START))
        for name, cost in of_start.items()
    ]
    sizes = [
        (name, f"{cost.seconds:.1f}", f"{cost.processor:.1f}", _judge(cost.seconds, TARGET_SECONDS))
        for name, cost in of_size.items()
    ]
    at_start = write_table(("one graph", "processor s", f"target {TARGET_START:g} s"), starts)
    title = f"{graphs:,} graphs"
    return f"{said}{at_start}\n{write_table((title, 's', 'processor s', f'target {TARGET_SECONDS:g} s'), sizes)}"


def _judge(value: float, target: float) -> str:
    return "reached" if value <= target else "missed"


if __name__ == "__main__":
    main()
