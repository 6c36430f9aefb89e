"""The three-way merge: tables of its rules, and properties over generated objects."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.ground.k8s.differences import merge_key
from hooks.ground.k8s.types import Json
from hooks.wire.world.merge import (
    LAST_APPLIED,
    MergeRefused,
    apply_update,
    is_stable,
    last_applied,
    merge,
    with_last_applied,
)

RULES: dict[str, tuple[Json, Json, Json, Json]] = {
    "foreign-field-stays": ({"a": 1, "foreign": 2}, {"a": 1}, {"a": 1}, {"a": 1, "foreign": 2}),
    "changed-field-is-put-back": ({"a": 2}, {"a": 1}, {"a": 1}, {"a": 1}),
    "dropped-field-is-removed": ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}, {"a": 1}),
    "dropped-field-is-removed-deep-down": (
        {"m": {"a": 1, "b": 2}},
        {"m": {"a": 1, "b": 2}},
        {"m": {"a": 1}},
        {"m": {"a": 1}},
    ),
    "never-applied-field-is-not-ours": ({"a": 1, "b": 2}, None, {"a": 1}, {"a": 1, "b": 2}),
    "scalars-are-replaced-whole": ({"l": ["a", "b"]}, {"l": ["a"]}, {"l": ["c"]}, {"l": ["c"]}),
    "named-items-keep-the-observed-order": (
        [{"name": "b"}, {"name": "a"}],
        [],
        [{"name": "a", "v": 1}, {"name": "c"}, {"name": "b"}],
        [{"name": "b"}, {"name": "a", "v": 1}, {"name": "c"}],
    ),
    "named-item-dropped": (
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}],
        [{"name": "b"}],
    ),
    "foreign-named-item-stays": (
        [{"name": "a"}, {"name": "x"}],
        [{"name": "a"}],
        [{"name": "a"}],
        [{"name": "a"}, {"name": "x"}],
    ),
    "ports-go-before-names": (
        [{"port": 80, "name": "http"}],
        [],
        [{"port": 80, "name": "web"}],
        [{"port": 80, "name": "web"}],
    ),
    "one-item-without-key-replaces-all": ([{"name": "a"}, {"x": 1}], [], [{"name": "b"}], [{"name": "b"}]),
    "numbers-name-items-too": (
        [{"containerPort": 1, "n": "x"}, {"containerPort": 2}],
        [],
        [{"containerPort": 2, "n": "y"}],
        [{"containerPort": 1, "n": "x"}, {"containerPort": 2, "n": "y"}],
    ),
    "null-is-taken-over-a-scalar": ({"a": 1}, {}, {"a": None}, {"a": None}),
}


@pytest.mark.parametrize("name", RULES)
def test_merge_rule(name: str) -> None:
    observed, last, desired, expected = RULES[name]
    assert merge(observed, last, desired) == expected


@pytest.mark.parametrize(
    ("versions", "key"),
    [
        (([{"name": "a", "containerPort": 1}],), "containerPort"),
        (([{"name": "a", "port": 1}], [{"name": "b"}]), "name"),
        (([{"name": "a", "mountPath": "/a"}],), "mountPath"),
        (([{"kind": "A", "name": "a", "uid": "u"}],), "name"),
        (([{"path": "/a"}], []), "path"),
        (([{"key": "a"}],), None),
        ((["a"],), None),
        (([], []), None),
    ],
    ids=[
        "container-port",
        "port-missing-in-one",
        "mount-path",
        "owner-references-by-name",
        "path",
        "tolerations",
        "scalars",
        "empty",
    ],
)
def test_merge_key_is_guessed_from_all_items_of_all_versions(versions: tuple[Any, ...], key: str | None) -> None:
    assert merge_key(*versions) == key


@pytest.mark.parametrize(
    ("observed", "desired"), [({"a": {"b": 1}}, {"a": 1}), ({"a": [1]}, {"a": {}})], ids=["object", "list"]
)
def test_a_different_shape_is_refused_with_its_path(observed: Json, desired: Json) -> None:
    with pytest.raises(MergeRefused, match=r"\[a\]"):
        merge(observed, {}, desired)


def test_an_update_keeps_status_and_system_metadata_and_renews_the_annotation() -> None:
    observed = {
        "kind": "Widget",
        "metadata": {"name": "w", "uid": "u", "resourceVersion": "7", "generation": 3},
        "spec": {"size": 1},
        "status": {"phase": "Up"},
    }
    desired = {
        "kind": "Widget",
        "metadata": {"name": "w", "uid": "x"},
        "spec": {"size": 2},
        "status": {"phase": "Down"},
    }
    wanted = apply_update(observed, desired)
    assert wanted["status"] == {"phase": "Up"}
    assert wanted["spec"] == {"size": 2}
    assert {key: wanted["metadata"][key] for key in ("uid", "resourceVersion", "generation")} == {
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
    }
    assert last_applied(wanted) == desired


def test_a_hook_cannot_set_the_last_applied_annotation() -> None:
    desired = {"metadata": {"name": "w", "annotations": {LAST_APPLIED: "{}", "mine": "kept"}}}
    applied = last_applied(apply_update({"metadata": {"name": "w"}}, desired))
    assert applied == {"metadata": {"name": "w", "annotations": {"mine": "kept"}}}


# Each key has one shape everywhere, as in a schema, so that shapes never differ between the versions.
_SCALARS = st.one_of(st.integers(-3, 3), st.sampled_from(["x", "y", ""]), st.booleans())
_ITEMS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"value": _SCALARS}),
    unique_by=lambda item: item["name"],
)


def _objects(depth: int) -> st.SearchStrategy[dict[str, Any]]:
    fields: dict[str, st.SearchStrategy[Any]] = {"s": _SCALARS, "t": _SCALARS, "l": st.lists(_SCALARS), "n": _ITEMS}
    if depth:
        fields |= {"m": _objects(depth - 1), "k": _objects(depth - 1)}
    return st.fixed_dictionaries({}, optional=fields)


OBJECTS = _objects(2)


def _holds(merged: Json, desired: Json) -> bool:
    """Whether everything desired is there; items of named lists by their names."""
    if isinstance(desired, dict):
        return isinstance(merged, dict) and all(key in merged and _holds(merged[key], desired[key]) for key in desired)
    if isinstance(desired, list) and desired and isinstance(desired[0], dict):
        by_name = {item["name"]: item for item in merged}
        return all(item["name"] in by_name and _holds(by_name[item["name"]], item) for item in desired)
    if desired == []:
        return isinstance(merged, list)
    return bool(merged == desired)


def _foreign(observed: Json, last: Json, desired: Json) -> dict[str, Any]:
    return {key: value for key, value in observed.items() if key not in last and key not in desired}


@given(observed=OBJECTS, last=OBJECTS, desired=OBJECTS)
def test_a_second_merge_of_the_same_changes_nothing(observed: Json, last: Json, desired: Json) -> None:
    once = merge(observed, last, desired)
    assert merge(once, desired, desired) == once


@given(observed=OBJECTS, last=OBJECTS, desired=OBJECTS)
def test_everything_desired_is_in_the_merge(observed: Json, last: Json, desired: Json) -> None:
    assert _holds(merge(observed, last, desired), desired)


@given(observed=OBJECTS, last=OBJECTS, desired=OBJECTS)
def test_foreign_fields_stay_as_they_are(observed: Json, last: Json, desired: Json) -> None:
    foreign = _foreign(observed, last, desired)
    assert {key: value for key, value in merge(observed, last, desired).items() if key in foreign} == foreign


@given(observed=OBJECTS, last=OBJECTS, desired=OBJECTS)
def test_what_was_applied_and_is_no_longer_desired_is_gone(observed: Json, last: Json, desired: Json) -> None:
    dropped = set(last) - set(desired)
    assert dropped.isdisjoint(merge(observed, last, desired))


@given(observed=OBJECTS, last=OBJECTS, desired=OBJECTS)
def test_merging_leaves_its_arguments_alone(observed: Json, last: Json, desired: Json) -> None:
    before = repr((observed, last, desired))
    merge(observed, last, desired)
    assert repr((observed, last, desired)) == before


def test_the_annotation_is_the_same_text_for_the_same_object_in_any_key_order() -> None:
    obj = {"metadata": {"name": "w"}}
    one, other = ({"b": 1, "a": {"d": 1, "c": 2}}, {"a": {"c": 2, "d": 1}, "b": 1})
    assert with_last_applied(obj, one) == with_last_applied(obj, other)


@pytest.mark.parametrize(
    ("spec", "stable"),
    [
        ({"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]}, True),
        ({"args": ["-m", "-m"], "items": [], "rules": [{"host": "a"}, {"host": "a"}]}, True),
        ({"ports": [{"name": "a", "port": 1, "protocol": "TCP"}, {"name": "b", "port": 1, "protocol": "UDP"}]}, False),
        ({"pod": {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}, {"name": "A"}]}]}}, False),
    ],
)
def test_object_is_stable_if_applying_it_again_changes_nothing(spec: dict[str, Any], *, stable: bool) -> None:
    desired = {"kind": "Thing", "metadata": {"name": "t"}, "spec": spec}
    created = with_last_applied(desired, desired)
    assert is_stable(desired) is stable
    assert (apply_update(created, desired) == created) is stable
