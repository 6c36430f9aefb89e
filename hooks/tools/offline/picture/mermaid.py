"""Pictures as a Mermaid flowchart, which GitHub, GitLab and many editors draw in Markdown."""

import re
from collections.abc import Iterator, Sequence

from hooks.tools.offline.picture.parts import COLORS, Box, BoxRole, Link, LinkKind, Picture, State

_PLAIN = re.compile(r"[^A-Za-z0-9 .,:/_()=+×·-]")
_LINKS = {
    LinkKind.REQUESTS: "-->",
    LinkKind.PICKING: "-. asks which worker .->",
    LinkKind.TRANSFER: "== KV transfer ==>",
    LinkKind.SCALING: "-. scales .->",
    LinkKind.LOADING: "-. served by .->",
    LinkKind.DISCOVERY: "-.-",
}
_SHAPES = {
    BoxRole.GATEWAY: ("([", "])"),
    BoxRole.DISCOVERY: ("[(", ")]"),
    BoxRole.ADAPTER: ("[/", "/]"),
    BoxRole.MODEL: ("[/", "/]"),
}


def write_mermaid(pictures: Sequence[Picture]) -> str:
    """One flowchart with a subgraph for each picture."""
    return "\n".join(_write(pictures)) + "\n"


def _write(pictures: Sequence[Picture]) -> Iterator[str]:
    yield "flowchart LR"
    for index, picture in enumerate(pictures):
        # On one line, because Mermaid draws boxes over a second one.
        state = f", {picture.state.title}" if picture.state else ""
        yield f'  subgraph g{index}["{escape_label(f"{picture.title}: {picture.subtitle}{state}")}"]'
        yield "    direction LR"
        for box in picture.boxes:
            opening, closing = _SHAPES.get(box.role, ("[", "]"))
            yield f'    g{index}{box.key}{opening}"{_label(box)}"{closing}:::{box.role.name.lower()}'
        yield "  end"
        for link in picture.links:
            yield f"  {_write_link(link, f'g{index}')}"
    used = {box.role for picture in pictures for box in picture.boxes}
    for role in BoxRole:
        if role in used:
            fill, stroke = COLORS[role]
            yield f"  classDef {role.name.lower()} fill:{fill},stroke:{stroke},color:#1b1f24"


def _label(box: Box) -> str:
    return f"<b>{escape_label(box.title)}</b><br/>{_join(box.role.value, *box.lines, box.state)}"


def _join(*lines: str | State | None) -> str:
    texts = (line.line if isinstance(line, State) else line for line in lines if line is not None)
    return "<br/>".join(map(escape_label, texts))


def _write_link(link: Link, prefix: str) -> str:
    sources, targets = (" & ".join(f"{prefix}{key}" for key in side) for side in (link.sources, link.targets))
    return f"{sources} {_LINKS[link.kind]} {targets}"


def escape_label(text: str) -> str:
    """The text for a label in quotes: every sign with a meaning in Mermaid or in HTML as `#code;`."""
    return _PLAIN.sub(lambda found: f"#{ord(found[0])};", text)
