"""What another version does to the objects of recorded calls: which pods restart or are held, what is said otherwise.

The newest call of each object says how the cluster stood, so it alone decides what restarts. What differs only in
earlier calls is listed beside it. A child that changes leads to other answers until it is applied; so each call is
asked again with the child as it will be, and what does not differ then only follows from that child.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import makes_pods
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.server.recording.calls import RecordedCall
from hooks.tools.offline.diff.fields import FieldChange, compare_objects
from hooks.tools.offline.diff.plan import Difference, Notice, plan_difference
from hooks.tools.offline.diff.pods import find_pod_sets
from hooks.tools.offline.replay.answers import AnswerChange, compare_answers, describe_failure
from hooks.tools.offline.replay.asked import id_of, owner_of, parent_of, stage_of, with_parent
from hooks.tools.offline.replay.judging import Ask, JudgedCall, judge
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import ObjectId, Owned, World

_REPLICAS = "hook_replicas"
_ORDER = (contract.GRAPH_REQUEST, contract.GRAPH, contract.COMPONENT)
"""Owners before what they own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A workload, or a component, that waits with new defaults; `fields` would change, `pods` would restart.

    `before`: the recording version held it too.
    """

    id: ObjectId
    pods: int
    fields: tuple[FieldChange, ...]
    before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is said otherwise about an object; `follows` is the changed child from which alone it follows, or None."""

    id: ObjectId
    change: AnswerChange
    follows: ObjectId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A line about an object that differs only in calls before the newest one of that object."""

    id: ObjectId
    text: str
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """All that differs; `difference` has the objects, pods and resources, in the words of `diff`."""

    calls: int
    objects: int
    versions: tuple[str, ...]
    difference: Difference = field(default_factory=Difference)
    told: tuple[Told, ...] = ()
    held: tuple[Held, ...] = ()
    failed: tuple[Notice, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all answers are the same."""
        return self.difference.is_empty and not (self.told or self.failed or self.earlier)

    @property
    def statuses(self) -> int:
        """How many objects have another status in their newest call."""
        return len({one.id for one in self.told if one.change.is_of_status})


def plan_replay(recordings: Sequence[Sequence[RecordedCall]], ask: Ask) -> Replay:
    """Compare the recorded answers with those of `ask`; the calls are given by the server that recorded them."""
    calls = [call for recording in recordings for call in recording]
    newest = _find_newest(calls)
    judged = _judge_newest(newest, ask)
    before, after = _worlds(judged)
    failed = [Notice(id=id_of(one.call), text=text) for one in judged if (text := _failure_of(one))]
    told = [line for one in judged for line in _tell(one)]
    kept = set(map(id, newest.values()))
    others = [call for call in calls if id(call) not in kept]
    head = Replay(
        calls=len(calls),
        objects=len({id_of(call) for call in calls}),
        versions=tuple(sorted({call.version for call in calls})),
    )
    return replace(
        head,
        difference=plan_difference(before, after),
        told=tuple(told),
        held=tuple(held for one in judged for held in _find_held(one, after.world)),
        failed=tuple(failed),
        earlier=tuple(_find_earlier(others, judged, ask)),
        notes=tuple(_find_missing(calls, len(recordings))),
    )


def _find_missing(calls: Iterable[RecordedCall], recordings: int) -> Iterable[str]:
    """That servers recorded too of which no calls are here."""
    replicas = max((found for call in calls if isinstance(found := call.settings.get(_REPLICAS), int)), default=1)
    if replicas > recordings:
        yield (
            f"the hooks had {replicas} replicas, and these are the calls of {recordings}; "
            "copy those of each into a directory of its own, and name the directory around them"
        )


def _find_newest(calls: Iterable[RecordedCall]) -> dict[tuple[ObjectId, str], RecordedCall]:
    """The newest call of each object and stage, owners first."""
    found: dict[tuple[ObjectId, str], RecordedCall] = {}
    for call in sorted(calls, key=lambda one: one.moment):
        found[id_of(call), stage_of(call)] = call
    return dict(sorted(found.items(), key=lambda item: (_rank(item[0][0]), item[0])))


def _rank(key: ObjectId) -> int:
    return next((index for index, kind in enumerate(_ORDER) if key.is_a(kind)), len(_ORDER))


def _judge_newest(newest: Mapping[tuple[ObjectId, str], RecordedCall], ask: Ask) -> list[JudgedCall]:
    """Each call, about an object as its owner's new answer wants it."""
    changed: dict[ObjectId, Manifest] = {}
    judged = []
    for (key, _), call in newest.items():
        one = judge(call, ask, with_parent(call, changed[key]) if key in changed else None)
        changed |= {child: one.after[child] for child in one.changed if child in one.after}
        judged.append(one)
    return judged


def _worlds(judged: Iterable[JudgedCall]) -> tuple[Settled, Settled]:
    """The objects before and after, owners first, each with all that belongs to it."""
    sides: tuple[dict[ObjectId, Owned], dict[ObjectId, Owned]] = ({}, {})
    recreated: set[ObjectId] = set()
    for one in judged:
        key, parent = id_of(one.call), parent_of(one.call)
        recreated |= one.recreated
        for side, children in zip(sides, (one.before, one.after), strict=True):
            side.setdefault(key, Owned(manifest=parent, owner=owner_of(parent)))
            side.update({child: Owned(manifest=found, owner=key) for child, found in children.items()})
    before, after = (Settled(world=World(objects=side)) for side in sides)
    return before, replace(after, recreated=frozenset(recreated))


def _failure_of(one: JudgedCall) -> str:
    return describe_failure(one.call.answered, one.answered)


def _tell(one: JudgedCall) -> Iterable[Told]:
    key = id_of(one.call)
    if one.lasting:
        yield Told(id=key, change=one.lasting)
    for child, change in one.following:
        yield Told(id=key, change=change, follows=child)


def _find_held(one: JudgedCall, after: World) -> Iterable[Held]:
    for child, (held, released) in one.held.items():
        makers = [held] if makes_pods(gvk_of(held)) else after.owned.get(child, {}).values()
        pods = sum(found.count for maker in makers for found in find_pod_sets(ObjectId.of(maker), maker))
        yield Held(id=child, pods=pods, fields=compare_objects(held, released), before=one.was_held)


def _find_earlier(calls: Iterable[RecordedCall], newest: Iterable[JudgedCall], ask: Ask) -> Iterable[Earlier]:
    """What differs in earlier calls and in no newest one of the same object, the most frequent first."""
    known = {(id_of(one.call), line) for one in newest for line in (*_lines(one), *one.held_lines())}
    seen: dict[tuple[ObjectId, str], int] = {}
    for call in calls:
        if (found := ask(call)) == call.answered:
            continue
        one = judge(call, ask, answered=found)
        for entry in {(id_of(call), line) for line in _lines(one, only_lasting=True)} - known:
            seen[entry] = seen.get(entry, 0) + 1
    entries = sorted(seen.items(), key=lambda item: (-item[1], item[0]))
    return [Earlier(id=key, text=text, calls=count) for (key, text), count in entries]


def _lines(one: JudgedCall, *, only_lasting: bool = False) -> Iterable[str]:
    """All that differs in a call, as lines that are equal for equal differences."""
    yield from filter(None, [_failure_of(one)])
    yield from one.object_lines()
    change = one.lasting if only_lasting else compare_answers(one.call.answered, one.answered)
    yield from change.lines()
