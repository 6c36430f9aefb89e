"""Converts a user's fragment of a pod to the form that the API server stores.

Metacontroller compares what we return with what is stored. A value that the server writes differently, or does not
store at all, would cause a write at every sync. The type of the field in Go decides what is dropped: a plain field
loses `false`, 0 and "". A pointer keeps them, because they have a meaning (`automountServiceAccountToken: false`).

Source: Kubernetes, staging/src/k8s.io/api/core/v1/types.go (which fields are pointers) and
pkg/apis/core/v1/defaults.go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key

_PLAIN_BOOLS = frozenset(
    {"hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly"}
    | {"chapAuthDiscovery", "chapAuthSession", "sslEnabled"}
)
_PLAIN_NUMBERS = frozenset(
    {"hostPort", "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}
    | {"partition"}
)
_EMPTY_MEANS_SOMETHING = frozenset({"storageClassName", "type", "service"})
"""Pointers to strings: an empty string differs from an absent one, as for a storage class."""

_QUANTITIES = frozenset({"sizeLimit", "divisor"})
_QUANTITY_MAPS = frozenset({"limits", "requests", "overhead"})
_TEXT_MAPS = frozenset({"nodeSelector", "matchLabels", "labels", "annotations", "volumeAttributes"})
"""Maps of strings; `options` is a map in some volumes only."""

_TOKEN_SECONDS = 3600
_NUMBERS_END = 2.0**63


class _Absent:
    """Says that the server would not store the field."""


_ABSENT: Final = _Absent()


def canonical_fragment(value: Json) -> Json:
    """Write a fragment of a pod (any part of a PodSpec, Container, Probe, EnvVar, Volume) as the API server stores it.

    null is dropped everywhere, numbers are ints, quantities canonical.

    Raises:
        ValueError: a quantity cannot be read, or a number that must be whole is not; `find_unreadable` says where.
    """
    if isinstance(value, dict):
        return _canonical_map(value)
    if isinstance(value, list | tuple):
        return [canonical_fragment(item) for item in value if item is not None]
    if isinstance(value, float):
        return _whole(value)
    return value


def find_unreadable(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """All values for which `canonical_fragment` raises, each with its path and why; keys of maps are sorted."""
    if isinstance(value, dict):
        yield from _find_in_map(value, path)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from find_unreadable(item, path / index)
    elif isinstance(value, float) and not _is_whole(value):
        yield path, _not_whole(value)


def _find_in_map(fields: Mapping[str, Json], path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    for key, item in sorted(fields.items()):
        at = path / (key if key.isalnum() else Key(key))
        if key in _QUANTITIES:
            yield from _find_unreadable_quantity(item, at)
        elif key in _QUANTITY_MAPS | _TEXT_MAPS and isinstance(item, dict):
            find = _find_unreadable_quantity if key in _QUANTITY_MAPS else find_unreadable
            for name, part in sorted(item.items()):
                yield from find(part, at / Key(name))
        else:
            yield from find_unreadable(item, at)


def _find_unreadable_quantity(value: Json, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    try:
        _quantity(value)
    except ValueError as error:
        yield path, str(error)


def _canonical_map(value: Mapping[str, Json]) -> dict[str, Json]:
    stored: dict[str, Json] = {}
    for key, item in value.items():
        if item is None:
            continue
        rule = _RULES.get(key)
        kept = _any_field(item) if rule is None else rule(item)
        if kept is not _ABSENT:
            stored[key] = kept
    return stored


def _any_field(value: Json) -> Json:
    """A field without a rule of its own: an empty string or list is not stored, an empty object is."""
    if isinstance(value, str):
        return value or _ABSENT
    if isinstance(value, list | tuple):
        return [canonical_fragment(item) for item in value if item is not None] or _ABSENT
    return canonical_fragment(value)


def _plain_bool(value: Json) -> Json:
    return _ABSENT if value is False else _any_field(value)


def _plain_number(value: Json) -> Json:
    return _ABSENT if value == 0 and not isinstance(value, bool) else _any_field(value)


def _string_pointer(value: Json) -> Json:
    return value if value == "" else _any_field(value)


def _quantity(value: Json) -> Json:
    return canonical_quantity(str(value)) if isinstance(value, str | int | float) else value


def _quantity_field(value: Json) -> Json:
    return _ABSENT if value == "" else _quantity(value)


def _quantity_map(value: Json) -> Json:
    if not isinstance(value, dict):
        return _any_field(value)
    return {name: _quantity(amount) for name, amount in value.items() if amount is not None} or _ABSENT


def _users_own(value: Json) -> Json:
    """A map, or a list of small maps, with strings of the user; empty strings are stored too."""
    if isinstance(value, dict):
        return {key: canonical_fragment(item) for key, item in value.items() if item is not None} or _ABSENT
    if isinstance(value, list | tuple):
        kept = [_users_own(item) for item in value if item is not None]
        return [item for item in kept if item is not _ABSENT] or _ABSENT
    return canonical_fragment(value)


def _port(value: Json) -> Json:
    """A port of a probe or lifecycle handler: a number written as a string is refused as the name of a port."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return _any_field(value)


def _volume_with_optional_read_only(value: Json) -> Json:
    """`csi` and `azureDisk` are the volumes whose `readOnly` is a pointer."""
    stored = _any_field(value)
    if isinstance(value, dict) and value.get("readOnly") is False:
        return {**stored, "readOnly": False}
    return stored


def _projected_sources(value: Json) -> Json:
    """Sources of a projected volume with the server's defaults, because Metacontroller replaces the whole list."""
    stored = _any_field(value)
    if not isinstance(stored, list):
        return stored
    return [_complete_source(source) if isinstance(source, dict) else source for source in stored]


def _complete_source(source: Mapping[str, Json]) -> dict[str, Json]:
    complete = dict(source)
    token = source.get("serviceAccountToken")
    if isinstance(token, dict):
        complete["serviceAccountToken"] = {"expirationSeconds": _TOKEN_SECONDS, **token}
    downward = source.get("downwardAPI")
    if isinstance(downward, dict) and isinstance(downward.get("items"), list):
        complete["downwardAPI"] = {**downward, "items": [_complete_item(item) for item in downward["items"]]}
    return complete


def _complete_item(item: Json) -> Json:
    if not isinstance(item, dict):
        return item
    complete = dict(item)
    for reference, default in (("fieldRef", {"apiVersion": "v1"}), ("resourceFieldRef", {"divisor": "0"})):
        if isinstance(item.get(reference), dict):
            complete[reference] = {**default, **item[reference]}
    return complete


def _whole(value: float) -> int:
    if not _is_whole(value):
        raise ValueError(_not_whole(value))
    return int(value)


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) < _NUMBERS_END


def _not_whole(value: float) -> str:
    return f"{value} is {'too large for 64 bits' if value.is_integer() else 'not a whole number'}"


_RULES: Mapping[str, Callable[[Json], Json]] = {
    **dict.fromkeys(_PLAIN_BOOLS, _plain_bool),
    **dict.fromkeys(_PLAIN_NUMBERS, _plain_number),
    **dict.fromkeys(_EMPTY_MEANS_SOMETHING, _string_pointer),
    **dict.fromkeys(_QUANTITIES, _quantity_field),
    **dict.fromkeys(_QUANTITY_MAPS, _quantity_map),
    **dict.fromkeys(_TEXT_MAPS, _users_own),
    **dict.fromkeys(("options", "httpHeaders"), _users_own),
    **dict.fromkeys(("csi", "azureDisk"), _volume_with_optional_read_only),
    "port": _port,
    "sources": _projected_sources,
}
