"""The manifests of docs/from-go-operator.md that lack an image are refused without the lines that the page adds."""

from pathlib import Path

import pytest

from tests.commands import call
from tests.docs.markdown import Block, read_blocks

PAGE = Path(__file__).parents[2] / "docs/from-go-operator.md"
ADDED = "# add"
BLOCKS = [block for block in read_blocks(PAGE) if block.mark == "validate"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: str(block.line))
def test_manifest_is_refused_without_each_added_line_and_for_nothing_else(block: Block, tmp_path: Path) -> None:
    lines = block.text.splitlines()
    added = [line for line in lines if line.endswith(ADDED)]
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("\n".join(line for line in lines if line not in added))
    done = call("validate", str(manifest))
    found = [line for line in done.stderr.splitlines() if "problem" not in line]
    assert done.returncode == 1
    assert len(found) == len([line for line in lines if line.endswith(ADDED)])
    assert all("extraPodSpec.mainContainer.image: is required" in line for line in found)


def test_both_manifests_are_on_the_page() -> None:
    assert [block.text.partition("kind: ")[2].split()[0] for block in BLOCKS] == [
        "DynamoComponentDeployment",
        "DynamoGraphDeployment",
    ]
