"""The words and lines that text and Markdown of a plan have in common; those of `diff` wherever both say the same."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hooks.ground import contract
from hooks.ground.k8s.conditions import READY
from hooks.tools.offline.diff.fields import FieldChange
from hooks.tools.offline.diff.rollouts import PodChange, PodFate
from hooks.tools.offline.diff.tree import Branch, Style, grow, plain, write_branches
from hooks.tools.offline.diff.wording import describe_field, describe_pods, pods, told_pods
from hooks.tools.operating.upgrade.plan import ToldStatus, UpgradePlan
from hooks.wire.policy.applied_condition import APPLIED
from hooks.wire.policy.new_defaults import NOW
from hooks.wire.world.objects import ObjectId

_FIRST = frozenset({READY, APPLIED})
_NAMED = 5
_SAID = 2
_FIELDS = 3


def summarize(plan: UpgradePlan) -> str:
    """`110 Deployments restart (119 pods), 0 held, no statuses change, 55 until that is done`."""
    if not plan.lines:
        return "No object of Dynamo was found."
    if plan.is_empty and not plan.held:
        return "No difference: no pod restarts, and no status changes."
    restarting = [one for one in plan.difference.pods if one.restarts]
    workloads = {one.set.workload for one in restarting}
    verb = "restarts" if len(workloads) == 1 else "restart"
    number = sum(one.restarts for one in restarting)
    what = f"{_count_kinds(workloads)} {verb} ({pods(number)})" if workloads else "No pod restarts"
    parts = [what, _count_held(plan), _count_statuses(plan)]
    if changed := {one.id for one in plan.difference.objects} - workloads:
        parts.append(f"{_plural(len(changed), 'other object')} {'changes' if len(changed) == 1 else 'change'}")
    if plan.failed:
        parts.append(_plural(len(plan.failed), "error"))
    return ", ".join(parts)


def describe_source(plan: UpgradePlan, version: str, settings: str) -> str:
    """`4 graphs in 2 namespaces, by version 1.2.0 with the settings of Deployment dynamo-system/dynamo-hooks.`"""
    counts = Counter(one.id.kind for one in plan.lines)
    graphs, others = counts.pop(contract.GRAPH.kind, 0), sum(counts.values())
    found = [_plural(graphs, "graph"), *([_plural(others, "other object")] if others else [])]
    places = _plural(len({one.id.namespace for one in plan.lines}), "namespace")
    return f"{' and '.join(found)} in {places}, by version {version} with {settings}."


def list_blocks(plan: UpgradePlan, style: Style = plain) -> Iterator[list[str]]:
    """The lines of each graph: what restarts, what waits and what is said; those of equal graphs only once."""
    told: dict[ObjectId, list[str]] = {}
    said: dict[ObjectId, list[str]] = {}
    for workload, changes in _by_workload(told_pods(plan.difference)).items():
        said.setdefault(workload, []).append(_say(changes))
    for workload, changes in _by_workload(plan.held).items():
        said.setdefault(workload, []).append(_say_held(changes))
        told.setdefault(workload, []).extend(_describe_held(changes))
    for one in plan.told:
        told.setdefault(one.id, []).extend(_describe_told(one))
    titles = {key: "; ".join(dict.fromkeys(parts)) for key, parts in said.items()}
    for group in _group(grow(plan.difference, style, told=told, said=titles)):
        yield [*write_branches(_fold(group))]


def list_notes(plan: UpgradePlan) -> Iterator[str]:
    """What is good to know."""
    if plan.held:
        yield (
            "what is held takes the new defaults at the next change of its spec, or now by the annotation "
            f"{contract.ANNOTATION_ROLLOUT}={NOW} on the graph, or on the component that belongs to none"
        )
    yield from (*plan.difference.notes, *plan.notes)


def _by_workload(changes: Iterable[PodChange]) -> Mapping[ObjectId, list[PodChange]]:
    found: dict[ObjectId, list[PodChange]] = {}
    for change in changes:
        found.setdefault(change.set.workload, []).append(change)
    return found


def _say(changes: Sequence[PodChange]) -> str:
    """What happens to the pods of a workload: `3 pods restart (frontend, decode)`."""
    if len(changes) == 1:
        return describe_pods(changes[0])
    if all(one.fate is PodFate.RESTART and one.before == one.after for one in changes):
        return f"{pods(sum(one.before for one in changes))} restart ({', '.join(one.set.role for one in changes)})"
    return "; ".join(f"{one.set.role}: {describe_pods(one)}" for one in changes)


def _say_held(changes: Sequence[PodChange]) -> str:
    number = sum(one.restarts for one in changes)
    return f"held, {pods(number)} {'keeps' if number == 1 else 'keep'} running"


def _describe_held(changes: Sequence[PodChange]) -> Iterator[str]:
    found: list[FieldChange] = [one for change in changes for one in change.why]
    yield from (f"waits: {describe_field(one)}" for one in found[:_FIELDS])
    if len(found) > _FIELDS:
        yield f"waits: {_plural(len(found) - _FIELDS, 'more field')}"


def _describe_told(told: ToldStatus) -> Iterator[str]:
    if not told.passing:
        yield from told.change.lines()
        return
    found = sorted(told.change.conditions, key=lambda one: one.type not in _FIRST)
    says = [f"{one.type} {one.new.name if one.new else 'gone'}" for one in found]
    says += [describe_field(one) for one in told.change.fields]
    more = [f"and {len(says) - _SAID} more"] if len(says) > _SAID else []
    yield f"until that is done, it says {', '.join([*says[:_SAID], *more])}"


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
        yield Branch(first.id, f"the same: {kind} {_name_some(names)}")


def _shape(branch: Branch, name: str) -> tuple[object, ...]:
    """What is equal for branches that say the same of objects with other names."""
    texts = (branch.title.replace(f"{branch.id.namespace}/", ""), *branch.lines)
    below = tuple(_shape(one, name) for one in branch.below)
    return (*(text.replace(name, "…") for text in texts), below)


def _name_some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _count_kinds(keys: Iterable[ObjectId]) -> str:
    counts = sorted(Counter(key.kind for key in keys).items(), key=lambda item: (-item[1], item[0]))
    return " and ".join(_plural(number, kind) for kind, number in counts)


def _count_held(plan: UpgradePlan) -> str:
    workloads = {one.set.workload for one in plan.held}
    number = sum(one.restarts for one in plan.held)
    before = sum(one in plan.held_before for one in workloads)
    already = f", {before} of them already" if before else ""
    return f"{len(workloads)} held ({pods(number)}{already})" if workloads else "0 held"


def _count_statuses(plan: UpgradePlan) -> str:
    lasting, passing = (len({one.id for one in plan.told if one.passing is wanted}) for wanted in (False, True))
    what = "1 status changes" if lasting == 1 else f"{lasting or 'no'} statuses change"
    return f"{what}, {passing} until that is done" if passing else what


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
