"""Pictures in DOT, the language of Graphviz."""

from collections.abc import Iterator, Sequence

from hooks.tools.offline.picture.parts import COLORS, Box, Link, LinkKind, Picture

_LINKS = {
    LinkKind.REQUESTS: "",
    LinkKind.PICKING: ' [label="asks which worker", style=dotted]',
    LinkKind.TRANSFER: ' [label="KV transfer", penwidth=3]',
    LinkKind.SCALING: " [label=scales, style=dashed]",
    LinkKind.LOADING: ' [label="served by", style=dotted]',
    LinkKind.DISCOVERY: " [style=dotted, arrowhead=none]",
}


def write_dot(pictures: Sequence[Picture]) -> str:
    """One directed graph with a cluster for each picture."""
    return "\n".join(_write(pictures)) + "\n"


def _write(pictures: Sequence[Picture]) -> Iterator[str]:
    yield "digraph dynamo {"
    yield '  graph [rankdir=LR, fontname="sans-serif", bgcolor="#ffffff", nodesep=0.4, ranksep=1]'
    yield '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11, fontcolor="#1b1f24"]'
    yield '  edge [fontname="sans-serif", fontsize=10, color="#57606a", fontcolor="#57606a"]'
    for index, picture in enumerate(pictures):
        yield f"  subgraph cluster_{index} {{"
        state = (picture.state.line,) if picture.state else ()
        yield f"    label={_quote(picture.title, picture.subtitle, *state)}"
        for box in picture.boxes:
            yield f"    {_write_box(box, f'g{index}')}"
        for link in picture.links:
            yield f"    {_write_link(link, f'g{index}')}"
        yield "  }"
    yield "}"


def _write_box(box: Box, prefix: str) -> str:
    fill, color = COLORS[box.role]
    state = (box.state.line,) if box.state else ()
    label = _quote(box.role.value, box.title, *box.lines, *state)
    return f'{prefix}{box.key} [label={label}, fillcolor="{fill}", color="{color}"]'


def _write_link(link: Link, prefix: str) -> str:
    sources, targets = ("; ".join(f"{prefix}{key}" for key in side) for side in (link.sources, link.targets))
    return f"{{{sources}}} -> {{{targets}}}{_LINKS[link.kind]}"


def _quote(*lines: str) -> str:
    """The lines as one string; Graphviz reads `\\` as the beginning of an escape and `&` as that of an entity."""
    escaped = (line.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "".join(f"{line}\\n" for line in escaped).removesuffix("\\n") + '"'
