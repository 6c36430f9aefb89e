"""Objects by kind, namespace and name, by the uid of their controller, and by labels: found without looking at all."""

from bisect import bisect_left, insort
from collections.abc import Mapping

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, controller_of

_Key = tuple[str, str, str, str]
"""Group, kind, namespace (empty if cluster scoped) and name."""
_Labelled = tuple[str, str, str, str]
"""Group, kind, and the key and value of a label."""
_SERVICE = (kinds.SERVICE.group, kinds.SERVICE.kind)
_Names = dict[str, list[str]]
"""Sorted names by namespace."""


class Index:
    """Objects by their key; what it returns must not be changed."""

    def __init__(self) -> None:
        self._objects: dict[_Key, Manifest] = {}
        self._names: dict[tuple[str, str], _Names] = {}
        self._controlled: dict[tuple[str, str, str], _Names] = {}
        """Names by group and kind, and the uid of the controller; empty for none."""
        self._labelled: dict[_Labelled, _Names] = {}
        self._services: dict[tuple[str, str], _Names] = {}
        """Names of Services by the first label of their selector."""

    def get(self, key: _Key) -> Manifest | None:
        """The object, None if there is none."""
        return self._objects.get(key)

    def put(self, key: _Key, obj: Manifest) -> None:
        """Add an object, or replace it."""
        group, kind, namespace, name = key
        old = self._objects.get(key)
        self._objects[key] = obj
        self._put_labels(key, old, obj)
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
            self._put_labels(key, old, None)

    def _put_labels(self, key: _Key, old: Manifest | None, new: Manifest | None) -> None:
        group, kind, namespace, name = key
        before, after = _labels(old), _labels(new)
        if before != after:
            for label in before.items() - after.items():
                _remove(self._labelled[group, kind, *label], namespace, name)
            for label in after.items() - before.items():
                _add(self._labelled.setdefault((group, kind, *label), {}), namespace, name)
        if (group, kind) != _SERVICE or (was := _first_selected(old)) == (now := _first_selected(new)):
            return
        if was is not None:
            _remove(self._services[was], namespace, name)
        if now is not None:
            _add(self._services.setdefault(now, {}), namespace, name)

    def list_labelled(self, kind: GroupVersionKind, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The objects of a kind with all of these labels, at least one; sorted likewise."""
        by_label = [self._labelled.get((kind.group, kind.kind, *label), {}) for label in labels.items()]
        found = self._list(kind, min(by_label, key=lambda names: _count(names, namespace)), namespace)
        return [one for one in found if labels.items() <= _labels(one).items()]

    def list_services(self, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The Services of a namespace that select pods with these labels, sorted by name."""
        own = {key: value for key, value in labels.items() if isinstance(value, str)}
        places = [self._services.get(label, {}).get(namespace, ()) for label in own.items()]
        found = [
            self._objects[*_SERVICE, namespace, name] for name in sorted(name for names in places for name in names)
        ]
        return [one for one in found if one["spec"]["selector"].items() <= own.items()]

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """All objects of a kind, in one namespace or (empty) in all, sorted by namespace and name."""
        return self._list(kind, self._names.get((kind.group, kind.kind), {}), namespace)

    def list_controlled(self, kind: GroupVersionKind, namespace: str, uid: str) -> list[Manifest]:
        """Those that an object controls, or (empty uid) that none controls."""
        return self._list(kind, self._controlled.get((kind.group, kind.kind, uid), {}), namespace)

    def _list(self, kind: GroupVersionKind, names: _Names, namespace: str) -> list[Manifest]:
        places = [namespace] if namespace else sorted(names)
        return [self._objects[kind.group, kind.kind, place, name] for place in places for name in names.get(place, ())]


def _count(names: _Names, namespace: str) -> int:
    return len(names.get(namespace, ())) if namespace else sum(map(len, names.values()))


def _labels(obj: Manifest | None) -> Mapping[str, str]:
    """The labels whose values are texts, as all are that an API server takes."""
    found = {} if obj is None else obj["metadata"].get("labels") or {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _first_selected(service: Manifest | None) -> tuple[str, str] | None:
    """A label that all pods of the Service have; None if it has no selector."""
    selector = {} if service is None else (service.get("spec") or {}).get("selector") or {}
    return min(selector.items(), default=None)


def _controller(obj: Manifest) -> str:
    return str((controller_of(obj) or {}).get("uid", ""))


def _add(names: _Names, namespace: str, name: str) -> None:
    insort(names.setdefault(namespace, []), name)


def _remove(names: _Names, namespace: str, name: str) -> None:
    found = names[namespace]
    del found[bisect_left(found, name)]
    if not found:
        del names[namespace]
