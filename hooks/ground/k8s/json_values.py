"""JSON values as an object of Kubernetes may hold them: no nulls, and no floats."""

from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Json

_MAX_INTEGER = 2**53
"""Largest whole float that becomes an integer; a larger one becomes the text of a quantity."""
_CLEAN = frozenset({str, int, bool})
"""Types of values that `clean_json` leaves as they are, most of all values."""


def clean_json(value: Json) -> Json:
    """The value without nulls and floats; a float becomes an integer or the text of a quantity."""
    if isinstance(value, dict):
        return {
            key: item if type(item) in _CLEAN else clean_json(item) for key, item in value.items() if item is not None
        }
    if isinstance(value, list):
        return [item if type(item) in _CLEAN else clean_json(item) for item in value if item is not None]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _MAX_INTEGER else canonical_quantity(value)
    return value
