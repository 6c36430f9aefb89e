"""Every relative link in every Markdown file leads to a file that is there, and every anchor to a heading."""

import os
import re
from pathlib import Path

import pytest

from tests.docs.markdown import find_anchors, find_links, read_blocks

ROOT = Path(__file__).parents[2]
_SKIPPED = frozenset({".venv", ".git", ".bin", "node_modules", "dist", "site", ".hypothesis", ".pytest_cache"})


def markdown_files() -> list[Path]:
    found: list[Path] = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        found += [Path(folder, name) for name in files if name.endswith(".md")]
    return sorted(found)


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead nowhere; addresses of other sites are not asked."""
    broken = []
    for link in find_links(page):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_there = target.exists() and (not anchor or (target.suffix == ".md" and anchor in find_anchors(target)))
        if not is_there:
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", markdown_files(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_broken(page: Path) -> None:
    assert broken_links(page) == []


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    linked = {(docs / link.partition("#")[0]).resolve() for link in find_links(docs / "index.md")}
    unlinked = {str(page.relative_to(docs)) for page in docs.rglob("*.md") if page not in {*linked, docs / "index.md"}}
    assert unlinked == set()


def test_broken_links_are_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text('# A title, with `code`\n\n## Twice\n\n## Twice\n\n<a id="own"></a>\n')
    good = [
        "other.md",
        "other.md#a-title-with-code",
        "other.md#twice-1",
        "other.md#own",
        "https://a.example/x",
        "#here",
    ]
    bad = ["gone.md", "other.md#gone", "#gone", "other.md#twice-2"]
    page.write_text("## Here\n\n" + "\n".join(f"[x]({link})" for link in [*good, *bad]) + "\n\n`[x](code.md)`\n")
    assert broken_links(page) == bad


def test_blocks_know_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# T\n\n<!-- run: exit 1 -->\n```sh\ntrue\n```\n\n```yaml\na: 1\n```\n")
    first, second = read_blocks(page)
    assert (first.language, first.text, first.mark, first.argument, first.line) == ("sh", "true\n", "run", "exit 1", 4)
    assert (second.language, second.mark) == ("yaml", "")
