"""A replay as Markdown for a comment on a pull request: the counts first, the graphs folded away."""

from hooks.tools.offline.diff.markdown import escape, write_folded, write_list, write_resources
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


def write_markdown(replay: Replay) -> str:
    """The whole replay; ends with a newline."""
    found = replay.difference
    parts = (
        [f"**{escape(summarize(replay))}**"],
        [escape(describe_source(replay))],
        list(write_list("Errors", list_failed(replay))),
        list(write_list("Refused", map(describe_notice, found.refused))),
        list(write_list("Gone afterwards", map(describe_notice, found.lost))),
        list(write_resources(found)),
        list(write_list("Notes", list_notes(replay))),
        list(write_folded("By graph", [line for block in list_blocks(replay) for line in block])),
        list(write_folded("Only in earlier calls", [*list_earlier(replay)])),
    )
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"
