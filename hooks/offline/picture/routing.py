"""The ways of the links between placed boxes: level and upright lines that never lie on each other.

A link leaves its sources to the right, and enters its targets from the left. In each room between two columns, it has
one upright line of its own, which all its sources and targets share. If its targets are not in the next column, it goes
through a level line of its own above all boxes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.offline.picture.layout import SLOT, Frame, Placed, enters_behind, find_gutters, needs_lane
from hooks.offline.picture.parts import Link, LinkKind

Point = tuple[float, float]
_APART = 5.0
_STRAIGHT = 30.0
_CORNER = 9.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A link's way: its lines, and the tips where it enters a target; a tip points to the right or to the left."""

    link: Link
    lines: tuple[tuple[Point, Point], ...]
    tips: tuple[tuple[Point, bool], ...]


@dataclass(frozen=True, slots=True)
class _Port:
    """Where a link meets a box: the number of the link, the box, and whether at its right side."""

    link: int
    key: str
    right: bool


def route_links(frame: Frame, links: Sequence[Link]) -> tuple[Route, ...]:
    """The ways of all links except those to discovery, whose boxes span all others."""
    column_of = {key: index for index, column in enumerate(frame.columns) for key in column}
    drawn = [link for link in links if link.kind is not LinkKind.DISCOVERY]
    places = {one.box.key: one for one in frame.placed}
    ports = _place_ports(drawn, places, column_of)
    slots = _assign_slots(drawn, column_of)
    risen = [number for number, link in enumerate(drawn) if needs_lane(link, column_of)]
    lanes = {number: lane for lane, number in enumerate(risen)}
    routes = []
    for number, link in enumerate(drawn):
        trunks = {g: frame.gutters[g] + 14 + SLOT * slot for (n, g), slot in slots.items() if n == number}
        way = _Way(number=number, link=link, trunks=trunks, lane=frame.lanes + SLOT * lanes.get(number, 0) + 6)
        routes.append(_route(way, ports, places, column_of))
    return tuple(routes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """A link with the places that are its own: an upright line in each gutter, and a level one above the boxes."""

    number: int
    link: Link
    trunks: Mapping[int, float]
    lane: float


def _route(
    way: _Way, ports: Mapping[_Port, float], places: Mapping[str, Placed], column_of: Mapping[str, int]
) -> Route:
    link, start = way.link, column_of[way.link.sources[0]] + 1
    reach: dict[int, list[float]] = {gutter: [] for gutter in way.trunks}
    lines: list[tuple[Point, Point]] = []
    tips: list[tuple[Point, bool]] = []
    for key in link.sources:
        y = ports[_Port(way.number, key, right=True)]
        lines.append(((places[key].x + places[key].width, y), (way.trunks[start], y)))
        reach[start].append(y)
    for key in link.targets:
        behind = enters_behind(link, key, column_of)
        gutter = start if behind else column_of[key]
        y = ports[_Port(way.number, key, right=behind)]
        edge = places[key].x + (places[key].width if behind else 0)
        lines.append(((way.trunks[gutter], y), (edge + (7 if behind else -7), y)))
        tips.append(((edge, y), not behind))
        reach[gutter].append(y)
    if len(reach) > 1:
        for ys in reach.values():
            ys.append(way.lane)
        xs = sorted(way.trunks.values())
        lines.append(((xs[0], way.lane), (xs[-1], way.lane)))
    lines += [
        ((way.trunks[g], min(ys)), (way.trunks[g], max(ys))) for g, ys in sorted(reach.items()) if min(ys) < max(ys)
    ]
    return Route(link=link, lines=tuple(lines), tips=tuple(tips))


def _assign_slots(links: Sequence[Link], column_of: Mapping[str, int]) -> dict[tuple[int, int], int]:
    """By link and gutter the number of the link's upright line there."""
    used: dict[int, int] = {}
    slots: dict[tuple[int, int], int] = {}
    for number, link in enumerate(links):
        for gutter in find_gutters(link, column_of):
            slots[number, gutter] = used.get(gutter, 0)
            used[gutter] = slots[number, gutter] + 1
    return slots


def _find_ports(links: Sequence[Link], column_of: Mapping[str, int]) -> Iterator[_Port]:
    for number, link in enumerate(links):
        for key in link.sources:
            yield _Port(number, key, right=True)
        for key in link.targets:
            yield _Port(number, key, right=enters_behind(link, key, column_of))


def _place_ports(
    links: Sequence[Link], places: Mapping[str, Placed], column_of: Mapping[str, int]
) -> dict[_Port, float]:
    """The height of each port: spread over the box's side, and apart from those across the gutter."""
    by_side: dict[tuple[str, bool], list[_Port]] = {}
    for port in _find_ports(links, column_of):
        by_side.setdefault((port.key, port.right), []).append(port)
    spread = {
        port: places[key].y + places[key].height * (index + 1) / (len(ports) + 1)
        for (key, _), ports in by_side.items()
        for index, port in enumerate(ports)
    }
    fixed: dict[_Port, float] = {}
    for port, y in sorted(spread.items(), key=lambda item: (not item[0].right, item[0].link, item[0].key)):
        gutter = column_of[port.key] + port.right
        same = {one: found for one, found in fixed.items() if column_of[one.key] + one.right == gutter}
        fixed[port] = _find_free(port, y, same, places[port.key])
    return fixed


def _find_free(port: _Port, wanted: float, taken: Mapping[_Port, float], place: Placed) -> float:
    """The nearest height to `wanted` that no other link has in the same gutter; that of the own link if it is near."""
    own = [
        y for one, y in taken.items() if one.link == port.link and one.key != port.key and abs(y - wanted) < _STRAIGHT
    ]
    others = [y for one, y in taken.items() if one.link != port.link or one.key == port.key]
    top, bottom = place.y + _CORNER, place.y + place.height - _CORNER
    for y in (*own, *(wanted + step * sign for step in range(0, 60, 2) for sign in (1, -1))):
        if top <= y <= bottom and all(abs(y - other) >= _APART for other in others):
            return y
    return wanted
