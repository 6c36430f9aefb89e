"""A plan as text for a terminal, and as Markdown for a comment: the counts first, then each graph."""

from hooks.tools.offline.diff.markdown import escape, write_folded, write_list
from hooks.tools.offline.diff.markdown import write_resources as write_table
from hooks.tools.offline.diff.text import titled, write_resources
from hooks.tools.offline.diff.tree import Style, plain
from hooks.tools.offline.diff.wording import FAILING, describe_notice
from hooks.tools.operating.upgrade.plan import UpgradePlan
from hooks.tools.operating.upgrade.wording import list_blocks, list_notes, summarize

_UNREAD, _FAILED, _LOST, _REFUSED = "Not known", "Errors", "Gone afterwards", "Refused"


def write_text(plan: UpgradePlan, source: str, style: Style = plain) -> str:
    """The whole plan; ends with a newline. `source` is a sentence on what was judged, and how."""
    found = plan.difference
    warnings = ((_FAILED, plan.failed), (FAILING, found.failing), (_LOST, found.lost), (_REFUSED, found.refused))
    sections = (
        [style(summarize(plan), "bold"), source],
        list(titled(_UNREAD, (style(one, "red") for one in plan.unread), style)),
        *list_blocks(plan, style),
        list(titled("Resources", write_resources(found), style)),
        *(list(titled(title, (style(describe_notice(one), "red") for one in some), style)) for title, some in warnings),
        list(titled("Notes", list_notes(plan), style)),
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def write_markdown(plan: UpgradePlan, source: str) -> str:
    """The same as Markdown; the graphs are folded away."""
    found = plan.difference
    warnings = ((_FAILED, plan.failed), (FAILING, found.failing), (_LOST, found.lost), (_REFUSED, found.refused))
    parts = (
        [f"**{escape(summarize(plan))}**"],
        [escape(source)],
        list(write_list(_UNREAD, plan.unread)),
        *(list(write_list(title, map(describe_notice, some))) for title, some in warnings),
        list(write_table(found)),
        list(write_list("Notes", list_notes(plan))),
        list(write_folded("By graph", [line for block in list_blocks(plan) for line in block])),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"
