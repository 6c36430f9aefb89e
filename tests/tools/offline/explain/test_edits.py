"""Changes of one value in a document, and the values that are tried instead of a value."""

from typing import Any

import pytest

from hooks.tools.offline.explain.edits import MARK, alternatives, drop, put, unmark, walk_parts

DOCUMENT = {"a": {"b": [1, {"c": "x"}]}, "d": {}}


@pytest.mark.parametrize(
    ("parts", "changed"),
    [
        (("a", "b", 0), {"a": {"b": [9, {"c": "x"}]}, "d": {}}),
        (("a", "b", 1, "c"), {"a": {"b": [1, {"c": 9}]}, "d": {}}),
        (("a", "b", 2), {"a": {"b": [1, {"c": "x"}, 9]}, "d": {}}),
        (("e", "f", 0, "g"), {"a": {"b": [1, {"c": "x"}]}, "d": {}, "e": {"f": [{"g": 9}]}}),
    ],
)
def test_put_writes_one_value_and_changes_nothing_that_it_was_given(parts: Any, changed: Any) -> None:
    before = repr(DOCUMENT)
    assert put(DOCUMENT, parts, 9) == changed
    assert repr(DOCUMENT) == before


@pytest.mark.parametrize(
    ("parts", "changed"),
    [
        (("a", "b", 0), {"a": {"b": [{"c": "x"}]}, "d": {}}),
        (("a", "b", 1, "c"), {"a": {"b": [1, {}]}, "d": {}}),
        (("d",), {"a": {"b": [1, {"c": "x"}]}}),
    ],
)
def test_drop_takes_one_field_or_item_away(parts: Any, changed: Any) -> None:
    assert drop(DOCUMENT, parts) == changed


def test_leaves_of_a_document_have_keys_and_indices() -> None:
    assert list(walk_parts(DOCUMENT)) == [(("a", "b", 0), 1), (("a", "b", 1, "c"), "x"), (("d",), {})]


@pytest.mark.parametrize(
    ("value", "schema", "groups"),
    [
        (True, None, [[False]]),
        (3, None, [[4, 2, 6, 1]]),
        ("Always", {"enum": ["Always", "Never"]}, [["Never"]]),
        ("true", None, [["false"], [f"true{MARK}"]]),
        ("8Gi", None, [[f"8Gi{MARK}", f"{MARK}8Gi", MARK, "9Gi", "15Gi"]]),
        ({}, None, []),
    ],
)
def test_values_that_are_tried_instead(value: Any, schema: Any, groups: Any) -> None:
    assert alternatives(value, schema) == groups


def test_releases_of_an_image_are_tried_on_both_sides() -> None:
    groups = alternatives("registry/runtime:1.6.1")
    assert groups[1:] == [["registry/runtime:0.1.0"], ["registry/runtime:99.0.0"]]
    assert unmark(str(groups[0][0])) == "registry/runtime:1.6.1"
