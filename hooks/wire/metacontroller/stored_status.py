"""Whether an answer's status is already the stored one: Metacontroller then writes nothing."""

from collections.abc import Mapping

import orjson

from hooks.ground.k8s.types import Json

_WRITTEN_BY_METACONTROLLER = "observedGeneration"


def is_stored(status: Mapping[str, Json] | None, stored: Mapping[str, Json] | None) -> bool:
    """Whether a status equals the stored one, but for the field that Metacontroller adds."""
    return bool(_normalise(status) == _normalise(stored))


def _normalise(status: Mapping[str, Json] | None) -> Json:
    known = {key: value for key, value in (status or {}).items() if key != _WRITTEN_BY_METACONTROLLER}
    return orjson.loads(orjson.dumps(known))
