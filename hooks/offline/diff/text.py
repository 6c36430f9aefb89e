"""A difference as text for a terminal: a tree of objects, then pods, resources, and what is lost or refused."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hooks.offline.diff.plan import Difference, Fate, ObjectChange
from hooks.offline.diff.rollouts import PodFate
from hooks.offline.diff.wording import (
    changed_rows,
    describe_amount,
    describe_field,
    describe_fit,
    describe_notice,
    describe_pods,
    reasons,
    summarize,
    title_of,
    told_pods,
)
from hooks.world.objects import ObjectId

Style = Callable[[str, str], str]
"""Gives a text a colour: `green`, `yellow`, `red` or `bold`."""

_COLOURS = {Fate.ADDED: "green", Fate.CHANGED: "yellow", Fate.REMOVED: "red", Fate.RECREATED: "red"}
_MARKS = {Fate.ADDED: "+", Fate.CHANGED: "~", Fate.REMOVED: "-", Fate.RECREATED: "!"}
_POD_COLOURS = {PodFate.RESTART: "red", PodFate.MOVE: "red", PodFate.STOP: "red", PodFate.START: "green"}


def write_text(difference: Difference, style: Style = lambda text, _colour: text) -> str:
    """The whole difference; ends with a newline."""
    sections = (
        list(write_objects(difference, style)),
        list(_titled("Pods", _write_pods(difference, style), style)),
        list(_titled("Resources", _write_resources(difference), style)),
        list(_titled("Nodes (an estimate)", describe_fit(difference.fit) if difference.fit else (), style)),
        list(_titled("Gone afterwards", (style(describe_notice(one), "red") for one in difference.lost), style)),
        list(_titled("Refused", (style(describe_notice(one), "red") for one in difference.refused), style)),
        list(_titled("Notes", difference.notes, style)),
        [style(summarize(difference), "bold")],
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _titled(title: str, lines: Iterable[str], style: Style) -> Iterator[str]:
    found = list(lines)
    if found:
        yield style(title, "bold")
        yield from (f"  {line}" for line in found)


def write_objects(difference: Difference, style: Style = lambda text, _colour: text) -> Iterator[str]:
    """The tree of objects that do not stay as they are, with their fields, and of what owns them."""
    changed = {one.id: one for one in difference.objects}
    below: dict[ObjectId | None, list[ObjectId]] = {}
    above = {owner for one in changed for owner in _all_above(one, difference.owners)}
    for key in difference.owners:
        if key in changed or key in above:
            below.setdefault(difference.owners[key], []).append(key)
    for root in below.get(None, ()):
        yield _title(root, changed.get(root), style)
        yield from _write_below(root, changed, below, style, indent="")


def _write_below(
    key: ObjectId,
    changed: Mapping[ObjectId, ObjectChange],
    below: Mapping[ObjectId | None, Sequence[ObjectId]],
    style: Style,
    *,
    indent: str,
) -> Iterator[str]:
    own = changed.get(key)
    fields = () if own is None or own.is_between else own.fields
    children = below.get(key, ())
    last = len(fields) + len(children) - 1
    for index, change in enumerate(fields):
        yield f"{indent}{'└─' if index == last else '├─'} {describe_field(change)}"
    for index, child in enumerate(children, len(fields)):
        yield f"{indent}{'└─' if index == last else '├─'} {_title(child, changed.get(child), style)}"
        yield from _write_below(child, changed, below, style, indent=f"{indent}{'   ' if index == last else '│  '}")


def _title(key: ObjectId, change: ObjectChange | None, style: Style) -> str:
    if change is None:
        return str(key)
    return style(f"{_MARKS[change.fate]} {key} {change.fate.value}", _COLOURS[change.fate])


def _all_above(key: ObjectId, owners: Mapping[ObjectId, ObjectId | None]) -> Iterator[ObjectId]:
    owner = owners.get(key)
    while owner is not None:
        yield owner
        owner = owners.get(owner)


def _write_pods(difference: Difference, style: Style) -> Iterator[str]:
    for change in told_pods(difference):
        told = f"{title_of(change)}: {describe_pods(change)}"
        colour = _POD_COLOURS.get(change.fate)
        yield style(told, colour) if colour else told
        for index, reason in enumerate(reasons(change)):
            yield f"  {'and' if index else 'because'} {reason}"


def _write_resources(difference: Difference) -> Iterator[str]:
    rows = changed_rows(difference)
    if not rows:
        return
    amounts = ((row.resource, [describe_amount(row, one) for one in (row.now, row.peak, row.after)]) for row in rows)
    cells = [["", "now", "peak", "after"], *([name, *texts] for name, texts in amounts)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)]
        yield "  ".join((line[0].ljust(widths[0]), *padded))
