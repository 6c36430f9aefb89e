"""How `make docs` makes a site of the pages: Sphinx reads them as MyST, which is GitHub's Markdown and more.

The pages stay what GitHub shows. What only the site has is made here while it reads them: the menu, README's first part
on the index, links to files outside docs/ as text, and a picture instead of Mermaid's text.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from page_sources import PageError, prepare_page  # noqa: E402 - from this folder

project = "Dynamo hooks"
html_title = project
copyright = "the authors of Dynamo hooks"  # noqa: A001 - Sphinx's name
extensions = ["myst_parser"]
exclude_patterns = ["files", ".site"]
nitpicky = True
smartquotes = False

myst_heading_anchors = 6  # GitHub's anchors, for headings of every level
myst_enable_extensions = ["attrs_inline"]

html_theme = "sphinxawesome_theme"
html_theme_options = {"show_scrolltop": True}
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_permalinks_icon = "<span>#</span>"  # the theme shows an element where the mouse is, a text always
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_style_dark = "github-dark"


def setup(app: Any) -> None:
    """Let Sphinx read each page as the site wants it; a page that cannot be prepared stops the build by its name."""
    navigation = yaml.safe_load((HERE / "navigation.yaml").read_text(encoding="utf-8"))["nav"]
    readme = HERE.parents[1] / "README.md"

    def prepare(_: Any, name: str, source: list[str]) -> None:
        from sphinx.errors import ExtensionError  # noqa: PLC0415 - only a build has Sphinx

        try:
            source[0] = prepare_page(name, source[0], navigation, readme.read_text(encoding="utf-8"))
        except PageError as error:
            raise ExtensionError(f"docs/{name}.md: {error}") from error

    app.connect("source-read", prepare)
