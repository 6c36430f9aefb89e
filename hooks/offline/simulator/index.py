"""Objects by kind, namespace and name, and by the uid of their controller: found without looking at all."""

from bisect import bisect_left, insort

from hooks.k8s.types import GroupVersionKind, Manifest, controller_of

_Key = tuple[str, str, str, str]
"""Group, kind, namespace (empty if cluster scoped) and name."""
_Names = dict[str, list[str]]
"""Sorted names by namespace."""


class Index:
    """Objects by their key; what it returns must not be changed."""

    def __init__(self) -> None:
        self._objects: dict[_Key, Manifest] = {}
        self._names: dict[tuple[str, str], _Names] = {}
        self._controlled: dict[tuple[str, str, str], _Names] = {}
        """Names by group and kind, and the uid of the controller; empty for none."""

    def get(self, key: _Key) -> Manifest | None:
        """The object, None if there is none."""
        return self._objects.get(key)

    def put(self, key: _Key, obj: Manifest) -> None:
        """Add an object, or replace it."""
        group, kind, namespace, name = key
        old = self._objects.get(key)
        self._objects[key] = obj
        if old is None:
            _add(self._names.setdefault((group, kind), {}), namespace, name)
        elif _controller(old) == _controller(obj):
            return
        else:
            _remove(self._controlled[group, kind, _controller(old)], namespace, name)
        _add(self._controlled.setdefault((group, kind, _controller(obj)), {}), namespace, name)

    def drop(self, key: _Key) -> None:
        """Remove an object if it is there."""
        old = self._objects.pop(key, None)
        if old is not None:
            group, kind, namespace, name = key
            _remove(self._names[group, kind], namespace, name)
            _remove(self._controlled[group, kind, _controller(old)], namespace, name)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""
        return self._list(kind, self._names.get((kind.group, kind.kind), {}), namespace)

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """Those that an object controls, or (empty uid) that none controls."""
        return self._list(kind, self._controlled.get((kind.group, kind.kind, uid), {}), namespace)

    def _list(self, kind: GroupVersionKind, names: _Names, namespace: str) -> list[Manifest]:
        places = [namespace] if namespace else sorted(names)
        return [self._objects[kind.group, kind.kind, place, name] for place in places for name in names.get(place, ())]


def _controller(obj: Manifest) -> str:
    return str((controller_of(obj) or {}).get("uid", ""))


def _add(names: _Names, namespace: str, name: str) -> None:
    insort(names.setdefault(namespace, []), name)


def _remove(names: _Names, namespace: str, name: str) -> None:
    found = names[namespace]
    del found[bisect_left(found, name)]
    if not found:
        del names[namespace]
