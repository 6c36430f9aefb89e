"""Links of a page to files outside docs/: the site does not have them, so it names their path in the repository."""

import posixpath
import re
from typing import Any

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>(?:\.\./)+[^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text with links that leave docs/ as text: `README (chart/README.md)`."""

    def name(found: re.Match[str]) -> str:
        folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))
        path = posixpath.normpath(posixpath.join(folder, found["target"].partition("#")[0]))
        return found[0] if path.startswith("docs/") else f"{found['text']} (`{path}`)"

    return _LINK.sub(name, markdown)
