"""A difference as Markdown for a comment on a pull request: the summary first, the objects folded away."""

import re
from collections.abc import Iterable, Iterator, Sequence

from hooks.tools.offline.diff.course_wording import COURSES, describe_courses
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.text import write_objects
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

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&@$])")
_TICKS = re.compile("`+")


def write_markdown(difference: Difference) -> str:
    """The whole difference; ends with a newline."""
    parts = (
        [f"**{escape(summarize(difference))}**"],
        list(write_list("Refused", map(describe_notice, difference.refused))),
        list(write_list(STORED, map(describe_notice, difference.stored))),
        list(write_list(FAILING, map(describe_notice, difference.failing))),
        list(write_list("Gone afterwards", map(describe_notice, difference.lost))),
        list(_write_pods(difference)),
        list(write_list(COURSES, describe_courses(difference))),
        list(write_resources(difference)),
        list(write_list("Nodes (an estimate)", describe_fit(difference.fit) if difference.fit else ())),
        list(write_list("Notes", difference.notes)),
        list(write_folded("Objects and fields", list(write_objects(difference)))),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def write_list(title: str, items: Iterable[str]) -> Iterator[str]:
    """A section with its title; nothing without items."""
    found = list(items)
    if found:
        yield f"#### {title}"
        yield ""
        yield from (f"- {escape(item)}" for item in found)


def _write_pods(difference: Difference) -> Iterator[str]:
    changes = list(told_pods(difference))
    if not changes:
        return
    yield "| pods of | what happens | because of |"
    yield "|---|---|---|"
    for change in changes:
        why = "<br>".join(map(escape, reasons(change)))
        yield f"| {escape(title_of(change))} | {escape(describe_pods(change))} | {why} |"


def write_resources(difference: Difference) -> Iterator[str]:
    """The table of what pods request now, at most, and afterwards."""
    rows = changed_rows(difference)
    if not rows:
        return
    yield "| resource | now | peak | after |"
    yield "|---|---:|---:|---:|"
    for row in rows:
        cells = (describe_amount(row, amount) for amount in (row.now, row.peak, row.after))
        yield f"| {escape(row.resource)} | {' | '.join(cells)} |"


def write_folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines as they are, below a title that unfolds them."""
    if not lines:
        return
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in _TICKS.findall(line)), default=0))
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield fence
    yield from lines
    yield fence
    yield ""
    yield "</details>"


def escape(text: str) -> str:
    """The text as Markdown shows it unchanged, also in a table; an @ notifies no user."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[1])};", text)
