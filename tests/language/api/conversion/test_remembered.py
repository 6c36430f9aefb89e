"""What is converted is converted once for equal values, and values that only look equal are told apart."""

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isnan, nan
from typing import Any

import pytest

from hooks.ground.k8s.types import Json, Manifest
from hooks.language.conversion.json_values import same
from hooks.language.conversion.remembered import remembered
from hooks.language.versions import convert
from tests.language.api.conversion.graphs import ALPHA, graph


def write_graph(**service: Json) -> Manifest:
    services = {name: {"componentType": "worker", "replicas": 1, **service} for name in ("w", "v")}
    return graph(ALPHA, {"services": services}, status={"services": {"w": {"componentName": "g-w"}}})


def convert_worker(**service: Json) -> Json:
    return convert(write_graph(**service), "v1beta1")["spec"]["components"][1]


@pytest.mark.parametrize("part", ["spec", "status"])
def test_part_of_a_graph_is_converted_once_for_equal_values(part: str) -> None:
    first, again = (convert(write_graph(x="once"), "v1beta1") for _ in range(2))
    assert again[part] is first[part]
    assert convert(write_graph(x="twice"), "v1beta1")["spec"] is not first["spec"]


@pytest.mark.parametrize("values", [(1, True, 1.0), (0, False, 0.0), ("1", 1), (None, "null"), (-0.0, 0)])
def test_values_of_other_types_are_told_apart(values: tuple[Any, ...]) -> None:
    for value in values:
        resources = {"limits": {"gpu": "1"}, "x": value}
        made = convert_worker(x=value, resources=resources)
        assert same(made["x"], value)
        back = convert(convert(write_graph(resources=resources), "v1beta1"), "v1alpha1")
        assert same(back["spec"]["services"]["w"]["resources"], resources)


def test_null_is_told_from_a_number_that_is_none() -> None:
    assert convert_worker(x=None)["x"] is None
    assert isnan(convert_worker(x=nan)["x"])
    assert convert_worker(x=None)["x"] is None


def test_kept_fields_count_too() -> None:
    there = convert(write_graph(ingress={"enabled": True}), "v1beta1")
    bare = {**there, "metadata": {"name": "g"}}
    for document, is_kept in ((there, True), (bare, False), (there, True)):
        assert ("ingress" in convert(document, "v1alpha1")["spec"]["services"]["w"]) is is_kept


@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), "x" * 2**17], ids=["no JSON", "large"])
def test_other_values_are_converted_without_being_remembered(value: Any) -> None:
    first, again = (convert(write_graph(x=value), "v1beta1") for _ in range(2))
    assert first == again
    assert first["spec"]["components"][1] == {"name": "w", "type": "worker", "replicas": 1, "x": value}
    assert again["spec"] is not first["spec"]


def test_names_count_and_so_does_the_mapping_that_a_value_is_in() -> None:
    recall = remembered(lambda first, second: (dict(first), dict(second)), results=9, max_bytes=99)
    asked: list[tuple[dict[str, Json], dict[str, Json]]] = [
        ({"a": 1, "b": 2}, {}),
        ({"a": 1}, {"b": 2}),
        ({}, {"a": 1, "b": 2}),
        ({"a": 1, "c": 2}, {}),
        ({"b": 1, "a": 2}, {}),
    ]
    for first, second in [*asked, *asked]:
        assert recall(first, second) == (first, second)


def test_oldest_result_is_forgotten_first() -> None:
    called: list[Json] = []

    def double(first: Mapping[str, Json], _second: Mapping[str, Json]) -> Json:
        called.append(first["x"])
        return 2 * first["x"]

    recall = remembered(double, results=2, max_bytes=99)
    for value in (1, 2, 2, 1, 3, 2, 3, 1):
        assert recall({"x": value}, {}) == 2 * value
    assert called == [1, 2, 3, 1]
