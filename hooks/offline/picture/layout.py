"""Where the boxes of a picture are: columns from left to right, in the way of a request, with adapters below.

entries → frontends → planners and others → prefill → decode, workers and, below them, models; discovery spans them all.
Lengths are pixels. `routing` finds the ways of the links.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hooks.offline.picture.lettering import measure, wrap
from hooks.offline.picture.parts import Box, Link, LinkKind, Mood, Picture, Role

MARGIN = 24.0
PADDING = 14.0
SLOT = 14.0
"""Between two links side by side."""

_LEAST_GUTTER = 40.0
_SPACING = 22.0
_TEXT_WIDTH = 285.0
_LEAST_TEXT = 110.0
_LEAST_WIDTH = 420.0
_LOWERED = 100.0
"""How much lower than the tallest column another may begin."""


class Style(StrEnum):
    """How a text is written."""

    HEADING = "heading"
    NOTE = "note"
    ROLE = "role"
    TITLE = "title"
    LINE = "line"
    READY = "ready"
    WAITING = "waiting"
    UNREADY = "unready"


SIZES = {Style.HEADING: 19.0, Style.ROLE: 11.0, Style.TITLE: 15.0}
"""The size of each style's font; 12.5 for all others."""
_BOLD = frozenset({Style.HEADING, Style.TITLE, Style.ROLE, Style.READY, Style.WAITING, Style.UNREADY})
_MOODS = {Mood.READY: Style.READY, Mood.WAITING: Style.WAITING, Mood.UNREADY: Style.UNREADY}

_COLUMNS = (
    (Role.GATEWAY,),
    (Role.FRONTEND, Role.PICKER),
    (Role.PLANNER, Role.OTHER),
    (Role.PREFILL,),
    (Role.DECODE, Role.WORKER, Role.MODEL, Role.ADAPTER),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A line of text; `x` is its left end and `y` its base line."""

    text: str
    style: Style
    x: float
    y: float

    @property
    def width(self) -> float:
        """How wide it may become."""
        return measure_text(self.text, self.style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A box with its place and its texts."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """All boxes of a picture in their places, the heading above them, and the room for links.

    `columns` holds the keys by column. `gutters` are the left ends of the rooms before each column, and after the last
    one. `lanes` is the top of the room above the boxes; the boxes end at `bottom`.
    """

    heading: tuple[Text, ...]
    placed: tuple[Placed, ...]
    columns: tuple[tuple[str, ...], ...]
    gutters: tuple[float, ...]
    lanes: float
    width: float
    bottom: float


def place_boxes(picture: Picture, *, with_title: bool) -> Frame:
    """Place the boxes; `with_title` writes the picture's title above them."""
    columns = [[box for role in roles for box in picture.boxes if box.role is role] for roles in _COLUMNS]
    columns = [column for column in columns if column]
    column_of = {box.key: index for index, column in enumerate(columns) for box in column}
    gutters = _measure_gutters(picture.links, column_of, len(columns))
    widths = [max(_text_width(box) for box in column) + 2 * PADDING for column in columns]
    full = max(sum(widths) + sum(gutters) + 2 * MARGIN, _LEAST_WIDTH)
    heading = tuple(_write_heading(picture, full - 2 * MARGIN, with_title=with_title))
    lanes = max((text.y for text in heading), default=MARGIN - 8) + 14
    top = lanes + SLOT * sum(needs_lane(link, column_of) for link in picture.links) + 8
    heights = [[_height(box, _TEXT_WIDTH) for box in column] for column, width in zip(columns, widths, strict=True)]
    tallest = max((_stack(column) for column in heights), default=0.0)
    placed: list[Placed] = []
    starts: list[float] = []
    x = MARGIN
    for column, width, of_column, gutter in zip(columns, widths, heights, gutters, strict=False):
        starts.append(x)
        x += gutter
        y = top + min((tallest - _stack(of_column)) / 2, _LOWERED)
        for box, height in zip(column, of_column, strict=True):
            placed.append(_place(box, x, y, width=width, height=height))
            y += height + _SPACING
        x += width
    bars, bottom = _place_bars(picture, full - 2 * MARGIN, top + tallest + _SPACING)
    return Frame(
        heading=heading,
        placed=(*placed, *bars),
        columns=tuple(tuple(box.key for box in column) for column in columns),
        gutters=(*starts, x),
        lanes=lanes,
        width=full,
        bottom=bottom,
    )


def measure_text(text: str, style: Style) -> float:
    """How wide a text of a style may become."""
    return measure(text, SIZES.get(style, 12.5), bold=style in _BOLD)


def _measure_gutters(links: Sequence[Link], column_of: Mapping[str, int], columns: int) -> list[float]:
    """The widths of the rooms before each column and after the last; each link that uses one has a slot there."""
    slots = [0] * (columns + 1)
    for link in links:
        for gutter in find_gutters(link, column_of):
            slots[gutter] += 1
    inner = [max(_LEAST_GUTTER, 34 + SLOT * count) for count in slots]
    # The outer ones are only as wide as they must be.
    return [width if 0 < index < columns or slots[index] else 0.0 for index, width in enumerate(inner)]


def find_gutters(link: Link, column_of: Mapping[str, int]) -> tuple[int, ...]:
    """The gutters that a link uses, by index: that behind its sources, and those before its targets' columns."""
    if link.kind is LinkKind.DISCOVERY:
        return ()
    start = column_of[link.sources[0]] + 1
    ends = {start if enters_behind(link, key, column_of) else column_of[key] for key in link.targets}
    return tuple(sorted({start, *ends}))


def needs_lane(link: Link, column_of: Mapping[str, int]) -> bool:
    """Whether a link goes through a line above all boxes, because its targets are not in the next column."""
    return len(find_gutters(link, column_of)) > 1


def enters_behind(link: Link, target: str, column_of: Mapping[str, int]) -> bool:
    """Whether a link enters its target from the right: an adapter that is below its worker."""
    return link.kind is LinkKind.LOADING and column_of[target] == column_of[link.sources[0]]


def _stack(heights: Sequence[float]) -> float:
    return sum(heights) + _SPACING * max(len(heights) - 1, 0)


def _write_heading(picture: Picture, width: float, *, with_title: bool) -> Iterator[Text]:
    y = MARGIN
    parts = [(picture.title, Style.HEADING), (picture.subtitle, Style.NOTE)] if with_title else []
    if picture.state is not None and with_title:
        parts.append((picture.state.line, _MOODS[picture.state.mood]))
    for text, style in parts:
        for line in _wrap_text(text, width, style):
            y += 24 if style is Style.HEADING else 18
            yield Text(text=line, style=style, x=MARGIN, y=y - 8)


def _rows(box: Box, width: float) -> Iterator[tuple[str, Style, float]]:
    """The lines of a box, each with its style and its height."""
    yield box.role.value, Style.ROLE, 16.0
    for line in _wrap_text(box.title, width, Style.TITLE):
        yield line, Style.TITLE, 20.0
    for text in box.lines:
        for line in _wrap_text(text, width, Style.LINE):
            yield line, Style.LINE, 17.0
    if box.state is not None:
        style = _MOODS[box.state.mood]
        for line in _wrap_text(box.state.line, width, style):
            yield line, style, 18.0


def _wrap_text(text: str, width: float, style: Style) -> tuple[str, ...]:
    return wrap(text, width, SIZES.get(style, 12.5), bold=style in _BOLD)


def _text_width(box: Box) -> float:
    return max(_LEAST_TEXT, *(measure_text(text, style) for text, style, _ in _rows(box, _TEXT_WIDTH)))


def _height(box: Box, width: float) -> float:
    return sum(height for _, _, height in _rows(box, width)) + 2 * PADDING - 6


def _place(box: Box, x: float, y: float, *, width: float, height: float) -> Placed:
    is_bar, texts = box.role is Role.DISCOVERY, []
    base = y + PADDING - 7
    for text, style, step in _rows(box, width - 2 * PADDING if is_bar else _TEXT_WIDTH):
        base += step
        texts.append(Text(text=text, style=style, x=x + PADDING, y=base))
    return Placed(box=box, x=x, y=y, width=width, height=height, texts=tuple(texts))


def _place_bars(picture: Picture, width: float, top: float) -> tuple[tuple[Placed, ...], float]:
    """The boxes of discovery, one below the other, each as wide as the picture; and where they end."""
    bars: list[Placed] = []
    y = top
    for box in picture.boxes:
        if box.role is Role.DISCOVERY:
            height = _height(box, width - 2 * PADDING)
            bars.append(_place(box, MARGIN, y, width=width, height=height))
            y += height + 12
    return tuple(bars), y
