"""The forms of a picture: well-formed, the same each time, and safe with any text."""

import re
from dataclasses import replace

import pytest

from hooks.tools.offline.picture.dot import write_dot
from hooks.tools.offline.picture.mermaid import write_mermaid
from hooks.tools.offline.picture.parts import Box, BoxRole, Mood, Picture, State, clean
from tests.tools.offline.picture.drawn import DRAWN, ROOT, hostile, pictures_of

FORMS = {"mermaid": write_mermaid, "dot": write_dot}
TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?|->|[{}\[\];,=]')


@pytest.fixture(scope="module")
def pictures() -> list[Picture]:
    """The pictures of all examples."""
    return [picture for path in DRAWN for picture in pictures_of(path)]


def read_dot(text: str) -> list[str]:
    """The tokens of a text in DOT.

    Raises:
        ValueError: something is no token, or a bracket is not closed.
    """
    tokens, position = [], 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise ValueError(text[position : position + 40])
        tokens.append(match[0])
        position = match.end()
    found = [token for token in tokens if not token.isspace()]
    open_ = []
    for token in found:
        if token in {"{", "["}:
            open_.append(token)
        elif token in {"}", "]"} and open_.pop() + token not in {"{}", "[]"}:
            raise ValueError(token)
    if open_:
        raise ValueError(open_)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_form_is_the_same_each_time_and_shows_every_box(form: str, pictures: list[Picture]) -> None:
    text = FORMS[form](pictures)
    assert text == FORMS[form](tuple(pictures))
    assert text.endswith("\n")
    for word in ("vllm-planner", "Frontend", "KV transfer", "scales", "my-lora"):
        assert word in text


def test_dot_is_read_as_boxes_and_links(pictures: list[Picture]) -> None:
    tokens = read_dot(write_dot(pictures))
    assert tokens[:3] == ["digraph", "dynamo", "{"]
    assert tokens.count("subgraph") == len(pictures)
    assert tokens.count("->") == sum(len(picture.links) for picture in pictures)
    assert tokens.count("label") >= sum(len(picture.boxes) for picture in pictures)


def test_hostile_texts_do_not_leave_their_quotes_in_dot() -> None:
    plain, tokens = read_dot(write_dot([tame(hostile())])), read_dot(write_dot([hostile()]))
    assert [token for token in tokens if not token.startswith('"')] == [t for t in plain if not t.startswith('"')]


def test_hostile_texts_do_not_leave_their_quotes_in_mermaid() -> None:
    quoted = re.compile(r'"[^"]*"')
    hostile_text, plain = (write_mermaid([picture]) for picture in (hostile(), tame(hostile())))
    assert quoted.sub('""', hostile_text) == quoted.sub('""', plain)
    labels = quoted.findall(hostile_text)
    assert {tag for label in labels for tag in re.findall(r"<[^>]*>", label)} == {"<b>", "</b>", "<br/>"}
    assert not [label for label in labels if re.search(r"[`%{}\\]|#(?!\d+;)", label)]


def tame(picture: Picture) -> Picture:
    """The same picture with harmless texts."""
    state = State(mood=Mood.UNREADY, text="x")
    boxes = tuple(replace(box, title="x", lines=("x",) * len(box.lines), state=state) for box in picture.boxes)
    return replace(picture, title="x", subtitle="x", boxes=boxes, state=state)


def test_text_has_no_invisible_sign() -> None:
    assert clean("a\u202eb\u0000c\ud800d\n\te") == "a\ufffdb\ufffdc\ufffdd e"


def test_live_state_is_a_sign_and_words_in_every_form() -> None:
    state = State(mood=Mood.UNREADY, text="0 of 1 ready: ImagePull")
    box = Box(key="s0", role=BoxRole.WORKER, title="W", lines=(), state=state)
    picture = Picture(title="g", subtitle="x", boxes=(box,), links=(), state=State(mood=Mood.READY, text="Ready"))
    assert "✗ 0 of 1 ready: ImagePull" in write_dot([picture])
    assert "✓ Ready" in write_dot([picture])
    assert f"#{ord('✗')}; 0 of 1 ready: ImagePull" in write_mermaid([picture])


def test_picture_of_the_pages_is_true(request: pytest.FixtureRequest) -> None:
    page, mark = ROOT / "docs/offline.md", "<!-- picture: pictures/graph.svg -->"
    drawn = write_mermaid(pictures_of(ROOT / "examples/vllm-disagg-planner.yaml"))
    text = page.read_text()
    before, _, rest = text.partition(f"{mark}\n")
    after = rest.partition("<!-- /picture -->")[2]
    written = f"{before}{mark}\n```mermaid\n{drawn}```\n<!-- /picture -->{after}"
    if request.config.getoption("--update-golden"):
        page.write_text(written)
    assert page.read_text() == written
