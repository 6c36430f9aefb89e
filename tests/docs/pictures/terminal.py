"""Casts: what commands print, as an SVG of a terminal that scrolls. Rich draws the text; it stays text.

Where motion is unwanted, and in a printed page, the picture is the end of the cast.
"""

import io
import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

COLUMNS, ROWS = 120, 28
LINE, CHAR = 24.4, 12.2
"""Height of a line and width of a character, as Rich draws them."""
SECONDS = 0.16
"""How long a line is new."""
STILL = 6.0
"""How long the end is shown, in seconds, before the cast begins again."""

_FORMAT = """\
<svg viewBox="0 0 {{width}} {height:g}" width="{{width}}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>{title}</title>
<style>
text {{{{ font: {{char_height}}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }}}}
.bar {{{{ fill: #c9d1d9; font-weight: bold; text-anchor: middle }}}}
.cast {{{{ transform: translateY({end:g}px) }}}}
.curtain {{{{ fill: #0d1117; transform: translateY({window:g}px) }}}}
@media (prefers-reduced-motion: no-preference) {{{{
  .curtain {{{{ animation: rise {seconds:g}s steps({shown}) infinite }}}}
  .cast {{{{ animation: scroll {seconds:g}s steps({scrolled}) infinite }}}}
}}}}
@keyframes rise {{{{
  0% {{{{ transform: translateY({line:g}px) }}}}
  {full:g}%, 100% {{{{ transform: translateY({window:g}px) }}}}
}}}}
@keyframes scroll {{{{
  0%, {full:g}% {{{{ transform: translateY(0) }}}}
  {done:g}%, 100% {{{{ transform: translateY({end:g}px) }}}}
}}}}
{{styles}}
</style>
<defs><clipPath id="window"><rect width="{{terminal_width}}" height="{window:g}"/></clipPath>{{lines}}</defs>
<rect x="1" y="1" width="{inner:g}" height="{bottom:g}" rx="8" fill="#0d1117" stroke="#6e7681"/>
<circle cx="26" cy="22" r="7" fill="#ff5f57"/><circle cx="48" cy="22" r="7" fill="#febc2e"/>
<circle cx="70" cy="22" r="7" fill="#28c840"/><text class="bar" x="{middle:g}" y="28">{title}</text>
<g transform="translate({{terminal_x}}, {{terminal_y}})" clip-path="url(#window)">
<g class="cast">{{backgrounds}}{{matrix}}</g><rect class="curtain" width="{{terminal_width}}" height="{window:g}"/>
</g>
</svg>
"""


def draw_terminal(lines: Sequence[Text], title: str) -> str:
    """The lines, one after the other, in a terminal of that title."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    wrapped = [part for line in lines for part in line.wrap(console, COLUMNS)]
    for part in wrapped:
        console.print(part, soft_wrap=True)
    title_and_places = {"title": title, **_place(len(wrapped))}
    return console.export_svg(code_format=_FORMAT.format(**title_and_places), unique_id="t")


def _place(lines: int) -> dict[str, float]:
    """Sizes, and when the window is full and the end is reached, in percent of the cast."""
    rows = min(ROWS, lines)
    seconds = lines * SECONDS + STILL
    return {
        "line": LINE,
        "window": rows * LINE,
        "end": (rows - lines) * LINE,
        "shown": max(1, rows - 1),
        "scrolled": max(1, lines - rows),
        "seconds": seconds,
        "full": round(100 * rows * SECONDS / seconds, 2),
        "done": round(100 * lines * SECONDS / seconds, 2) + 0.01,
        "height": rows * LINE + 52,
        "bottom": rows * LINE + 49,
        "inner": COLUMNS * CHAR + 15,
        "middle": COLUMNS * CHAR / 2,
    }


def prompt(command: str) -> Text:
    """A line in which a person types a command."""
    return Text.assemble(("$ ", "bold green"), (command, "bold"))


def read_terminal(svg: str) -> list[str]:
    """The lines of text in a cast, without blanks at their ends."""
    found: dict[int, list[tuple[float, str]]] = defaultdict(list)
    for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314 - our own file
        line = re.fullmatch(r"url\(#t-line-(\d+)\)", text.get("clip-path", ""))
        if line:
            found[int(line[1])].append((float(text.get("x", "0")), (text.text or "").replace("\xa0", " ")))
    return [_join(found[number]) for number in range(max(found) + 1)]


def _join(parts: Sequence[tuple[float, str]]) -> str:
    line = ""
    for x, text in sorted(parts):
        line = line.ljust(round(x / CHAR)) + text
    return line.rstrip()
