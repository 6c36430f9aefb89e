"""A difference as text for a terminal: a tree of objects, then pods, resources, and what is lost or refused."""

from collections.abc import Iterable, Iterator

from hooks.tools.offline.diff.course_wording import COURSES, describe_courses
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.rollouts import PodFate
from hooks.tools.offline.diff.tree import Style, grow, plain, write_branches
from hooks.tools.offline.diff.wording import (
    FAILING,
    STORED,
    changed_rows,
    describe_amount,
    describe_fit,
    describe_notice,
    describe_pods,
    reasons,
    summarize,
    title_of,
    told_pods,
)

_POD_COLOURS = {PodFate.RESTART: "red", PodFate.MOVE: "red", PodFate.STOP: "red", PodFate.START: "green"}


def write_text(difference: Difference, style: Style = plain) -> str:
    """The whole difference; ends with a newline."""
    sections = (
        list(write_objects(difference, style)),
        list(titled("Pods", _write_pods(difference, style), style)),
        list(titled(FAILING, (style(describe_notice(one), "red") for one in difference.failing), style)),
        list(titled(COURSES, describe_courses(difference, "  "), style)),
        list(titled("Resources", write_resources(difference), style)),
        list(titled("Nodes (an estimate)", describe_fit(difference.fit) if difference.fit else (), style)),
        list(titled("Gone afterwards", (style(describe_notice(one), "red") for one in difference.lost), style)),
        list(titled("Refused", (style(describe_notice(one), "red") for one in difference.refused), style)),
        list(titled(STORED, (style(describe_notice(one), "red") for one in difference.stored), style)),
        list(titled("Notes", difference.notes, style)),
        [style(summarize(difference), "bold")],
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def titled(title: str, lines: Iterable[str], style: Style) -> Iterator[str]:
    """A section with its title; nothing without lines."""
    found = list(lines)
    if found:
        yield style(title, "bold")
        yield from (f"  {line}" for line in found)


def write_objects(difference: Difference, style: Style = plain) -> Iterator[str]:
    """The tree of objects that do not stay as they are, with their fields, and of what owns them."""
    return write_branches(grow(difference, style))


def _write_pods(difference: Difference, style: Style) -> Iterator[str]:
    for change in told_pods(difference):
        told = f"{title_of(change)}: {describe_pods(change)}"
        colour = _POD_COLOURS.get(change.fate)
        yield style(told, colour) if colour else told
        for index, reason in enumerate(reasons(change)):
            yield f"  {'and' if index else 'because'} {reason}"


def write_resources(difference: Difference) -> Iterator[str]:
    """The table of what pods request now, at most, and afterwards."""
    rows = changed_rows(difference)
    if not rows:
        return
    amounts = ((row.resource, [describe_amount(row, one) for one in (row.now, row.peak, row.after)]) for row in rows)
    cells = [["", "now", "peak", "after"], *([name, *texts] for name, texts in amounts)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)]
        yield "  ".join((line[0].ljust(widths[0]), *padded))
