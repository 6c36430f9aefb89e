"""A replay as text for a terminal: the counts first, then each graph, then resources, and what is lost or an error."""

from hooks.tools.offline.diff.text import titled, write_resources
from hooks.tools.offline.diff.tree import Style, plain
from hooks.tools.offline.diff.wording import describe_notice
from hooks.tools.offline.replay.plan import Replay
from hooks.tools.offline.replay.wording import (
    describe_source,
    list_blocks,
    list_earlier,
    list_failed,
    list_notes,
    summarize,
)


def write_text(replay: Replay, style: Style = plain) -> str:
    """The whole replay; ends with a newline."""
    found = replay.difference
    sections = (
        [style(summarize(replay), "bold"), describe_source(replay)],
        *list_blocks(replay, style),
        list(titled("Resources", write_resources(found), style)),
        list(titled("Gone afterwards", (style(describe_notice(one), "red") for one in found.lost), style)),
        list(titled("Refused", (style(describe_notice(one), "red") for one in found.refused), style)),
        list(titled("Errors", (style(line, "red") for line in list_failed(replay)), style)),
        list(titled("Only in earlier calls", list_earlier(replay), style)),
        list(titled("Notes", list_notes(replay), style)),
    )
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"
