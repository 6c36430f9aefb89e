"""The site that `make docs` builds, where Sphinx is installed; its menu holds every page in any case."""

from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.site_building import ROOT, build_site, copy_with_pages, needs_generator

SITE = ROOT / "docs/.site"
INDEX = "# Pages\n\n<!-- README -->\nshort\n<!-- /README -->\n"
README = """# Name

What it is, see [Install](docs/install.md) and [L].

![Demo](docs/pictures/demo.svg)

## First

[L]: https://l.example/
"""


def load_page_sources() -> Any:
    spec = spec_from_file_location("page_sources", SITE / "page_sources.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


page_sources = load_page_sources()


def pages_of(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            yield from pages_of(value) if isinstance(value, list) else (value,)


def test_menu_names_every_page_once() -> None:
    named = list(pages_of(yaml.safe_load((SITE / "navigation.yaml").read_text())["nav"]))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted(pages)


@needs_generator
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = build_site(tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site/index.html").read_text()
    assert "chart/README.md" in page
    assert 'href="troubleshooting.html"' in page
    assert "stateless HTTP hooks" in page, "README's first part"
    assert 'href="compatibility.html"' in page
    guide = (tmp_path / "site/install.html").read_text()
    assert '<span class="' in guide, "code is highlighted"
    assert "darkMode" in guide


@needs_generator
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gone](gone.md)", "gone.md"),
        ("[gone](#gone)", "gone"),
        ("![gone](pictures/gone.svg)", "pictures/gone.svg"),
        ("```mermaid\nflowchart LR\n```", "has no picture"),
        ("<!-- table -->\n<!-- /table -->", "its generated part 'table' is missing"),
    ],
    ids=["page", "anchor", "picture", "Mermaid", "generated"],
)
def test_what_cannot_be_made_stops_the_build_and_names_the_page(tmp_path: Path, text: str, said: str) -> None:
    root = copy_with_pages(tmp_path, {"index.md": INDEX, "page.md": f"# Page\n\n{text}\n"})
    (root / "docs/.site/navigation.yaml").write_text("nav: [{Menu: [page.md]}]\n")
    (root / "README.md").write_text("# Name\n\nWhat it is.\n\n## First\n")
    done = build_site(tmp_path, root)
    assert done.returncode != 0
    assert "docs/page.md" in done.stderr
    assert said in done.stderr


@needs_generator
def test_fault_of_a_page_is_found_again_in_the_next_build(tmp_path: Path) -> None:
    root = copy_with_pages(tmp_path, {"index.md": f"{INDEX}\n[gone](gone.md)\n"})
    for _ in range(2):
        done = build_site(tmp_path, root)
        assert done.returncode != 0
        assert "gone.md" in done.stderr


@needs_generator
def test_page_without_a_fault_is_built(tmp_path: Path) -> None:
    root = copy_with_pages(tmp_path, {"index.md": INDEX})
    (root / "README.md").write_text("# Name\n\nWhat it is.\n\n## First\n")
    done = build_site(tmp_path, root)
    assert (done.returncode, done.stderr) == (0, "")


def prepare(text: str, name: str = "page", readme: str = README) -> str:
    prepared: str = page_sources.prepare_page(name, text, ["index.md", {"Menu": ["a.md"]}, {"Title": "b.md"}], readme)
    return prepared


def test_readme_stands_on_the_index_with_links_from_there() -> None:
    text = prepare(INDEX, "index")
    assert "[Install](install.md) and [L]" in text
    assert "![Demo](pictures/demo.svg)" in text
    assert "[L]: https://l.example/" in text
    assert "## First" not in text
    assert "short" not in text


def test_menu_has_captions_and_titles() -> None:
    text = prepare(INDEX, "index")
    assert "```{toctree}\n:hidden:\n:caption: Menu\n\na.md\n```" in text
    assert "```{toctree}\n:hidden:\n\nTitle <b.md>\n```" in text


def test_links_that_leave_the_pages_are_text() -> None:
    assert prepare("[README](../chart/README.md#values)", "install") == "README (`chart/README.md`)"
    assert prepare("[Install](../install.md)", "reference/fields") == "[Install](../install.md)"
    assert prepare("[CRDs](../../crds/README.md)", "reference/fields") == "CRDs (`crds/README.md`)"


def test_site_has_the_picture_where_github_draws_mermaid() -> None:
    text = "<!-- picture: pictures/g.svg -->\n```mermaid\nflowchart LR\n```\n<!-- /picture -->\n"
    assert prepare(text) == "![The picture that follows from the manifest](pictures/g.svg)\n<!-- /picture -->\n"


def test_anchors_in_cells_are_anchors_of_the_site() -> None:
    assert prepare('| <a id="a_b"></a>`A` |') == "| []{#a_b}`A` |"


@pytest.mark.parametrize(
    ("name", "text", "readme"),
    [
        ("index", "# Pages\n", README),
        ("index", INDEX, "# Name only\n"),
        ("page", "<!-- /table -->\n", README),
    ],
    ids=["no place", "no pitch", "not opened"],
)
def test_part_that_cannot_be_made_is_an_error(name: str, text: str, readme: str) -> None:
    with pytest.raises(page_sources.PageError):
        prepare(text, name, readme)
