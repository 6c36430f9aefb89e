"""Pictures as one HTML page without a script and without anything from outside, also well-formed as XML.

Below each picture, a table says the same in text: for narrow screens, for reading aloud, and for search.
"""

from collections.abc import Iterator, Sequence
from html import escape

from hooks.offline.picture.parts import Box, Picture, Role
from hooks.offline.picture.svg import STYLE_SHEET, draw_svg

_STYLE = """
:root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;
--ready:#116329;--waiting:#7d4e00;--unready:#b3151d}
@media(prefers-color-scheme:dark){:root{--page:#0d1117;--text:#e6edf3;--soft:#9aa6b2;--line:#30363d;
--ready:#7ee787;--waiting:#e3b341;--unready:#ff9a94}}
body{margin:0 auto;padding:1rem;max-width:1600px;background:var(--page);color:var(--text);
font:15px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
h1{font-size:1.35rem;margin:.5rem 0}h2{font-size:1.15rem;margin:1.6rem 0 .2rem;overflow-wrap:anywhere}
p{margin:.2rem 0;color:var(--soft);overflow-wrap:anywhere}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;margin:.8rem 0}
.scroll svg{display:block;margin:0 auto;max-width:max(100%,860px);height:auto}
table{border-collapse:collapse;width:100%}caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;border-top:1px solid var(--line);
overflow-wrap:anywhere}
th:nth-child(1){width:24%}th:nth-child(2){width:12%}
td ul{margin:0;padding:0;list-style:none}
.ready{color:var(--ready)}.waiting{color:var(--waiting)}.unready{color:var(--unready)}
@media(max-width:640px){thead{display:none}tr{display:block;padding:.5rem 0;border-top:1px solid var(--line)}
td,th[scope=row]{display:block;border:0;padding:.1rem 0;width:auto!important}
.scroll svg{max-width:none}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_page(pictures: Sequence[Picture]) -> str:
    """One page with a section for each picture."""
    return "\n".join(_write(pictures)) + "\n"


def _write(pictures: Sequence[Picture]) -> Iterator[str]:
    title = pictures[0].title if len(pictures) == 1 else f"{len(pictures)} graphs"
    yield "<!DOCTYPE html>"
    yield '<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>Dynamo: {escape(title)}</title>"
    yield f"<style>{_STYLE}{STYLE_SHEET}</style></head><body>"
    yield "<h1>Topology of Dynamo graphs</h1>"
    for picture in pictures:
        yield from _write_section(picture)
    yield "</body></html>"


def _write_section(picture: Picture) -> Iterator[str]:
    yield f"<section><h2>{escape(picture.title)}</h2>"
    yield f"<p>{escape(picture.subtitle)}</p>"
    if picture.state:
        yield f'<p class="{picture.state.mood.name.lower()}">{escape(picture.state.line)}</p>'
    yield '<div class="scroll" tabindex="0">'
    yield from draw_svg([picture], "", with_title=False)
    yield "</div>"
    is_live = any(box.state for box in picture.boxes)
    ready = '<th scope="col">Ready</th>' if is_live else ""
    yield "<table><caption>The same in words</caption>"
    yield f'<thead><tr><th scope="col">Name</th><th scope="col">Role</th>{ready}<th scope="col">What it is</th></tr>'
    yield "</thead><tbody>"
    for box in picture.boxes:
        yield _write_row(box, picture, is_live=is_live)
    yield "</tbody></table></section>"


def _write_row(box: Box, picture: Picture, *, is_live: bool) -> str:
    ready = ""
    if is_live:
        mood = box.state.mood.name.lower() if box.state else ""
        ready = f'<td class="{mood}">{escape(box.state.line) if box.state else ""}</td>'
    items = "".join(f"<li>{escape(line)}</li>" for line in (*box.lines, *_describe_links(box, picture)))
    what = f"<ul>{items}</ul>" if items else ""
    return f'<tr><th scope="row">{escape(box.title)}</th><td>{box.role.value}</td>{ready}<td>{what}</td></tr>'


def _describe_links(box: Box, picture: Picture) -> Iterator[str]:
    """What a box's links say, from its own side."""
    titles = {one.key: one.title for one in picture.boxes if one.role is not Role.DISCOVERY}
    for link in picture.links:
        names = ", ".join(titles[key] for key in link.targets if key in titles)
        if box.key in link.sources and names:
            yield f"{link.kind.value} → {names}"
