"""The tree of objects that do not stay as they are, each with its fields and what else is told of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.tools.offline.diff.plan import Difference, Fate, ObjectChange
from hooks.tools.offline.diff.wording import describe_field
from hooks.wire.world.objects import ObjectId

Style = Callable[[str, str], str]
"""Gives a text a colour: `green`, `yellow`, `red` or `bold`."""

_COLOURS = {Fate.ADDED: "green", Fate.CHANGED: "yellow", Fate.REMOVED: "red", Fate.RECREATED: "red"}
_MARKS = {Fate.ADDED: "+", Fate.CHANGED: "~", Fate.REMOVED: "-", Fate.RECREATED: "!"}


def plain(text: str, _colour: str) -> str:
    """The text without colours."""
    return text


@dataclass(frozen=True, slots=True)
class Branch:
    """An object with a title; `lines` are told of it, `below` is what it owns."""

    id: ObjectId
    title: str
    lines: tuple[str, ...] = ()
    below: tuple["Branch", ...] = ()


def grow(
    difference: Difference,
    style: Style = plain,
    *,
    told: Mapping[ObjectId, Sequence[str]] | None = None,
    said: Mapping[ObjectId, str] | None = None,
) -> tuple[Branch, ...]:
    """The objects that change or of which something is `told`, below what owns them; `said` is added to a title."""
    return _Forest(difference, style, told or {}, said or {}).grow(None)


def write_branches(branches: Iterable[Branch]) -> Iterator[str]:
    """The lines of the trees."""
    for branch in branches:
        yield branch.title
        yield from _write_below(branch, "")


def _write_below(branch: Branch, indent: str) -> Iterator[str]:
    last = len(branch.lines) + len(branch.below) - 1
    for index, line in enumerate(branch.lines):
        yield f"{indent}{'└─' if index == last else '├─'} {line}"
    for index, child in enumerate(branch.below, len(branch.lines)):
        yield f"{indent}{'└─' if index == last else '├─'} {child.title}"
        yield from _write_below(child, f"{indent}{'   ' if index == last else '│  '}")


class _Forest:
    """Collects what stands below each object."""

    def __init__(
        self,
        difference: Difference,
        style: Style,
        told: Mapping[ObjectId, Sequence[str]],
        said: Mapping[ObjectId, str],
    ) -> None:
        self._changed = {one.id: one for one in difference.objects}
        self._style, self._told, self._said = style, told, said
        shown = {*self._changed, *told, *said}
        shown |= {owner for one in shown for owner in _all_above(one, difference.owners)}
        self._below: dict[ObjectId | None, list[ObjectId]] = {}
        for key in dict.fromkeys([*difference.owners, *sorted(shown - difference.owners.keys())]):
            if key in shown:
                self._below.setdefault(difference.owners.get(key), []).append(key)

    def grow(self, owner: ObjectId | None) -> tuple[Branch, ...]:
        """What stands below an object; below None those that nothing owns."""
        return tuple(self._branch(key) for key in self._below.get(owner, ()))

    def _branch(self, key: ObjectId) -> Branch:
        own = self._changed.get(key)
        fields = () if own is None or own.is_between else own.fields
        lines = (*map(describe_field, fields), *self._told.get(key, ()))
        return Branch(key, self._title(key, own), lines, self.grow(key))

    def _title(self, key: ObjectId, change: ObjectChange | None) -> str:
        more = f": {self._said[key]}" if key in self._said else ""
        if change is None:
            return f"{key}{more}"
        return self._style(f"{_MARKS[change.fate]} {key} {change.fate.value}{more}", _COLOURS[change.fate])


def _all_above(key: ObjectId, owners: Mapping[ObjectId, ObjectId | None]) -> Iterator[ObjectId]:
    owner = owners.get(key)
    while owner is not None:
        yield owner
        owner = owners.get(owner)
