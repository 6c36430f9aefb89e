"""Commands of `dynamo-hooks` for kubectl's users, who mean the cluster where nothing else is said."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import click

_EPILOGS = {
    "diff": """\b
Examples:
  kubectl dynamo diff graph.yaml                what applying it will do to what runs
  kubectl dynamo diff old.yaml new.yaml""",
    "graph": """\b
Examples:
  kubectl dynamo graph llm                      the graph as it is, as Mermaid
  kubectl dynamo graph llm --output-file llm.mmd
  kubectl dynamo graph graph.yaml""",
}


def prefer_cluster(command: click.Command) -> click.Command:
    """`diff` or `graph`, which takes one argument as said of the cluster: `diff NEW`, `graph NAME`."""
    prefer: dict[str, Callable[..., dict[str, Any]]] = {"diff": _compare_with_live, "graph": _draw_live}
    changed, callback, name = copy(command), command.callback, str(command.name)
    assert callback is not None  # noqa: S101 - both have one
    changed.callback = lambda **values: callback(**prefer[name](**values))
    changed.epilog = _EPILOGS[name]
    return changed


def _compare_with_live(*, files: tuple[str, ...], is_live: bool, revision: str, **others: Any) -> dict[str, Any]:
    return {"files": files, "is_live": is_live or (len(files) == 1 and not revision), "revision": revision, **others}


def _draw_live(*, files: tuple[str, ...], graphs: tuple[str, ...], **others: Any) -> dict[str, Any]:
    """An argument is a file if there is one of that name, or it is `-`; otherwise it names a graph."""
    found = tuple(file for file in files if file == "-" or Path(file).exists())
    named = tuple(file for file in files if file not in found)
    return {"files": found, "graphs": (*graphs, *named), **others}
