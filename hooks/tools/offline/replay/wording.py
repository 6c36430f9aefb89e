"""The words and lines that text and Markdown of a replay have in common; those of `diff` wherever both say the same."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hooks.ground import contract
from hooks.ground.k8s.conditions import READY
from hooks.tools.offline.diff.rollouts import PodChange, PodFate
from hooks.tools.offline.diff.tree import Branch, Style, grow, plain, write_branches
from hooks.tools.offline.diff.wording import describe_field, describe_notice, describe_pods, pods, told_pods
from hooks.tools.offline.replay.plan import Held, Replay, Told
from hooks.wire.policy.applied_condition import APPLIED
from hooks.wire.policy.holding import NOW
from hooks.wire.world.objects import ObjectId

_ASKED_AGAIN = "resyncAfterSeconds"
_FIRST = frozenset({READY, APPLIED})
_NAMED = 5
_SAID = 2
_FIELDS = 3


def summarize(replay: Replay) -> str:
    """`110 Deployments restart (119 pods), 0 held, 55 statuses change`."""
    if replay.is_empty and not replay.held:
        return "No difference: all answers are the same."
    restarting = [one for one in replay.difference.pods if one.restarts]
    workloads = {one.set.workload for one in restarting}
    number = sum(one.restarts for one in restarting)
    verb = "restarts" if len(workloads) == 1 else "restart"
    what = f"{_count_kinds(workloads)} {verb} ({pods(number)})" if workloads else "No pod restarts"
    changed = {one.id for one in replay.difference.objects} - workloads
    statuses = "1 status changes" if replay.statuses == 1 else f"{replay.statuses} statuses change"
    parts = [what, _count_held(replay.held), statuses]
    if changed:
        parts.append(f"{_plural(len(changed), 'other object')} {'changes' if len(changed) == 1 else 'change'}")
    if replay.failed:
        parts.append(_plural(len(replay.failed), "error"))
    return ", ".join(parts)


def describe_source(replay: Replay) -> str:
    """`681 calls about 55 objects, recorded by 1.2.0`."""
    calls, objects = (_plural(number, noun) for number, noun in ((replay.calls, "call"), (replay.objects, "object")))
    return f"{calls} about {objects}, recorded by {', '.join(replay.versions)}."


def list_blocks(replay: Replay, style: Style = plain) -> Iterator[list[str]]:
    """The lines of each graph: what restarts, what waits and what is said; those of equal graphs only once."""
    told: dict[ObjectId, list[str]] = {}
    for held in replay.held:
        told.setdefault(held.id, []).extend(_describe_held(held))
    for one in replay.told:
        told.setdefault(one.follows or one.id, []).extend(_describe_told(one))
    changes: dict[ObjectId, list[PodChange]] = {}
    for change in told_pods(replay.difference):
        changes.setdefault(change.set.workload, []).append(change)
    said = {key: [_say(found)] for key, found in changes.items()}
    for held in replay.held:
        said.setdefault(held.id, []).append(_say_held(held))
    titles = {key: "; ".join(dict.fromkeys(parts)) for key, parts in said.items()}
    for group in _group(grow(replay.difference, style, told=told, said=titles)):
        yield [*write_branches(_fold(group))]


def list_notes(replay: Replay) -> Iterator[str]:
    """What is good to know."""
    if replay.held:
        yield (
            "what is held takes the new defaults at the next change of its spec, or now by the annotation "
            f"{contract.ANNOTATION_ROLLOUT}={NOW} on the object that it belongs to"
        )
    yield from (*replay.difference.notes, *replay.notes)


def list_earlier(replay: Replay) -> Iterator[str]:
    """What differs in earlier calls only; the same text of several objects is one line."""
    by_text: dict[str, list[tuple[ObjectId, int]]] = {}
    for one in replay.earlier:
        by_text.setdefault(one.text.replace(one.id.name, "…"), []).append((one.id, one.calls))
    for text, found in by_text.items():
        calls = _plural(sum(count for _, count in found), "call")
        yield f"{text} (in {calls}: {name_some([str(key) for key, _ in found])})"


def list_failed(replay: Replay) -> Iterator[str]:
    """What is answered with an error, or was."""
    yield from map(describe_notice, replay.failed)


def name_some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _say(changes: Sequence[PodChange]) -> str:
    """What happens to the pods of a workload: `3 pods restart (frontend, decode)`."""
    if len(changes) == 1:
        return describe_pods(changes[0])
    if all(one.fate is PodFate.RESTART and one.before == one.after for one in changes):
        return f"{pods(sum(one.before for one in changes))} restart ({', '.join(one.set.role for one in changes)})"
    return "; ".join(f"{one.set.role}: {describe_pods(one)}" for one in changes)


def _say_held(held: Held) -> str:
    already = ", as before" if held.before else ""
    keep = f"{pods(held.pods)} {'keeps' if held.pods == 1 else 'keep'} running" if held.pods else "no pod runs"
    return f"held{already}, {keep}"


def _describe_held(held: Held) -> Iterator[str]:
    yield from (f"waits: {describe_field(one)}" for one in held.fields[:_FIELDS])
    if len(held.fields) > _FIELDS:
        yield f"waits: {_plural(len(held.fields) - _FIELDS, 'more field')}"


def _describe_told(told: Told) -> Iterator[str]:
    if told.follows is None:
        yield from told.change.lines()
        return
    found = sorted(told.change.conditions, key=lambda one: one.type not in _FIRST)
    says = [f"{one.type} {one.new.name if one.new else 'gone'}" for one in found]
    says += [describe_field(one) for one in told.change.fields if one.path.parts[0] != _ASKED_AGAIN]
    more = [f"and {len(says) - _SAID} more"] if len(says) > _SAID else []
    if says:
        yield f"until then, {told.id.kind} says {', '.join([*says[:_SAID], *more])}"


def _group(branches: Iterable[Branch]) -> Iterable[Sequence[Branch]]:
    """Branches that are alike but for the name, together; and so below each."""
    groups: dict[tuple[object, ...], list[Branch]] = {}
    for branch in branches:
        below = tuple(one for group in _group(branch.below) for one in _fold(group))
        merged = Branch(branch.id, branch.title, branch.lines, below)
        groups.setdefault(_shape(merged, merged.id.name), []).append(merged)
    return groups.values()


def _fold(group: Sequence[Branch]) -> Iterator[Branch]:
    first, *others = group
    yield first
    if others and not (first.lines or first.below):
        yield from others
    elif others:
        names = [f"{one.id.namespace}/{one.id.name}" if one.id.namespace else one.id.name for one in others]
        kind = first.id.kind if len(others) == 1 else f"{len(others)} {first.id.kind}s"
        yield Branch(first.id, f"the same: {kind} {name_some(names)}")


def _shape(branch: Branch, name: str) -> tuple[object, ...]:
    """What is equal for branches that say the same of objects with other names."""
    texts = (branch.title, *branch.lines)
    below = tuple(_shape(one, name) for one in branch.below)
    return (*(text.replace(name, "…") for text in texts), below)


def _count_kinds(keys: Iterable[ObjectId]) -> str:
    counts = sorted(Counter(key.kind for key in keys).items(), key=lambda item: (-item[1], item[0]))
    return " and ".join(_plural(number, kind) for kind, number in counts)


def _count_held(held: Sequence[Held]) -> str:
    number = sum(one.pods for one in held)
    before = sum(one.before for one in held)
    already = f", {before} of them already" if before else ""
    return f"{len(held)} held ({pods(number)}{already})" if held else "0 held"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
