"""A plan as text for a person, and as JSON for a program."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from hooks.k8s.types import Json
from hooks.migration.steps import Action, Phase, Plan, Step

_WIDTH = 118
_HEADER = ("KIND", "NAME", "ACTION", "RESTARTS")
_DONE = {
    Action.ADOPT: "adopted",
    Action.HOLD: "adopted and held",
    Action.KEEP: "kept until their owners go",
    Action.LEAVE: "left as they are",
    Action.FREE: "freed of the old finalizer",
    Action.DELETE: "deleted",
    Action.STORE: "stored as v1alpha1",
}


def write_json(plan: Plan) -> list[dict[str, Json]]:
    """One entry for each step, in the order of the steps."""
    return [
        {
            "kind": step.kind.kind,
            "namespace": step.namespace,
            "name": step.name,
            "action": step.action.value,
            "restarts": step.restarts,
            "why": step.why,
        }
        for step in plan.steps
    ]


def write_text(plan: Plan) -> Iterator[str]:
    """A table of the steps for each namespace, and a summary in the end; without line ends."""
    for namespace, steps in groupby(sorted(plan.steps, key=_order), key=lambda step: step.namespace):
        yield f"Namespace {namespace}:" if namespace else "The whole cluster:"
        yield from _write_table(list(steps))
        yield ""
    yield summarize(plan)
    yield from (f"Warning: {one}" for one in plan.warnings)


def summarize(plan: Plan) -> str:
    """`12 objects: 8 adopted, 4 freed of the old finalizer. No pod restarts.`"""
    if not plan.steps:
        return "There is nothing to migrate."
    counts = Counter(step.action for step in plan.steps)
    done = ", ".join(f"{counts[action]} {words}" for action, words in _DONE.items() if counts[action])
    number = len({(step.kind, step.namespace, step.name) for step in plan.steps})
    return f"{number} {'object' if number == 1 else 'objects'}: {done}. {count_pods(plan.restarts)}."


def count_pods(restarts: int) -> str:
    """`No pod restarts`, `3 pods restart`."""
    match restarts:
        case 0:
            return "No pod restarts"
        case 1:
            return "1 pod restarts"
        case _:
            return f"{restarts} pods restart"


def _order(step: Step) -> tuple[str, Phase, str, str]:
    return step.namespace, step.phase, step.kind.kind, step.name


def _write_table(steps: Sequence[Step]) -> Iterator[str]:
    rows = [
        (step.kind.kind, step.name, step.action.value, str(step.restarts) if step.restarts else "none")
        for step in steps
    ]
    widths = [max(len(row[index]) for row in (_HEADER, *rows)) for index in range(len(_HEADER))]
    yield _write_row(_HEADER, widths)
    for row, step in zip(rows, steps, strict=True):
        yield _write_row(row, widths)
        yield from textwrap.wrap(
            step.why, _WIDTH, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False
        )


def _write_row(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
