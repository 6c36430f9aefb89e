"""Where the parts of a picture are: nothing lies on anything else, and every text is within its box."""

from itertools import combinations, pairwise

import pytest

from hooks.offline.picture.layout import PADDING, Frame, place_boxes
from hooks.offline.picture.lettering import measure, wrap
from hooks.offline.picture.parts import LinkKind, Picture
from hooks.offline.picture.routing import Point, route_links
from tests import make
from tests.offline.picture.drawn import DRAWN, draw, engine, hostile, model, pictures_of


def large() -> Picture:
    """A graph with as many services as there may be, models, and long names."""
    base = {"modelRef": {"name": "m/1"}}
    services = {
        **{f"Frontend{index}": make.service("frontend") for index in range(3)},
        **{f"planner-{index}": make.service("planner") for index in range(2)},
        **{f"prefill-{'x' * 40}-{index}": engine(f"m/{index % 3}", type="prefill") for index in range(8)},
        **{f"d{index}": engine(f"m/{index % 3}", type="decode", **base) for index in range(8)},
        **{f"w{index}": engine("m/9", scalingAdapter={"enabled": True}, **base) for index in range(4)},
    }
    return draw(make.graph(services), *(model(f"a{index}", "m/1") for index in range(5)))


PICTURES = {
    **{path.stem: pictures_of(path)[0] for path in DRAWN},
    "large": large(),
    "hostile": hostile(),
    "wide letters": draw(make.graph({"W": engine("模型" * 60)}, name="w" * 40)),
}
every_picture = pytest.mark.parametrize("name", PICTURES)


def frame_of(name: str) -> Frame:
    return place_boxes(PICTURES[name], with_title=True)


@every_picture
def test_boxes_do_not_touch_each_other(name: str) -> None:
    frame = frame_of(name)
    for one, other in combinations(frame.placed, 2):
        is_beside = one.x + one.width < other.x or other.x + other.width < one.x
        is_above = one.y + one.height < other.y or other.y + other.height < one.y
        assert is_beside or is_above, (one.box.title, other.box.title)
    assert all(
        one.x >= 0 and one.x + one.width <= frame.width and one.y + one.height <= frame.bottom for one in frame.placed
    )


@every_picture
def test_texts_stay_in_their_boxes(name: str) -> None:
    frame = frame_of(name)
    for one in frame.placed:
        assert one.texts
        for text in one.texts:
            assert text.x + text.width <= one.x + one.width - PADDING + 0.1
            assert one.y + 8 < text.y < one.y + one.height - 3
        assert all(upper.y + 10 < lower.y for upper, lower in pairwise(one.texts))
    for text in frame.heading:
        assert text.x + text.width <= frame.width
        assert all(text.y < one.y for one in frame.placed)


@every_picture
def test_every_text_of_a_box_is_written_whole(name: str) -> None:
    for one in frame_of(name).placed:
        written = "".join(text.text for text in one.texts).replace(" ", "")
        state = (one.box.state.line,) if one.box.state else ()
        wanted = "".join((one.box.role.value, one.box.title, *one.box.lines, *state)).replace(" ", "")
        assert written == wanted


def crosses(line: tuple[Point, Point], x: float, y: float, width: float, height: float) -> bool:
    (ax, ay), (bx, by) = line
    return min(ax, bx) < x + width and max(ax, bx) > x and min(ay, by) < y + height and max(ay, by) > y


def lie_on_each_other(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    for axis in (0, 1):
        is_level = one[0][axis] == one[1][axis] and other[0][axis] == other[1][axis]
        along = 1 - axis
        low, high = (
            max(min(a[along], b[along]) for a, b in (one, other)),
            min(max(a[along], b[along]) for a, b in (one, other)),
        )
        if is_level and abs(one[0][axis] - other[0][axis]) < 3 and high - low > 1:
            return True
    return False


@every_picture
def test_links_cross_no_box_and_lie_on_no_other_link(name: str) -> None:
    picture, frame = PICTURES[name], frame_of(name)
    routes = route_links(frame, picture.links)
    assert len(routes) == sum(link.kind is not LinkKind.DISCOVERY for link in picture.links)
    for route in routes:
        for line in route.lines:
            assert all(a[0] == b[0] or a[1] == b[1] for a, b in [line])
            assert not [p.box.title for p in frame.placed if crosses(line, p.x, p.y, p.width, p.height)]
            assert all(0 <= x <= frame.width and 0 <= y <= frame.bottom for x, y in line)
    for one, other in combinations(routes, 2):
        assert not [(a, b) for a in one.lines for b in other.lines if lie_on_each_other(a, b)], (one.link, other.link)


@every_picture
def test_links_reach_every_source_and_target(name: str) -> None:
    picture, frame = PICTURES[name], frame_of(name)
    places = {one.box.key: one for one in frame.placed}
    for route in route_links(frame, picture.links):
        sides = [(x, y) for (x, y), _ in route.tips]
        assert len(sides) == len(route.link.targets)
        for key, (x, y) in zip(route.link.targets, sides, strict=True):
            place = places[key]
            assert x in {place.x, place.x + place.width}
            assert place.y < y < place.y + place.height


@pytest.mark.parametrize(
    ("text", "width", "wanted"),
    [
        ("short", 100, ("short",)),
        ("Service a-long-name :8000", 130, ("Service", "a-long-name :8000")),
        ("one two three", 60, ("one two", "three")),
        ("x" * 9, 26, ("xxx", "xxx", "xxx")),
        ("", 10, ("",)),
    ],
)
def test_wrap_breaks_where_a_person_would(text: str, width: float, wanted: tuple[str, ...]) -> None:
    assert wrap(text, width, 12.5) == wanted


def test_wrapped_lines_fit() -> None:
    text = "vllm-runtime:1.0@sha256:abc " * 9
    assert all(measure(line, 12.5) <= 90 for line in wrap(text, 90, 12.5))
