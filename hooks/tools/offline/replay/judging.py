"""One recorded call, asked again: the children before and after, and what is said otherwise, for good or meanwhile."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.server.recording.calls import Answered, RecordedCall
from hooks.tools.offline.diff.fields import compare_objects
from hooks.tools.offline.diff.wording import describe_field
from hooks.tools.offline.replay.answers import AnswerChange, compare_answers
from hooks.tools.offline.replay.asked import apply_answer, children_of, is_held, wanted_of, with_children
from hooks.wire.policy.holding import MARKED, rolling_part
from hooks.wire.world.objects import ObjectId


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks this version about a call; `released` does so as if no new default had to wait."""

    answer: Callable[[RecordedCall], Answered]
    released: Callable[[RecordedCall], Answered]

    def __call__(self, call: RecordedCall) -> Answered:
        """The answer to a call."""
        return self.answer(call)


@dataclass(frozen=True, kw_only=True)
class JudgedCall:
    """A call with both answers, and the children that each leads to.

    `lasting` is said otherwise also when the children are as they will be; `following` only until the named child is.
    `held` are children that wait, each as it stays and as it would be.
    """

    call: RecordedCall
    answered: Answered
    before: Mapping[ObjectId, Manifest] = field(default_factory=dict)
    after: Mapping[ObjectId, Manifest] = field(default_factory=dict)
    recreated: frozenset[ObjectId] = frozenset()
    lasting: AnswerChange = field(default_factory=AnswerChange)
    following: tuple[tuple[ObjectId, AnswerChange], ...] = ()
    held: Mapping[ObjectId, tuple[Manifest, Manifest]] = field(default_factory=dict)

    @cached_property
    def changed(self) -> tuple[ObjectId, ...]:
        """The children that do not stay as they are."""
        return _find_changed(self.before, self.after, self.recreated)

    @property
    def was_held(self) -> bool:
        """Whether the recording version said that workloads wait."""
        return is_held(self.call.answered)

    def object_lines(self) -> Iterator[str]:
        """The changed children and their fields, each as a line."""
        for key in self.changed:
            old, new = self.before.get(key), self.after.get(key)
            if old is None or new is None:
                yield f"{key} is {'no longer wanted' if new is None else 'new'}"
            else:
                yield from _lines(key, old, new)

    def held_lines(self) -> Iterator[str]:
        """The fields that wait, as `object_lines` says them of a call in which they do not wait."""
        for key, (held, released) in self.held.items():
            yield from _lines(key, held, released)


def _lines(key: ObjectId, old: Manifest, new: Manifest) -> Iterator[str]:
    yield from (f"{key}: {describe_field(one)}" for one in compare_objects(old, new))


def judge(
    call: RecordedCall, ask: Ask, asked: RecordedCall | None = None, *, answered: Answered | None = None
) -> JudgedCall:
    """Compare the recorded answer to a call with this version's, which is about `asked` if that is given."""
    now = asked or call
    found = ask(now) if answered is None else answered
    if found == call.answered and not is_held(found):
        wanted = wanted_of(found)
        same = children_of(call) if wanted is None else apply_answer(call, wanted)[0]
        return JudgedCall(call=call, answered=found, before=same, after=same)
    before, after, recreated = _both(call, now, found)
    changed = _find_changed(before, after, recreated)
    direct = compare_answers(call.answered, found)
    lasting = compare_answers(call.answered, ask(with_children(now, after.values()))) if changed and direct else direct
    return JudgedCall(
        call=call,
        answered=found,
        before=before,
        after=after,
        recreated=frozenset(recreated),
        lasting=lasting,
        following=tuple(_assign(now, ask, changed=changed, after=after, fleeting=direct.without(lasting))),
        held=dict(_find_held(now, after, ask)) if is_held(found) else {},
    )


def _both(
    call: RecordedCall, now: RecordedCall, found: Answered
) -> tuple[dict[ObjectId, Manifest], dict[ObjectId, Manifest], set[ObjectId]]:
    """The children that the recorded answer and the new one lead to; an error leaves them as they are."""
    recorded, wanted = wanted_of(call.answered), wanted_of(found)
    before = children_of(call) if recorded is None else apply_answer(call, recorded)[0]
    if wanted is None:
        return before, before, set()
    after, recreated = apply_answer(now, wanted)
    return before, after, recreated


def _find_changed(
    before: Mapping[ObjectId, Manifest], after: Mapping[ObjectId, Manifest], recreated: Iterable[ObjectId]
) -> tuple[ObjectId, ...]:
    there = {*recreated}
    return tuple(
        key
        for key in dict.fromkeys([*after, *before])
        if key in there or key not in before or key not in after or compare_objects(before[key], after[key])
    )


def _assign(
    call: RecordedCall,
    ask: Ask,
    *,
    changed: Iterable[ObjectId],
    after: Mapping[ObjectId, Manifest],
    fleeting: AnswerChange,
) -> Iterator[tuple[ObjectId, AnswerChange]]:
    """What is said only until children are applied, by the first child from which alone it follows."""
    children, left = [*changed], fleeting
    if not left:
        return
    live = children_of(call)
    settled = ask(with_children(call, after.values()))
    for key in children[:-1]:
        others = {**after, **({key: live[key]} if key in live else {})}
        if key not in live:
            others.pop(key, None)
        alone = compare_answers(settled, ask(with_children(call, others.values())))
        own = left.without(left.without(alone))
        if own:
            yield key, own
            left = left.without(own)
    if left:
        yield children[-1], left


def _find_held(
    call: RecordedCall, after: Mapping[ObjectId, Manifest], ask: Ask
) -> Iterator[tuple[ObjectId, tuple[Manifest, Manifest]]]:
    wanted = wanted_of(ask.released(call))
    if wanted is None:
        return
    released, _ = apply_answer(call, wanted)
    for key, held in after.items():
        if gvk_of(held) in MARKED and key in released and rolling_part(held) != rolling_part(released[key]):
            yield key, (held, released[key])
