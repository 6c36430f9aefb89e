"""What the fast writer writes is what libyaml writes, byte for byte."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hooks.offline.manifests import block_style
from hooks.offline.manifests.block_style import write_block_style

TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(alphabet=" \n\t-:#'\"|>a1é\x85\u2028", max_size=10),
    st.sampled_from(
        ["yes", "1e3", "null", "a\n", "a\n\n", " a\nb", "a \nb", "\n", "a\n\nb\n", "- a", "?", "~", "x" * 140]
    ),
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)


def by_libyaml(value: Any) -> str:
    return block_style._dump(value)


@given(VALUES)
def test_any_value_is_written_as_libyaml_writes_it(value: Any) -> None:
    assert write_block_style(value) == by_libyaml(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({1: "a"}, id="number-as-key"),
        pytest.param({"a": {True: [1]}}, id="boolean-as-key"),
        pytest.param({"a": 1, "b": True, "c": 1.0}, id="equal-numbers-of-different-types"),
        pytest.param({"a": ({"b": ()},)}, id="tuples"),
        pytest.param({"a": "x\n\n"}, id="text-that-keeps-its-newlines"),
    ],
)
def test_unusual_values_are_written_as_libyaml_writes_them(value: Any) -> None:
    assert write_block_style(value) == by_libyaml(value)


def test_rendered_examples_are_written_without_libyaml_for_whole_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = sorted(Path("tests/golden/examples").rglob("*.yaml"))
    documents = [one for path in golden for one in yaml.safe_load_all(path.read_text()) if one]
    wanted = [by_libyaml(one) for one in documents]
    whole: list[Any] = []
    dump = block_style._dump

    def watched(value: Any) -> str:
        if isinstance(value, dict) and len(value) > 1:
            whole.append(value)
        return dump(value)

    monkeypatch.setattr(block_style, "_dump", watched)
    assert [write_block_style(one) for one in documents] == wanted
    assert documents
    assert not whole
