"""Every page about a task has the same parts in the same order, so a newcomer knows where to look."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TASKS = (
    *("first-graph", "install", "from-go-operator", "offline", "unit-tests", "multinode", "lora", "autoscaling"),
    *("requests", "restarts", "upgrade", "gitops", "tenancy", "metrics", "v1beta1", "ci", "kubectl", "clouds"),
)
PARTS = ("**You get**", "**You need**", "**Tried:**", "\n## How to see that it worked\n", "\n## What can go wrong\n")


@pytest.mark.parametrize("task", TASKS)
def test_page_has_its_parts_in_their_order(task: str) -> None:
    text = (DOCS / f"{task}.md").read_text()
    assert [part for part in PARTS if part not in text] == []
    places = [text.index(part) for part in PARTS]
    assert places == sorted(places)


def test_every_page_but_the_reference_says_what_you_get() -> None:
    without = {"index.md", "architecture.md", "kinds.md", "runbooks.md", "platform-values.md"}
    pages = {page.name: page.read_text() for page in DOCS.glob("*.md")}
    assert [name for name, text in pages.items() if name not in without and "**You get**" not in text] == []
