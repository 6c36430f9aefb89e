"""A component is converted once for equal values, and values that only look equal are told apart."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hooks.conversion.json_values import same
from hooks.conversion.one_component import convert_service
from hooks.conversion.versions import Version


def test_component_is_converted_once_for_equal_values() -> None:
    first, _ = convert_service(Version.BETA, {"replicas": 2, "componentType": "worker", "x": "once"}, {})
    again, _ = convert_service(Version.BETA, {"replicas": 2, "componentType": "worker", "x": "once"}, {})
    assert again is first


@pytest.mark.parametrize("values", [(1, True, 1.0), (0, False, 0.0), ("1", 1, b"1".decode())])
def test_values_of_other_types_are_told_apart(values: tuple[Any, ...]) -> None:
    for value in values:
        made, _ = convert_service(Version.BETA, {"x": value, "replicas": 1}, {})
        assert same(made["x"], value)


def test_kept_fields_count_too() -> None:
    without, _ = convert_service(Version.ALPHA, {"replicas": 1}, {})
    with_kept, _ = convert_service(Version.ALPHA, {"replicas": 1}, {"ingress": {"enabled": True}})
    assert "ingress" not in without
    assert with_kept["ingress"] == {"enabled": True}


@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), "x" * 10_000], ids=["no JSON", "large"])
def test_other_values_are_converted_without_being_remembered(value: Any) -> None:
    first, _ = convert_service(Version.BETA, {"x": value, "replicas": 1}, {})
    again, _ = convert_service(Version.BETA, {"x": value, "replicas": 1}, {})
    assert first == again == {"x": value, "replicas": 1}
    assert again is not first
