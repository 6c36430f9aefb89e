"""Assertions that show a difference as YAML."""

from typing import Any

import pytest

from hooks.testing import assert_has, assert_same

FOUND: dict[str, Any] = {
    "kind": "Deployment",
    "spec": {"replicas": 2, "containers": [{"name": "main", "image": "a"}, {"name": "side", "image": "b"}]},
}


def test_difference_is_shown_line_by_line_in_reading_order() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_same(FOUND, {**FOUND, "spec": {**FOUND["spec"], "replicas": 1}})
    assert str(caught.value).splitlines() == [
        "the values differ (- wanted, + found)",
        "--- wanted",
        "+++ found",
        "@@ -5,4 +5,4 @@",
        "     image: a",
        "   - name: side",
        "     image: b",
        "-  replicas: 1",
        "+  replicas: 2",
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        {"spec": {"replicas": 2}},
        "spec:\n  containers:\n  - {image: a}\n  - {name: side}\n",
        "kind: Deployment",
        FOUND,
        {},
    ],
    ids=["map", "YAML", "one line of YAML", "all", "nothing"],
)
def test_part_that_is_there_passes(wanted: Any) -> None:
    assert_has(FOUND, wanted)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ("spec: {paused: true}", "-  paused: true"),
        ("spec: {containers: [{name: main}]}", "+  - name: side"),
        ("spec: {replicas: '2'}", '-  replicas: "2"'),
    ],
    ids=["missing", "shorter list", "other type"],
)
def test_part_that_is_not_there_is_shown_without_the_rest(wanted: str, line: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_has(FOUND, wanted)
    lines = str(caught.value).splitlines()
    assert line in lines
    assert not any("Deployment" in found for found in lines)


def test_equal_values_pass() -> None:
    assert_same(FOUND, dict(FOUND))
    assert_same("img:1", "img:1")
