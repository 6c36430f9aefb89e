"""A picture as SVG: readable in a light and in a dark surrounding, without a script, a font or anything from outside.

Programs that know no media queries draw the light one.
"""

from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape

from hooks.offline.picture.layout import MARGIN, SIZES, Frame, Placed, Style, measure_text, place_boxes
from hooks.offline.picture.parts import LinkKind, Picture, Role
from hooks.offline.picture.routing import Route, route_links

_LIGHT = {
    "page": "#ffffff", "text": "#1b1f24", "soft": "#57606a", "fill": "#f6f8fa",
    "ready": "#116329", "waiting": "#7d4e00", "unready": "#b3151d",
    "entry": "#0b6470", "front": "#0b57b0", "plan": "#6f3fc0", "prefill": "#9a4100", "decode": "#116329",
    "model": "#99286e", "other": "#57606a",
}  # fmt: skip
_DARK = {
    "page": "#0d1117", "text": "#e6edf3", "soft": "#9aa6b2", "fill": "#161b22",
    "ready": "#7ee787", "waiting": "#e3b341", "unready": "#ff9a94",
    "entry": "#76e3ea", "front": "#79b8ff", "plan": "#c8a6ff", "prefill": "#ffab70", "decode": "#7ee787",
    "model": "#ff9bd2", "other": "#9aa6b2",
}  # fmt: skip
_ROLES = {
    Role.GATEWAY: "entry",
    Role.FRONTEND: "front",
    Role.PICKER: "front",
    Role.PLANNER: "plan",
    Role.OTHER: "other",
    Role.PREFILL: "prefill",
    Role.DECODE: "decode",
    Role.WORKER: "decode",
    Role.ADAPTER: "model",
    Role.MODEL: "model",
    Role.DISCOVERY: "other",
}
_LINKS = {
    LinkKind.REQUESTS: ("front", "1.6", ""),
    LinkKind.PICKING: ("entry", "1.6", "2 3"),
    LinkKind.TRANSFER: ("prefill", "3.4", ""),
    LinkKind.SCALING: ("plan", "1.6", "7 4"),
    LinkKind.LOADING: ("model", "1.6", "2 3"),
}
"""By kind of link: its color, its width, its dashes."""
_FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


def write_svg(pictures: Sequence[Picture]) -> str:
    """One SVG with all pictures, one below the other."""
    return "\n".join(draw_svg(pictures, STYLE_SHEET, with_title=True)) + "\n"


def draw_svg(pictures: Sequence[Picture], style: str, *, with_title: bool) -> Iterator[str]:
    """The lines of an SVG; `style` is its style sheet, empty within a page that has it."""
    frames = [place_boxes(picture, with_title=with_title) for picture in pictures]
    legends = [_measure_legend(picture, frame.width) for picture, frame in zip(pictures, frames, strict=True)]
    heights = [frame.bottom + legend + 12 for frame, legend in zip(frames, legends, strict=True)]
    width, height = max(frame.width for frame in frames), sum(heights)
    names = ", ".join(picture.title for picture in pictures)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dynamo" viewBox="0 0 {_n(width)} {_n(height)}" '
        f'width="{_n(width)}" height="{_n(height)}" role="img" aria-label="{_attribute(f"Topology of {names}")}">'
    )
    if style:
        yield f"<style>{style}</style>"
    yield f'<rect class="page" width="{_n(width)}" height="{_n(height)}"/>'
    top = 0.0
    for picture, frame, own in zip(pictures, frames, heights, strict=True):
        yield f'<g transform="translate(0 {_n(top)})">'
        yield from _draw(picture, frame)
        yield "</g>"
        top += own
    yield "</svg>"


def _draw(picture: Picture, frame: Frame) -> Iterator[str]:
    for text in frame.heading:
        yield _text(text.text, text.style.value, text.x, text.y)
    for route in route_links(frame, picture.links):
        yield from _draw_route(route)
    for placed in frame.placed:
        yield from _draw_box(placed)
    yield from _draw_legend(picture, frame)


def _draw_box(placed: Placed) -> Iterator[str]:
    box = placed.box
    yield f'<g class="box {_ROLES[box.role]}">'
    yield (
        f'<rect x="{_n(placed.x)}" y="{_n(placed.y)}" width="{_n(placed.width)}" height="{_n(placed.height)}" rx="7"/>'
    )
    for text in placed.texts:
        yield _text(text.text, text.style.value, text.x, text.y)
    yield "</g>"


def _draw_route(route: Route) -> Iterator[str]:
    color, width, dashes = _LINKS[route.link.kind]
    path = "".join(f"M{_n(ax)} {_n(ay)}L{_n(bx)} {_n(by)}" for (ax, ay), (bx, by) in route.lines)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    yield f'<g class="link {color}"><title>{escape(route.link.kind.value)}</title>'
    yield f'<path d="{path}" stroke-width="{width}"{dashed}/>'
    for (x, y), points_right in route.tips:
        back = x - 9 if points_right else x + 9
        yield f'<polygon points="{_n(x)},{_n(y)} {_n(back)},{_n(y - 5)} {_n(back)},{_n(y + 5)}"/>'
    yield "</g>"


def _kinds_of(picture: Picture) -> list[LinkKind]:
    shown = {link.kind for link in picture.links}
    return [kind for kind in LinkKind if kind in shown and kind in _LINKS]


def _place_legend(picture: Picture, width: float) -> Iterator[tuple[LinkKind, float, float]]:
    """The kinds of links in a picture, each with its place below the boxes."""
    x, y = MARGIN, 16.0
    for kind in _kinds_of(picture):
        needed = 48 + measure_text(kind.value, Style.NOTE)
        if x > MARGIN and x + needed > width - MARGIN:
            x, y = MARGIN, y + 20
        yield kind, x, y
        x += needed + 18


def _measure_legend(picture: Picture, width: float) -> float:
    return max((y for _, _, y in _place_legend(picture, width)), default=0.0) + 4


def _draw_legend(picture: Picture, frame: Frame) -> Iterator[str]:
    for kind, x, below in _place_legend(picture, frame.width):
        color, width, dashes = _LINKS[kind]
        y = frame.bottom + below
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield (
            f'<g class="link {color}"><path d="M{_n(x)} {_n(y - 4)}L{_n(x + 28)} {_n(y - 4)}" '
            f'stroke-width="{width}"{dashed}/>'
            f'<polygon points="{_n(x + 36)},{_n(y - 4)} {_n(x + 27)},{_n(y - 9)} {_n(x + 27)},{_n(y + 1)}"/></g>'
        )
        yield _text(kind.value, "note", x + 44, y)


def _text(text: str, style: str, x: float, y: float) -> str:
    return f'<text class="{style}" x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _rules(colors: dict[str, str], names: Iterable[str]) -> Iterator[str]:
    yield f".dynamo .page{{fill:{colors['page']}}}"
    yield f".dynamo text{{fill:{colors['text']}}}"
    yield f".dynamo .note,.dynamo .line{{fill:{colors['soft']}}}"
    for mood in ("ready", "waiting", "unready"):
        yield f".dynamo text.{mood}{{fill:{colors[mood]}}}"
    yield f".dynamo .box rect{{fill:{colors['fill']}}}"
    for name in names:
        color = colors[name]
        yield f".dynamo .{name} rect,.dynamo .{name} path{{stroke:{color}}}"
        yield f".dynamo .{name} .role,.dynamo .{name} polygon{{fill:{color}}}"


def _write_style_sheet() -> str:
    names = tuple(dict.fromkeys(_ROLES.values()))
    sizes = "".join(f".dynamo .{style.value}{{font-size:{_n(size)}px}}" for style, size in SIZES.items())
    fixed = (
        f".dynamo text{{font:12.5px {_FONT};white-space:pre}}"
        ".dynamo .box rect{stroke-width:1.4}.dynamo .link path{fill:none;stroke-linecap:square}"
        ".dynamo .link path[stroke-dasharray]{stroke-linecap:butt}"
        ".dynamo .heading,.dynamo .title,.dynamo .role,.dynamo .ready,.dynamo .waiting,.dynamo .unready"
        f"{{font-weight:600}}{sizes}"
    )
    dark = "".join(_rules(_DARK, names))
    return f"{fixed}{''.join(_rules(_LIGHT, names))}@media(prefers-color-scheme:dark){{{dark}}}"


STYLE_SHEET = _write_style_sheet()
"""The rules for all pictures."""
