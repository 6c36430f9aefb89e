"""In what two answers differ beside the children: conditions by type, without times; other fields by path."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json
from hooks.ground.problems import HERE
from hooks.server.recording.calls import Answered
from hooks.tools.offline.diff.fields import FieldChange, compare_values
from hooks.tools.offline.diff.wording import describe_field
from hooks.tools.operating.upgrade.statuses import ConditionChange, Statement

_CHILDREN = frozenset({"children", "attachments"})
_LONGEST = 300
_STATUS = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChange:
    """The conditions and fields in which answers differ; empty if they say the same."""

    conditions: tuple[ConditionChange, ...] = ()
    fields: tuple[FieldChange, ...] = ()

    @property
    def is_of_status(self) -> bool:
        """Whether the status differs."""
        return bool(self.conditions) or any(one.path.parts[0] == _STATUS for one in self.fields)

    def __bool__(self) -> bool:
        """Whether something differs."""
        return bool(self.conditions or self.fields)

    def lines(self) -> Iterator[str]:
        """Each difference as a line."""
        yield from map(str, self.conditions)
        yield from map(describe_field, self.fields)

    def without(self, other: "AnswerChange") -> "AnswerChange":
        """What of it is not in the other: conditions by type, fields by path."""
        types, paths = {one.type for one in other.conditions}, {one.path for one in other.fields}
        return AnswerChange(
            conditions=tuple(one for one in self.conditions if one.type not in types),
            fields=tuple(one for one in self.fields if one.path not in paths),
        )


def compare_answers(recorded: Answered, answered: Answered) -> AnswerChange:
    """What differs between two answers beside the children; an error differs in nothing here."""
    before, after = recorded.answer, answered.answer
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return AnswerChange()
    old, new = (_conditions(one) for one in (before, after))
    changed = tuple(
        ConditionChange(type=name, old=old.get(name), new=new.get(name))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    )
    rest = [dict(_without_conditions(one)) for one in (before, after)]
    return AnswerChange(conditions=changed, fields=tuple(compare_values(rest[0], rest[1], HERE)))


def describe_failure(recorded: Answered, answered: Answered) -> str:
    """What is said of two answers of which one is an error; empty if both are the same, or none is one."""
    if recorded.code == answered.code and (answered.code == 200 or recorded.answer == answered.answer):
        return ""
    if answered.code == 200:
        return f"it is answered, where the recording version said {_describe(recorded)}"
    stays = ", and its children stay as they are" if recorded.code == 200 else f"; recorded: {_describe(recorded)}"
    return f"the hooks answer {_describe(answered)}{stays}"


def _describe(answered: Answered) -> str:
    return "200" if answered.code == 200 else one_line(f"{answered.code} {answered.answer}", _LONGEST)


def _conditions(answer: Mapping[str, Json]) -> dict[str, Statement]:
    return {
        str(one.get("type")): Statement(*(str(one.get(key) or "") for key in ("status", "reason", "message")))
        for one in _list_conditions(answer)
    }


def _list_conditions(answer: Mapping[str, Json]) -> Iterable[Mapping[str, Json]]:
    status = answer.get(_STATUS)
    found = status.get("conditions") if isinstance(status, Mapping) else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _without_conditions(answer: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for key, value in answer.items():
        if key == _STATUS and isinstance(value, Mapping):
            yield key, {name: one for name, one in value.items() if name != "conditions"}
        elif key not in _CHILDREN:
            yield key, value
