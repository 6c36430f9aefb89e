"""Whether a write would change an object."""

import orjson

from hooks.ground.k8s.types import Manifest

_SORTED = orjson.OPT_SORT_KEYS


def are_equal(left: Manifest, right: Manifest) -> bool:
    """Whether two objects are equal as Go sees it: 3.0 is not 3, True is not 1."""
    return left == right and orjson.dumps(left, option=_SORTED) == orjson.dumps(right, option=_SORTED)
