"""Where what a version answers differs from what was recorded: equal differences of several calls make one group."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.k8s.messages import one_line
from hooks.k8s.types import Json, ReadManifest
from hooks.offline.diff.fields import compare_objects, compare_values
from hooks.offline.diff.wording import describe_field
from hooks.problems import HERE
from hooks.recording.calls import Answered, RecordedCall

_LONGEST = 300
_CHILDREN = ("children", "attachments")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGroup:
    """One difference: the hook and stage, what it is about, the difference in words, and the parents that have it."""

    path: str
    about: str
    what: str
    parents: tuple[str, ...]
    calls: int


def group_differences(replayed: Iterable[tuple[RecordedCall, Answered]]) -> list[AnswerGroup]:
    """All differences, the most frequent first."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for call, answered in replayed:
        for about, what in find_differences(call.answered, answered):
            found.setdefault((call.path, about, what), []).append(call.parent)
    groups = [
        AnswerGroup(path=path, about=about, what=what, parents=tuple(sorted(set(parents))), calls=len(parents))
        for (path, about, what), parents in found.items()
    ]
    return sorted(groups, key=lambda group: (-group.calls, group.path, group.about, group.what))


def find_differences(recorded: Answered, answered: Answered) -> Iterator[tuple[str, str]]:
    """What differs between two answers: what it is about, and the difference in words."""
    if recorded.code != answered.code or not isinstance(recorded.answer, Mapping):
        if recorded != answered:
            yield "answer", f"{_describe(recorded)} → {_describe(answered)}"
        return
    before, after = recorded.answer, answered.answer
    assert isinstance(after, Mapping)  # noqa: S101 - the answer to 200 is an object
    yield from _compare_children(_children(before), _children(after))
    rest = [{key: item for key, item in one.items() if key not in _CHILDREN} for one in (before, after)]
    for change in compare_values(rest[0], rest[1], HERE):
        yield "answer", describe_field(change)


def _compare_children(
    before: Mapping[tuple[str, str], ReadManifest], after: Mapping[tuple[str, str], ReadManifest]
) -> Iterator[tuple[str, str]]:
    for key in sorted(before.keys() | after.keys()):
        kind, name = key
        if key not in after:
            yield kind, f"{name} is no longer wanted"
        elif key not in before:
            yield kind, f"{name} is new"
        else:
            for change in compare_objects(before[key], after[key]):
                yield kind, describe_field(change)


def _children(answer: Mapping[str, Json]) -> dict[tuple[str, str], ReadManifest]:
    found = [child for key in _CHILDREN for child in answer.get(key) or ()]
    return {(child["kind"], child["metadata"]["name"]): child for child in found}


def _describe(answered: Answered) -> str:
    return "200" if answered.code == 200 else one_line(f"{answered.code} {answered.answer}", _LONGEST)
