"""What the site makes of a page's Markdown before Sphinx reads it. Pure: text in, text out."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

Entry = str | Mapping[str, "str | Sequence[str]"]
"""A line of the menu: the index, a page under another title, or a caption with its pages."""

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>(?:\.\./)+[^)\s]+)\)")
_README = re.compile(r"<!-- README -->.*?<!-- /README -->", re.DOTALL)
_PITCH = re.compile(r"\A# [^\n]*\n(?P<pitch>.+?)^## ", re.DOTALL | re.MULTILINE)
_LABEL = re.compile(r"^\[[^\]]+\]: \S+$", re.MULTILINE)
_FROM_ROOT = re.compile(r"\]\((?![a-z]+:|#)(?P<target>[^)\s]+)\)")
_PICTURE = re.compile(r"<!-- picture: (?P<file>\S+) -->\n```mermaid\n.*?^```$", re.DOTALL | re.MULTILINE)
_MERMAID = re.compile(r"^```mermaid$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


class PageError(Exception):
    """A part of a page cannot be made; the message says which."""


def prepare_page(name: str, text: str, navigation: Sequence[Entry], readme: str) -> str:
    """The page as the site wants it; `name` is its path in docs/ without the suffix.

    Raises:
        PageError: a part of it cannot be made.
    """
    _check_generated(text)
    if name == "index":
        if not _README.search(text):
            raise PageError("it has no place for README's first part: <!-- README --> … <!-- /README -->")
        pitch = _read_pitch(readme)
        text = _README.sub(lambda _: pitch, text) + "\n" + "\n".join(_write_menu(navigation))
    text = _PICTURE.sub(lambda found: f"![The picture that follows from the manifest]({found['file']})", text)
    if _MERMAID.search(text):
        raise PageError("Mermaid's text has no picture for the site: write <!-- picture: FILE --> above it")
    return _ANCHOR.sub(r"[]{#\1}", _name_outside_files(name, text))


def _check_generated(text: str) -> None:
    """Between `<!-- name -->` and `<!-- /name -->` a test writes what it generates: there must be something."""
    for closing in re.finditer(r"^<!-- /(?P<name>[a-z]+) -->$", text, re.MULTILINE):
        before = text[: closing.start()]
        opening = list(re.finditer(rf"^<!-- {closing['name']}(?:: [^>]*)? -->$", before, re.MULTILINE))
        if not opening or not before[opening[-1].end() :].strip():
            raise PageError(f"its generated part {closing['name']!r} is missing: make golden")


def _read_pitch(readme: str) -> str:
    """README from its title to its next heading, with its links as a page of docs/ has them."""
    found = _PITCH.match(readme)
    if found is None:
        raise PageError("README has no first part between its title and its next heading")

    def lead(link: re.Match[str]) -> str:
        return f"]({posixpath.relpath(link['target'], 'docs')})"

    return "\n".join([_FROM_ROOT.sub(lead, found["pitch"]).strip(), "", *_LABEL.findall(readme)])


def _name_outside_files(name: str, text: str) -> str:
    """Links that leave docs/ as text, because the site does not have those files: `README (chart/README.md)`."""

    def write(found: re.Match[str]) -> str:
        folder = posixpath.dirname(posixpath.join("docs", name))
        path = posixpath.normpath(posixpath.join(folder, found["target"].partition("#")[0]))
        return found[0] if path.startswith("docs/") else f"{found['text']} (`{path}`)"

    return _LINK.sub(write, text)


def _write_menu(navigation: Sequence[Entry]) -> Iterator[str]:
    """One hidden tree of contents for each caption."""
    for entry in navigation:
        for title, pages in () if isinstance(entry, str) else entry.items():
            if isinstance(pages, str):
                yield from _write_tree("", [f"{title} <{pages}>"])
            else:
                yield from _write_tree(title, pages)


def _write_tree(caption: str, pages: Sequence[str]) -> Iterator[str]:
    yield "```{toctree}"
    yield ":hidden:"
    if caption:
        yield f":caption: {caption}"
    yield ""
    yield from pages
    yield "```"
    yield ""
