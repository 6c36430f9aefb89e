"""Variables, volumes and mounts by name."""

import pytest

from hooks.ground.k8s.pods import (
    MAX_ENV_BYTES,
    add_named,
    expand_references,
    field_env,
    literal_env,
    merge_env,
    referenced_first,
    without_named,
)
from hooks.ground.k8s.types import EnvVar


def literals(**values: str) -> list[EnvVar]:
    return [{"name": name, "value": value} if value else {"name": name} for name, value in values.items()]


def test_later_layer_wins_with_its_whole_entry_and_the_result_is_sorted() -> None:
    common: list[EnvVar] = [{"name": "b", "value": "1"}, {"name": "_", "value": "1"}, {"name": "B", "value": "1"}]
    specific: list[EnvVar] = [{"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    merged = merge_env(common, specific)
    assert [entry["name"] for entry in merged] == ["B", "_", "b"]
    assert merged[0] == specific[0]


def test_last_duplicate_of_a_layer_wins() -> None:
    assert merge_env(literals(A="1"), [{"name": "A", "value": "2"}, {"name": "A", "value": "3"}]) == literals(A="3")


def test_variable_without_value_is_left_out() -> None:
    assert literal_env({"A": "", "B": "1"}) == literals(B="1")


EXPANSIONS = {
    "a literal": (literals(A="$(B)/x", B="1"), literals(A="1/x", B="1")),
    "a later and an earlier one": (literals(A="1", B="$(A)$(C)", C="3"), literals(A="1", B="13", C="3")),
    "through several": (literals(A="$(B)", B="$(C)", C="3"), literals(A="3", B="3", C="3")),
    "an unknown one stays": (literals(A="$(NOPE)", B="1"), literals(A="$(NOPE)", B="1")),
    "an escape stays": (literals(A="$$(B)", B="1"), literals(A="$$(B)", B="1")),
    "an escape in what is inserted": (literals(A="x$(B)", B="$$(C)", C="1"), literals(A="x$$(C)", B="$$(C)", C="1")),
    "a lone dollar cannot become a reference": (
        literals(A="$(B)(C)", B="$", C="1"),
        literals(A="$$(C)", B="$", C="1"),
    ),
    "a shell's dollar stays": (literals(A="$HOME $(B)", B="1"), literals(A="$HOME 1", B="1")),
    "itself stays": (literals(PATH="$(PATH):/x"), literals(PATH="$(PATH):/x")),
    "an empty one vanishes": (literals(A="$(B)", B=""), literals(A="", B="")),
    "no reference": (literals(A="1", B="2"), literals(A="1", B="2")),
}


@pytest.mark.parametrize(("given", "expanded"), EXPANSIONS.values(), ids=EXPANSIONS.keys())
def test_references_to_literals_are_expanded(given: list[EnvVar], expanded: list[EnvVar]) -> None:
    assert expand_references(given) == expanded


def test_cycle_of_references_ends_where_it_began() -> None:
    assert expand_references(literals(A="a$(B)", B="b$(A)"))[0] == {"name": "A", "value": "ab$(A)"}


def test_reference_to_a_field_of_the_pod_is_left_to_the_kubelet() -> None:
    env = [field_env("POD_NAME", "metadata.name"), *literals(X="$(POD_NAME)")]
    assert expand_references(env) == env


def test_references_that_double_each_time_are_refused() -> None:
    env = literals(A0="x" * 100, **{f"A{i}": f"$(A{i - 1})$(A{i - 1})" for i in range(1, 30)})
    with pytest.raises(ValueError, match=str(MAX_ENV_BYTES)):
        expand_references(env)


def test_empty_references_that_double_each_time_end() -> None:
    env = literals(A0="", **{f"A{i}": f"$(A{i - 1})$(A{i - 1})" for i in range(1, 30)})
    assert expand_references(env)[-1] == {"name": "A29"}


def test_references_nested_without_end_are_refused() -> None:
    env = [*reversed(literals(A0="x", **{f"A{i}": f"$(A{i - 1})" for i in range(1, 2000)}))]
    with pytest.raises(ValueError, match="nested"):
        expand_references(env)


def test_added_item_gives_way_to_one_of_its_name() -> None:
    assert add_named([{"name": "a", "x": 1}], [{"name": "a"}, {"name": "b", "y": 1}, {"name": "b", "y": 2}]) == [
        {"name": "a", "x": 1},
        {"name": "b", "y": 1},
    ]


def test_items_of_a_name_are_dropped() -> None:
    assert without_named([{"name": "a"}, {"name": "b"}], frozenset({"a"})) == [{"name": "b"}]


REFERRING: list[EnvVar] = [
    {"name": "A", "value": "http://$(POD_IP):80"},
    {"name": "B", "value": "$$(POD_NAME) $(UNKNOWN)"},
    {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
]


def test_what_only_the_kubelet_knows_stands_before_what_refers_to_it() -> None:
    assert [entry["name"] for entry in referenced_first(REFERRING)] == ["POD_IP", "A", "B", "POD_NAME"]


def test_nothing_moves_where_nothing_refers() -> None:
    others = REFERRING[1:]
    assert referenced_first(others) == others
