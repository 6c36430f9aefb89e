"""A plan as text for a person, and as JSON for a program."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import ROLLING
from hooks.ground.k8s.types import Json
from hooks.tools.operating.migration.steps import Action, Phase, Plan, Step

_WIDTH = 118
_HEADER = ("KIND", "NAME", "ACTION", "RESTARTS")
_DONE = {
    Action.ADOPT: "adopted",
    Action.HOLD: "adopted and held",
    Action.END: "adopted, and ended",
    Action.CREATE: "created by the hooks",
    Action.KEEP: "kept until their owners go",
    Action.LEAVE: "left as they are",
    Action.REFER: "whose owners are named by v1alpha1",
    Action.FREE: "freed of the old finalizer",
    Action.DELETE: "deleted",
    Action.STORE: "stored as v1alpha1",
}


_EXPLAINED = frozenset({Action.LEAVE, Action.END, Action.CREATE, Action.DELETE})
"""Actions whose reasons stand in the short plan, too."""


def write_json(plan: Plan) -> list[dict[str, Json]]:
    """One entry for each step, in the order of the steps."""
    return [
        {
            "kind": step.kind.kind,
            "namespace": step.namespace,
            "name": step.name,
            "action": step.action.value,
            "restarts": step.restarts,
            "starts": step.starts,
            "stops": step.stops,
            "why": step.why,
        }
        for step in plan.steps
    ]


def write_text(plan: Plan, *, verbose: bool = False) -> Iterator[str]:
    """A line for each graph, and a summary in the end; without line ends.

    Graphs whose pods restart, start or stop come first, with the reasons. `verbose`: a table of all steps instead.
    """
    for namespace, steps in groupby(sorted(plan.steps, key=_order), key=lambda step: step.namespace):
        yield f"Namespace {namespace}:" if namespace else "The whole cluster:"
        yield from (_write_table if verbose else _write_graphs)(list(steps))
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
    return f"{number} {'object' if number == 1 else 'objects'}: {done}.\n{describe_pods(plan)}."


def describe_pods(plan: Plan) -> str:
    """`No pod starts, stops or restarts`, `3 pods restart, 1 pod starts`."""
    counts = {"restart": plan.restarts, "start": plan.starts, "stop": plan.stops}
    said = [f"1 pod {verb}s" if count == 1 else f"{count} pods {verb}" for verb, count in counts.items() if count]
    return ", ".join(said) or "No pod starts, stops or restarts"


def _write_graphs(steps: Sequence[Step]) -> Iterator[str]:
    """A line for each graph, and for what belongs to none; what changes pods comes first."""
    by_graph: dict[str, list[Step]] = {}
    for step in steps:
        by_graph.setdefault(step.graph, []).append(step)
    for graph, own in sorted(by_graph.items(), key=lambda item: (not _moves_pods(item[1]), not item[0], item[0])):
        name = graph or "other objects"
        yield from _wrap(f"{name}: {', '.join([*_count_classes(own), *_count_pods(own)])}", "  ")
        for why, about in _collect_reasons(own).items():
            yield from _wrap(f"{', '.join(about)}: {why}", "      ")


def _moves_pods(steps: Iterable[Step]) -> bool:
    return any(step.restarts or step.starts or step.stops for step in steps)


def _count_classes(steps: Sequence[Step]) -> Iterator[str]:
    """`4 workloads held`, `8 Services adopted`, and what else is done."""
    held = sum(step.action is Action.HOLD and step.kind in ROLLING for step in steps)
    services = sum(step.action is Action.ADOPT and step.kind == kinds.SERVICE for step in steps)
    rest = Counter(step.action for step in steps)
    others = rest.pop(Action.HOLD, 0) + rest.pop(Action.ADOPT, 0) - held - services
    counts = ((held, "workload", "held"), (services, "Service", "adopted"), (others, "other object", "adopted"))
    yield from (f"{count} {noun}{'' if count == 1 else 's'} {verb}" for count, noun, verb in counts if count)
    yield from (f"{rest[action]} {words}" for action, words in _DONE.items() if rest[action])


def _count_pods(steps: Sequence[Step]) -> Iterator[str]:
    starts, restarts, stops = (sum(getattr(step, name) for step in steps) for name in ("starts", "restarts", "stops"))
    yield f"{starts} pod{'' if starts == 1 else 's'} start{'s' if starts == 1 else ''}"
    yield f"{restarts} restart{'s' if restarts == 1 else ''}"
    if stops:
        yield f"{stops} stop{'s' if stops == 1 else ''}"


def _collect_reasons(steps: Iterable[Step]) -> dict[str, list[str]]:
    """By reason the objects, of steps that a person should look at; each reason once."""
    reasons: dict[str, list[str]] = {}
    for step in steps:
        if _moves_pods([step]) or step.action in _EXPLAINED:
            reasons.setdefault(step.why, []).append(f"{step.kind.kind} {step.name}")
    return reasons


def _wrap(text: str, indent: str) -> list[str]:
    after = f"{indent}  "
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=after, break_on_hyphens=False)


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
