"""Objects as they are printed."""

import json

import pytest
import yaml

from hooks.ground.k8s.yaml_reader import read_yaml
from hooks.tools.offline.manifests.writing import format_documents

OBJECT = {
    "spec": {"b": 1, "a": ["x", {"z": 1, "name": "one"}]},
    "metadata": {"name": "o"},
    "kind": "K",
    "apiVersion": "v1",
}


def test_names_stand_first_and_the_rest_in_order() -> None:
    expected = (
        "---\napiVersion: v1\nkind: K\nmetadata:\n  name: o\nspec:\n  a:\n  - x\n  - name: one\n    z: 1\n  b: 1\n"
    )
    assert format_documents([OBJECT]) == expected


def test_json_is_one_list() -> None:
    assert json.loads(format_documents([OBJECT, OBJECT], "json")) == [OBJECT, OBJECT]


def test_script_is_a_block_and_shared_values_are_written_twice() -> None:
    shared = {"k": "v"}
    text = format_documents([{"script": "a\nb\n", "one": shared, "two": shared}])
    assert "script: |\n  a\n  b\n" in text
    assert "&" not in text


@pytest.mark.parametrize(
    "text",
    [
        "1e3",
        "12e6",
        "0o17",
        "010",
        "yes",
        "y",
        "off",
        "null",
        "~",
        "",
        "1_000",
        ".5",
        "1.0",
        "2024-01-01",
        "22:22",
        "0x1f",
        "<<",
    ],
)
def test_text_stays_text_for_every_reader(text: str) -> None:
    written = format_documents([{"value": text}])
    assert yaml.safe_load(written)["value"] == text
    (document,) = read_yaml(written)
    assert document.value == {"value": text}
