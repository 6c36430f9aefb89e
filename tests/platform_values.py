"""The table that maps the values of the Go operator's platform chart to ours, made from the chart's own list."""

from dataclasses import dataclass
from pathlib import Path

import yaml

LIST = Path(__file__).parent.parent / "chart" / "platform" / "files" / "upstream-values.yaml"

_HEAD = """# Values of the Go operator's platform chart

Every value of the chart `dynamo-platform` of the Go operator (releases 0.8 and 0.9, and at the end what 1.0 added), and
what replaces it in the chart `chart/platform` of this project. The chart of the hooks has no `dynamo-hooks.` in front.

This page is made from `chart/platform/files/upstream-values.yaml`, as the chart's own messages are.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A value there, the value here (empty if there is none), and a remark."""

    upstream: str
    ours: str = ""
    why: str = ""

    def to_markdown(self) -> str:
        return f"| `{self.upstream}` | {f'`{self.ours}`' if self.ours else 'none'} | {self.why} |"


def read_rows() -> list[Row]:
    """All rows, in the order of the file."""
    return [Row(**entry) for entry in yaml.safe_load(LIST.read_text())]


def write_page() -> str:
    """The page `docs/platform-values.md`."""
    rows = [row.to_markdown() for row in read_rows()]
    return "\n".join([_HEAD, "| value there | value here | remark |", "|---|---|---|", *rows]) + "\n"
