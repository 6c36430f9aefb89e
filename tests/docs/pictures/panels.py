"""One dashboard as an SVG: its panels where Grafana places them, with lines, numbers and tables of what it found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, COLUMNS, ROW = 1200, 24, 28
_PALETTE = ("#1f6feb", "#bf5700", "#1a7f37", "#8250df", "#cf222e", "#0969da", "#9a6700", "#57606a")
_LEGEND = 5
"""So many lines of a panel are named; the others are counted."""
_SVG = ' xmlns="http://www.w3.org/2000/svg" role="img" font-family="system-ui, sans-serif" font-size="12"'
_TEXT, _QUIET, _GRID = "#1f2328", "#57606a", "#d8dee4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A series: its legend, and points of seconds and values."""

    legend: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A panel with what its queries gave; the place is in Grafana's units."""

    title: str
    kind: str
    unit: str
    place: tuple[int, int, int, int]
    lines: tuple[Line, ...]


def draw_dashboard(title: str, panels: Sequence[Drawn], mark: str) -> str:
    """The picture. `mark` is a comment that says what it was drawn from."""
    height = max(panel.place[1] + panel.place[3] for panel in panels) * ROW + 56
    return "\n".join(
        (
            f"<!-- {mark} -->",
            f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"{_SVG}>',
            f"<title>{escape(title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#eceff2"/>',
            f'<text x="16" y="32" font-size="20" font-weight="600" fill="{_TEXT}">{escape(title)}</text>',
            *(part for panel in panels for part in _draw_panel(panel)),
            "</svg>",
            "",
        )
    )


def _draw_panel(panel: Drawn) -> Iterator[str]:
    x, y, w, h = (round(size * unit) for size, unit in zip(panel.place, (WIDTH / COLUMNS, ROW) * 2, strict=True))
    width, height = w - 12, h - 10
    yield f'<g transform="translate({x + 6}, {y + 50})"><rect width="{width}" height="{height}" rx="4" fill="#ffffff"/>'
    if panel.kind == "row":
        yield f'<text x="10" y="{height / 2 + 4:g}" font-weight="600" fill="{_TEXT}">{escape(panel.title)}</text></g>'
        return
    yield f'<text x="10" y="20" font-weight="600" fill="{_TEXT}">{escape(panel.title)}</text>'
    if not panel.lines:
        yield f'<text x="{width / 2:g}" y="{height / 2:g}" text-anchor="middle" fill="{_QUIET}">no data</text>'
    elif panel.kind in {"stat", "gauge"}:
        yield from _draw_numbers(panel, width, height)
    elif panel.kind == "table":
        yield from _draw_rows(panel)
    else:
        yield from _draw_lines(panel, width, height)
    yield "</g>"


def _draw_numbers(panel: Drawn, width: int, height: int) -> Iterator[str]:
    each = width / len(panel.lines)
    for number, line in enumerate(panel.lines):
        middle = each * (number + 0.5)
        value, legend = format_value(line.points[-1][1], panel.unit), escape(line.legend)
        place = f'x="{middle:g}" text-anchor="middle"'
        yield f'<text {place} y="{height / 2 + 18:g}" font-size="30" fill="#1a7f37">{value}</text>'
        yield f'<text {place} y="{height - 14}" fill="{_QUIET}">{legend}</text>'


def _draw_rows(panel: Drawn) -> Iterator[str]:
    for number, line in enumerate(panel.lines):
        value = format_value(line.points[-1][1], panel.unit)
        yield f'<text x="10" y="{48 + 20 * number}" fill="{_TEXT}">{escape(line.legend)}: {value}</text>'


def _draw_lines(panel: Drawn, width: int, height: int) -> Iterator[str]:
    """Lines over a grid, below them the legend with the last values."""
    named = panel.lines[:_LEGEND]
    left, top, right, bottom = 62, 34, width - 14, height - 22 - 15 * (len(named) + (len(panel.lines) > _LEGEND))
    times = [time for line in panel.lines for time, _ in line.points]
    first, last = min(times), max(times)
    highest = max(value for line in panel.lines for _, value in line.points) or 1.0
    for part in (0.0, 0.5, 1.0):
        at = bottom - (bottom - top) * part
        yield f'<path d="M{left} {at:g}H{right}" stroke="{_GRID}"/>'
        label = format_value(highest * part, panel.unit)
        yield f'<text x="{left - 6}" y="{at + 4:g}" font-size="11" text-anchor="end" fill="{_QUIET}">{label}</text>'
    for number, line in enumerate(panel.lines):
        color = _PALETTE[number % len(_PALETTE)]
        places = (
            f"{left + (right - left) * (time - first) / ((last - first) or 1):.0f} "
            f"{bottom - (bottom - top) * value / highest:.1f}"
            for time, value in line.points
        )
        yield f'<path d="M{"L".join(places)}" fill="none" stroke="{color}" stroke-width="1.8"/>'
    for number, line in enumerate(named):
        at, color = bottom + 22 + 15 * number, _PALETTE[number % len(_PALETTE)]
        value = format_value(line.points[-1][1], panel.unit)
        yield f'<path d="M{left} {at - 4}h14" stroke="{color}" stroke-width="3"/>'
        yield f'<text x="{left + 20}" y="{at}" font-size="11" fill="{_TEXT}">{escape(line.legend)}: {value}</text>'
    if len(panel.lines) > _LEGEND:
        at, more = bottom + 22 + 15 * _LEGEND, len(panel.lines) - _LEGEND
        yield f'<text x="{left + 20}" y="{at}" font-size="11" fill="{_QUIET}">and {more} more</text>'


def format_value(value: float, unit: str) -> str:
    """The value as Grafana would show it: seconds in ms, bytes in MiB."""
    match unit:
        case "s" if value and abs(value) < 1:
            return f"{_round(value * 1000)} ms"
        case "s":
            return _scale(value, ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s")), 2)
        case "bytes":
            return _scale(value, ((2**20, "MiB"), (2**10, "KiB"), (1, "B")), 1)
        case "percent":
            return f"{_round(value)}%"
        case "ops":
            return f"{_round(value)}/s"
        case _:
            return _round(value)


def _scale(value: float, units: Sequence[tuple[int, str]], least: int) -> str:
    """The value in the largest unit of which it has at least so many; the last one is for all others."""
    size, name = next((unit for unit in units if value >= least * unit[0]), units[-1])
    return f"{_round(value / size)} {name}"


def _round(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
