"""Which inputs make or decide the leaves of a build: measured by building again with each of them changed.

A leaf is found again by its place. The places of a changed build are compared without the mark that a changed name has;
an object with another name, as one whose name has a hash, is the next one of its kind.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from hooks.ground.k8s.pod_sets import CLIQUES
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key
from hooks.tools.offline.explain.edits import MARK, unmark
from hooks.tools.offline.explain.inputs import Input
from hooks.tools.offline.explain.leaf_sources import Influence, Mode
from hooks.tools.offline.explain.leaves import LeafPlace, Leaves, ObjectKey, RenderedObjects

_STRENGTH = {mode: index for index, mode in enumerate(Mode)}


def measure(
    base: RenderedObjects, inputs: Iterable[Input], places: Collection[LeafPlace]
) -> dict[LeafPlace, tuple[Influence, ...]]:
    """The influences on each of these leaves of a build: the strongest of each input, sorted by mode."""
    found: dict[LeafPlace, list[Influence]] = {}
    for one in inputs:
        for place, influence in _measure_one(base, one, places).items():
            found.setdefault(place, []).append(influence)
    return {place: tuple(sorted(some, key=lambda one: _STRENGTH[one.mode])) for place, some in found.items()}


def _measure_one(base: RenderedObjects, one: Input, places: Collection[LeafPlace]) -> dict[LeafPlace, Influence]:
    found: dict[LeafPlace, Influence] = {}
    for group in one.trials:
        made = next(((trial, made) for trial in group if (made := trial.build.make()) is not None), None)
        if made is None:
            continue
        trial, changed = made
        for place, then in find_changes(base, changed, places):
            mode = _mode(base.value(place), then, one.source.value, trial.tried)
            known = found.get(place)
            if known is None or _STRENGTH[mode] < _STRENGTH[known.mode]:
                found[place] = Influence(source=one.source, mode=mode, tried=trial.tried, then=then)
    return found


def find_changes(
    base: RenderedObjects, changed: RenderedObjects, places: Iterable[LeafPlace]
) -> Iterator[tuple[LeafPlace, Json]]:
    """The leaves that a changed build makes differently, with the new value, None for no leaf.

    The leaves of an object or a clique that is not made at all are left out.
    """
    after = align(base, changed)
    new: dict[ObjectKey, Leaves | None] = {}
    for place in places:
        key = place.object
        if key not in new:
            is_same = key not in after or changed.objects[after[key]] == base.objects[key]
            new[key] = None if is_same else _unmarked(changed, after[key], key)
        leaves = new[key]
        if leaves is not None:
            value, then = base.value(place), leaves.get(place)
            is_changed = then != value or type(then) is not type(value)
            if is_changed and (then is not None or _has_clique(place, leaves)):
                yield place, then


def _has_clique(place: LeafPlace, leaves: Leaves) -> bool:
    """Whether the clique of the leaf is there, if it is a leaf of one."""
    clique = place.path.parts[: len(CLIQUES.parts) + 1]
    return clique[:-1] != CLIQUES.parts or any(one.path.parts[: len(clique)] == clique for one in leaves)


def _mode(value: Json, then: Json, given: Json, tried: Json) -> Mode:
    if tried is None or then is None:
        return Mode.DECIDES
    if _text(then) == _text(tried) and _text(value) == _text(given):
        return Mode.COPIED
    return Mode.PART if MARK in str(then) else Mode.DECIDES


def _text(value: Json) -> str:
    """The value as text: a number and its text are one value, as in quantities."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unmarked(changed: RenderedObjects, name: ObjectKey, key: ObjectKey) -> Leaves:
    """The leaves of an object of a changed build, at the places that they have in the base.

    A leaf that is there under its own name is not the one with the mark.
    """
    leaves = {place.path: value for place, value in changed.leaves_of(name).items()}
    return {
        LeafPlace(*key, path): value
        for path, value in ({_unmark_path(path): leaves[path] for path in leaves} | leaves).items()
    }


def align(base: RenderedObjects, changed: RenderedObjects) -> Mapping[ObjectKey, ObjectKey]:
    """By an object of the base, the same object of a changed build, which may have another name."""
    if base.objects.keys() == changed.objects.keys():
        return {key: key for key in base.objects}
    names = {one: (one[0], unmark(one[1])) for one in changed.objects}
    lost, fresh = _by_kind(base.objects.keys() - set(names.values())), _by_kind(names.keys() - base.objects.keys())
    for kind, some in fresh.items():
        unknown = [one for one in some if names[one] not in base.objects]
        if len(unknown) == len(lost.get(kind, ())):
            names |= dict(zip(unknown, lost.get(kind, ()), strict=True))
    return {key: one for one, key in names.items() if key in base.objects}


def _by_kind(keys: Iterable[ObjectKey]) -> dict[str, list[ObjectKey]]:
    found: dict[str, list[ObjectKey]] = {}
    for key in sorted(keys):
        found.setdefault(key[0], []).append(key)
    return found


def _unmark_path(path: FieldPath) -> FieldPath:
    if not any(isinstance(part, str) and MARK in part for part in path.parts):
        return path
    return FieldPath(tuple(_unmark_part(part) for part in path.parts))


def _unmark_part(part: str | int) -> str | int:
    if isinstance(part, int):
        return part
    return Key(unmark(part)) if isinstance(part, Key) else unmark(part)
