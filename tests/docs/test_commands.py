"""The commands of the pages that need no cluster are run as they are printed; manifests in the pages are checked.

A block below `<!-- run -->` is run by bash and must succeed; below `<!-- run: exit 1 -->` it must end with that status.
A block below `<!-- validate -->` is a manifest of ours, below `<!-- parse -->` one of others.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.docs.command_server import running_server
from tests.docs.markdown import Block, read_blocks
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def blocks_with(mark: str) -> list[object]:
    """The blocks with a mark, each with its page and line as the test's name."""
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}:{block.line}")
        for page in PAGES
        for block in read_blocks(page)
        if block.mark == mark
    ]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the command."""
    with running_server(tmp_path_factory.mktemp("server")) as folder:
        yield folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout to the commands, and takes what they write."""
    for name in ("examples", "chart", "docs", "crds", "metacontroller"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run(checkout: Path, programs: Path, script: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYNAMO_HOOKS_")}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=checkout,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("block", blocks_with("run"))
def test_commands_do_what_the_page_says(block: Block, checkout: Path, programs: Path) -> None:
    done = run(checkout, programs, block.text)
    expected = int(block.argument.removeprefix("exit ")) if block.argument else 0
    assert done.returncode == expected, done.stdout + done.stderr


@pytest.mark.parametrize("block", blocks_with("validate"))
def test_manifests_in_the_pages_are_valid(block: Block, checkout: Path, programs: Path) -> None:
    (checkout / "manifest.yaml").write_text(block.text)
    done = run(checkout, programs, "dynamo-hooks validate manifest.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", blocks_with("parse"))
def test_other_manifests_are_whole_objects(block: Block) -> None:
    for manifest in yaml.safe_load_all(block.text):
        assert {"apiVersion", "kind"} <= set(manifest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_yaml_parses_and_no_command_has_an_unknown_mark(page: Path) -> None:
    for block in read_blocks(page):
        assert block.mark in {"", "run", "validate", "parse", "picture", "settings"}, f"line {block.line}"
        if block.language == "yaml":
            assert list(yaml.safe_load_all(block.text)), f"line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_offline_commands_are_run(page: Path) -> None:
    """A block with `render`, `validate` or `simulate` of an example is marked, so no such command goes unproved."""
    offline = re.compile(r"^dynamo-hooks (?:render|validate|simulate)\b.*\bexamples/", re.MULTILINE)
    unmarked = [block.line for block in read_blocks(page) if offline.search(block.text) and block.mark != "run"]
    assert unmarked == []
