"""One component of a graph in the other version, remembered by its value.

A graph is converted each time that somebody reads it, and most of these times nothing but its status differs.
"""

import marshal
from collections.abc import Mapping
from functools import lru_cache

from hooks.conversion.component_pairs import SERVICE_TABLE
from hooks.conversion.pairs import translate
from hooks.conversion.shapes import gather, spread
from hooks.conversion.versions import Version
from hooks.k8s.types import Json

Fields = Mapping[str, Json]
ConvertedFields = tuple[dict[str, Json], dict[str, Json]]

_OTHER: Mapping[Version, Version] = {Version.ALPHA: Version.BETA, Version.BETA: Version.ALPHA}
_REMEMBERED, _MAX_BYTES = 512, 8192
_EXACT = 2
"""The format of marshal that tells all types apart, and writes equal values as equal bytes."""


def convert_service(version: Version, fields: Fields, saved: Fields) -> ConvertedFields:
    """A component without its name in `version`, and what that cannot say, with names for its other containers.

    `saved` was kept by an earlier conversion from `version`. The results are shared: nobody may change them.
    """
    try:
        written = marshal.dumps((dict(fields), dict(saved)), _EXACT)
    except ValueError:  # a value that is no JSON, or is nested too deeply
        return _convert(version, fields, saved)
    if len(written) > _MAX_BYTES:
        return _convert(version, fields, saved)
    return _convert_written(version, written)


@lru_cache(maxsize=_REMEMBERED)
def _convert_written(version: Version, written: bytes) -> ConvertedFields:
    return _convert(version, *marshal.loads(written))  # noqa: S302 - written above


def _convert(version: Version, fields: Fields, saved: Fields) -> ConvertedFields:
    other = _OTHER[version]
    translated = translate(SERVICE_TABLE, version, spread(other, fields), saved=spread(version, saved))
    kept = gather(other, translated.kept, sparse=other is Version.BETA) if translated.kept else {}
    return gather(version, translated.result), kept
