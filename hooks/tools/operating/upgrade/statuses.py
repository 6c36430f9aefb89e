"""In what a status differs from one that was written: conditions by type, without times; other fields by path."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hooks.graph.report.serving_reasons import SERVING, SERVING_FIELD
from hooks.ground.k8s.types import Json
from hooks.ground.problems import HERE
from hooks.tools.offline.diff.fields import FieldChange, compare_values
from hooks.tools.offline.diff.wording import describe_field, show

_CONDITIONS = "conditions"
_OF_METACONTROLLER = "observedGeneration"
"""Metacontroller adds it to what a hook says."""


class Statement(NamedTuple):
    """What a condition says; times and generations are left out."""

    status: str
    reason: str
    message: str

    @property
    def name(self) -> str:
        """`False (RollingOut)`."""
        return f"{self.status} ({self.reason})" if self.reason else self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionChange:
    """A condition that says something else; None where there is none of that type."""

    type: str
    old: Statement | None
    new: Statement | None

    def __str__(self) -> str:
        """`Ready: True (AllReady) → False (RollingOut)`; the messages only if nothing else differs."""
        if self.old and self.new and self.old[:2] == self.new[:2]:
            return f"{self.type}: {show(self.old.message)} → {show(self.new.message)}"
        return f"{self.type}: {_name(self.old)} → {_name(self.new)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """The conditions and fields in which statuses differ; empty if they say the same."""

    conditions: tuple[ConditionChange, ...] = ()
    fields: tuple[FieldChange, ...] = ()

    def __bool__(self) -> bool:
        """Whether something differs."""
        return bool(self.conditions or self.fields)

    def lines(self) -> Iterator[str]:
        """Each difference as a line."""
        yield from map(str, self.conditions)
        yield from map(describe_field, self.fields)

    def in_both(self, other: "StatusChange") -> "StatusChange":
        """What the other has too, in the same words."""
        return StatusChange(
            conditions=tuple(one for one in self.conditions if one in other.conditions),
            fields=tuple(one for one in self.fields if one in other.fields),
        )

    def without(self, other: "StatusChange") -> "StatusChange":
        """What the other has not."""
        return StatusChange(
            conditions=tuple(one for one in self.conditions if one not in other.conditions),
            fields=tuple(one for one in self.fields if one not in other.fields),
        )


def compare_statuses(old: Mapping[str, Json], new: Mapping[str, Json]) -> StatusChange:
    """What differs between a written status and one that a hook answers, but for what only frontends can say."""
    before, after = _read_conditions(old), _read_conditions(new)
    changed = tuple(
        ConditionChange(type=name, old=before.get(name), new=after.get(name))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )
    rest = [{key: value for key, value in one.items() if key not in _APART} for one in (old, new)]
    return StatusChange(conditions=changed, fields=tuple(compare_values(rest[0], rest[1], HERE / "status")))


_APART = frozenset({_CONDITIONS, _OF_METACONTROLLER, SERVING_FIELD})


def _name(said: Statement | None) -> str:
    return "(none)" if said is None else said.name


def _read_conditions(status: Mapping[str, Json]) -> dict[str, Statement]:
    found = status.get(_CONDITIONS)
    listed: Iterable[Json] = found if isinstance(found, list) else ()
    return {
        str(one.get("type")): Statement(*(str(one.get(key) or "") for key in ("status", "reason", "message")))
        for one in listed
        if isinstance(one, Mapping) and one.get("type") != SERVING
    }
