"""Results of conversions, remembered by the values that they were made of.

A graph is converted each time that it is read. Most of these times only its status differs; where its spec
differs, most fields do not.
"""

import marshal
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

import orjson

from hooks.ground.k8s.types import Json

_JSON_ONLY = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
"""A value of another type than those of JSON is an error, and is not written as something else."""
_ALL_TYPES = 2
"""The format of marshal that tells all types apart, and writes equal values as equal bytes."""

_Key = TypeVar("_Key")
_Result = TypeVar("_Result")
_Values = Mapping[_Key, Json]


def remembered(
    function: Callable[[_Values[_Key], _Values[_Key]], _Result], *, results: int, max_bytes: int
) -> Callable[[_Values[_Key], _Values[_Key]], _Result]:
    """The function of two mappings with JSON values, called once for equal values.

    It remembers so many results, but none for values that are larger as JSON than `max_bytes`. The results are shared:
    they must not be changed.
    """
    known: OrderedDict[object, _Result] = OrderedDict()

    @wraps(function)
    def recall(first: _Values[_Key], second: _Values[_Key]) -> _Result:
        written = _write([*first.values(), *second.values()])
        if written is None or len(written) > max_bytes:
            return function(first, second)
        key = (written, *first, None, *second)
        found = known.get(key)
        if found is None:
            found = function(first, second)
            if len(known) >= results:
                known.popitem(last=False)
            known[key] = found
        return found

    return recall


def _write(values: list[Json]) -> bytes | None:
    """The values as bytes that only equal values have; None if one has another type than JSON's."""
    try:
        written = orjson.dumps(values, option=_JSON_ONLY)
        if b"null" in written:  # also a number that is none, as YAML can have it
            return marshal.dumps(values, _ALL_TYPES)
    except (orjson.JSONEncodeError, ValueError):
        return None
    return written
