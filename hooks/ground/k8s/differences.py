"""Where a live object differs from a wanted one, in the fields that the wanted one sets.

The server's defaults and the fields of other writers are no difference: a map may have more keys, a list that
Metacontroller merges by key more items, and the items of any other list more fields. It does not know who changed what.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

import orjson

from hooks.ground.k8s import kinds
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.private_fields import PAIR_LISTS, SECRET_FIELDS
from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.service_routes import find_rerouted
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import HERE, FieldPath, Key

MERGE_KEYS = ("containerPort", "port", "mountPath", "name", "uid", "ip", "path")
"""Metacontroller merges a list by the first of these keys that every item has.

Source: Metacontroller v4.17, pkg/dynamic/apply/apply.go, knownMergeKeys.
"""

_LONGEST = 80
_QUANTITY_MAPS = frozenset({"limits", "requests", "overhead"})
_QUANTITIES = frozenset({"sizeLimit", "divisor", "storage"})
_USERS_KEYS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "data", "limits", "requests"})
"""Maps whose keys are not names of fields."""
_NOT_COMPARED = frozenset({"apiVersion", "kind", "metadata", "status"})
_METADATA = ("labels", "annotations")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """The first field in which an object differs; `live` is None if the field is absent.

    `is_secret`: no message may contain the values.
    """

    path: FieldPath
    wanted: Json
    live: Json
    is_secret: bool = False

    def __str__(self) -> str:
        """`spec.replicas is 0, wanted 2`; without values that are long, nested or secret."""
        is_missing = self.live is None
        if self.is_secret or not (_is_short(self.wanted) and _is_short(self.live)):
            return f"{self.path} {'is missing' if is_missing else 'is not as wanted'}"
        if is_missing and isinstance(self.wanted, Mapping):
            return f"{self.path} is missing"
        return f"{self.path} is {'missing' if is_missing else _write(self.live)}, wanted {_write(self.wanted)}"


def find_difference(
    wanted: ReadManifest, live: ReadManifest, accepts: Callable[[FieldDifference], bool] = lambda _difference: False
) -> FieldDifference | None:
    """The first difference between a wanted object and the live one of its name that is not accepted, or None."""
    return next((one for one in find_differences(wanted, live) if not accepts(one)), None)


def find_differences(wanted: ReadManifest, live: ReadManifest) -> Iterator[FieldDifference]:
    """All differences between a wanted object and the live one of its name, in the order of their paths."""
    for path, ours, theirs in _find_in_object(wanted, live):
        secret = wanted["kind"] == kinds.SECRET.kind and path.parts[0] in SECRET_FIELDS
        yield FieldDifference(
            path=path, wanted=ours, live=theirs, is_secret=secret or not PAIR_LISTS.isdisjoint(path.parts)
        )


_Found = tuple[FieldPath, Json, Json]


def _find_in_object(wanted: ReadManifest, live: ReadManifest) -> Iterator[_Found]:
    for key in sorted(wanted.keys() - _NOT_COMPARED):
        path = HERE / key
        if (wanted["kind"], key) == (kinds.SERVICE.kind, "spec"):
            yield from _find_in_service(wanted[key], live.get(key) or {}, path)
        yield from _find(wanted[key], live.get(key), path)
    for key in _METADATA:
        if ours := wanted["metadata"].get(key):
            yield from _find(ours, live["metadata"].get(key) or {}, HERE / "metadata" / key)


def _find_in_service(wanted: Json, live: Json, path: FieldPath) -> Iterator[_Found]:
    """Where a Service sends its clients elsewhere: by its type, or by a further key of its selector.

    No controller removes such a key.
    """
    for key, right in find_rerouted(wanted, live).items():
        yield path / key, right, live[key]
    ours, theirs = wanted.get("selector"), live.get("selector")
    if ours != theirs:
        yield path / "selector", ours, theirs


def _find(wanted: Json, live: Json, path: FieldPath) -> Iterator[_Found]:
    if wanted == live:
        return
    if isinstance(wanted, dict) and isinstance(live, dict):
        for key in sorted(wanted):
            if wanted[key] != live.get(key):  # else the path is not needed
                yield from _find(wanted[key], live.get(key), path / name_part(path, key, _USERS_KEYS))
    elif isinstance(wanted, list | tuple) and isinstance(live, list):
        yield from _find_in_list(wanted, live, path)
    elif not _is_same_quantity(wanted, live, path):
        yield path, wanted, live


def _find_in_list(wanted: Sequence[Json], live: Sequence[Json], path: FieldPath) -> Iterator[_Found]:
    key = merge_key(wanted, live)
    if key is None:
        if len(wanted) != len(live):
            yield path, wanted, live
        for index, (ours, theirs) in enumerate(zip(wanted, live, strict=False)):
            yield from _find(ours, theirs, path / index)
        return
    for item in wanted:
        at = path / Key(item[key])
        same = [other for other in live if str(other[key]) == str(item[key])]
        found = [[*_find(item, other, at)] for other in same]
        if not same:
            yield at, item, None
        elif all(found):  # one number may have several ports, of different protocols
            yield from chain.from_iterable(found)


def merge_key(*versions: Sequence[Json]) -> str | None:
    """The key by which Metacontroller guesses that a list's items are named; None replaces the whole list."""
    items = [item for version in versions for item in version]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return next((key for key in MERGE_KEYS if all(key in item for item in items)), None)


def name_part(path: FieldPath, key: str, maps: Set[str]) -> str:
    """The key as a part of a path: in brackets if it is not the name of a field, as in `maps`."""
    is_users = not key.isalnum() or (bool(path.parts) and path.parts[-1] in maps)
    return Key(key) if is_users else key


def _is_same_quantity(wanted: Json, live: Json, path: FieldPath) -> bool:
    """Whether both are quantities of the same amount, written differently, as `1000m` and `1`."""
    is_quantity = path.parts[-1] in _QUANTITIES or (len(path.parts) > 1 and path.parts[-2] in _QUANTITY_MAPS)
    if not is_quantity or not isinstance(wanted, str | int) or not isinstance(live, str | int):
        return False
    try:
        return canonical_quantity(wanted) == canonical_quantity(live)
    except ValueError:
        return False


def _is_short(value: Json) -> bool:
    """Whether a message may contain the value: it is plain, or a map or list of plain values."""
    if isinstance(value, Mapping):
        return all(not isinstance(item, Mapping | list) for item in value.values())
    if isinstance(value, list | tuple):
        return all(not isinstance(item, Mapping | list) for item in value)
    return True


def _write(value: Json) -> str:
    return one_line(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(), _LONGEST)
