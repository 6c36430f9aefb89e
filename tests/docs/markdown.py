"""What a Markdown file links to, the anchors that it has, and its blocks of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^ *```", re.DOTALL | re.MULTILINE)
_INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE_LINK = re.compile(r"^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
_MARK = re.compile(r"<!-- (?P<mark>[a-z]+)(?:: (?P<argument>[^>]*?))? -->\n\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of code: its language, its text, the comment `<!-- mark: argument -->` above it, and its line."""

    language: str
    text: str
    mark: str
    argument: str
    line: int


def read_blocks(page: Path) -> list[Block]:
    """All blocks of code of a page, in order."""
    return list(_read_blocks(page.read_text(encoding="utf-8")))


def _read_blocks(text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        mark = _MARK.search(text[: found.start()])
        yield Block(
            language=found["language"],
            text="".join(line.removeprefix(found["indent"]) for line in found["text"].splitlines(keepends=True)),
            mark=mark["mark"] if mark else "",
            argument=(mark["argument"] or "") if mark else "",
            line=text.count("\n", 0, found.start()) + 1,
        )


def find_links(page: Path) -> list[str]:
    """The targets of all links of a page, outside its code."""
    text = _without_code(page.read_text(encoding="utf-8"))
    return [*_INLINE_LINK.findall(text), *_REFERENCE_LINK.findall(text)]


def find_anchors(page: Path) -> set[str]:
    """What may stand behind `#` in a link to the page: its headings as GitHub writes them, and `<a id="…">`."""
    text = page.read_text(encoding="utf-8")
    anchors: list[str] = []
    for title in re.findall(r"^#{1,6} +(.+?) *#*$", _FENCE.sub("", text), re.MULTILINE):
        slug = _slug(title)
        taken = sum(1 for one in anchors if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", one))
        anchors.append(f"{slug}-{taken}" if taken else slug)
    return {*anchors, *re.findall(r'<a id="([^"]+)"', text)}


def _slug(title: str) -> str:
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))
