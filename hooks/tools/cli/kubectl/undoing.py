"""`kubectl dynamo rollout history|undo`: the recorded specs of a graph, and one of them written back."""

from collections.abc import Sequence
from typing import Any

from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC
from hooks.tools.cli.kubectl.restart import change_graph
from hooks.tools.cli.kubectl.steering import Steered, find_steering, name_command
from hooks.tools.cli.kubectl.target import NotPossible, Target
from hooks.tools.offline.manifests.writing import format_value
from hooks.tools.operating.graph_history import (
    PastSpec,
    find_changed_fields,
    find_changes,
    read_history,
)
from hooks.tools.operating.keepers import warn_of_keepers
from hooks.wire.policy.spec_restoring import name_present, restart_of, restore
from hooks.wire.policy.spec_revisions import UnreadableRevision

_MOST_FIELDS = 3


def list_history(target: Target) -> str:
    """The recorded specs as a table, newest first: number, since when, generation, changed fields.

    Raises:
        NotPossible: there are none.
        Refused: the API server refuses.
    """
    present, history = name_present(target.graph), _read(target)
    lines = [("REVISION", "SINCE", "GENERATION", "CHANGED")]
    for one, changed in find_changes(history):
        mark = " (present)" if one.name == present else ""
        said = _list_fields(changed) or ("the first that is kept" if one is history[-1] else "-")
        lines.append((f"{one.number}{mark}", one.since or "?", one.generation or "-", said))
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    padded = (
        "   ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]]) for line in lines
    )
    return "\n".join(padded)


def show_revision(target: Target, number: int) -> str:
    """A recorded spec as YAML.

    Raises:
        NotPossible: there is none of that number, or it was not kept.
        Refused: the API server refuses.
    """
    found = _find(target, _read(target), number)
    since = f", since {found.since}" if found.since else ""
    generation = f", generation {found.generation}" if found.generation else ""
    return f"# revision {number} of graph {target.name}{since}{generation}\n{format_value(_unpack(found))}".rstrip("\n")


def describe_steering(target: Target) -> str:
    """What `undo` removes beside writing the spec, as a question; empty if nothing."""
    there = find_steering(target)
    if not there:
        return ""
    plural = "s" if len(there) > 1 else ""
    return (
        f"graph {target.name} has the annotation{plural} {' and '.join(there)}: the way back would wait as well. "
        f"Remove {'them' if plural else 'it'}, so that it goes back to the end?"
    )


def undo_rollout(target: Target, number: int | None) -> Steered:
    """Write a recorded spec back, by default the one before the present; remove the pause and the canary.

    Raises:
        NotPossible: there is none, it is the present one, or the graph changed meanwhile.
        Refused: the API server refuses.
    """
    found = _choose(target, number)
    document = _unpack(found)
    change = restore(target.graph, document)
    if not change:
        raise NotPossible(
            f"graph {target.name} has the spec of revision {found.number} already; there is nothing to do"
        )
    fields = find_changed_fields(
        {"spec": target.graph.get("spec") or {}}, {"spec": {**document["spec"], **restart_of(target.graph)}}
    )
    warning = warn_of_keepers(target.graph, SPEC, "take the change back there too")
    removed: dict[str, Json] = dict.fromkeys(find_steering(target))
    annotations = {**removed, **((change.get("metadata") or {}).get("annotations") or {})}
    patch = {**change, **({"metadata": {"annotations": annotations}} if annotations else {})}
    change_graph(target, patch, of_spec=True)
    what = f": {_list_fields(fields)}" if fields else ""
    done = f"graph {target.name}: the spec of revision {found.number} is written back{what}"
    follow = f"replicas and restart stay as they are; follow it with: {name_command(target, 'status')} --watch"
    return Steered(done=(done, follow), warnings=(warning,) if warning else ())


def _choose(target: Target, number: int | None) -> PastSpec:
    history = _read(target)
    if number is not None:
        return _find(target, history, number)
    present = name_present(target.graph)
    before = [one for one in history if one.name != present]
    if not before:
        raise NotPossible(f"graph {target.name} has no earlier revision; the history begins with its present spec")
    return before[0]


def _read(target: Target) -> tuple[PastSpec, ...]:
    history = read_history(target.cluster, target.graph)
    if not history:
        raise NotPossible(
            f"graph {target.name} has no history yet: the hooks keep none (revision_history=0), or the installed "
            "controllers do not declare ControllerRevisions; kubectl dynamo doctor says which controllers are installed"
        )
    return history


def _find(target: Target, history: Sequence[PastSpec], number: int) -> PastSpec:
    for one in history:
        if one.number == number:
            return one
    known = ", ".join(str(one.number) for one in reversed(history))
    raise NotPossible(f"graph {target.name} has no revision {number}; it has {known}")


def _unpack(found: PastSpec) -> dict[str, Any]:
    try:
        return found.unpack()
    except UnreadableRevision as unreadable:
        raise NotPossible(f"revision {found.number} cannot be used: {unreadable}") from unreadable


def _list_fields(fields: Sequence[str]) -> str:
    more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
    return ", ".join(fields[:_MOST_FIELDS]) + more
