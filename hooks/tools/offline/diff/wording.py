"""The words and numbers that text and Markdown have in common."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from fractions import Fraction

import orjson

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.fields import FieldChange
from hooks.tools.offline.diff.fitting import Fit, FitVerdict
from hooks.tools.offline.diff.plan import Difference, Fate, Notice
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.resources import ResourceRow, write_amount
from hooks.tools.offline.diff.rollouts import PodChange, PodFate

FAILING = "Never ready"
STORED = "Stored, against a rule"
_LONGEST = 100
_LONGEST_PATH = 300
_LONGEST_TEXT = 2000
_ABSENT = "(none)"
_REASONS = 4


def describe_field(change: FieldChange) -> str:
    """`spec.replicas: 1 → 2`; a value that is absent is `(none)`, and one of a Secret is not shown."""
    path = one_line(str(change.path), _LONGEST_PATH)
    if change.is_secret:
        return f"{path}: changes (a Secret's value, not shown)"
    if change.is_variable:
        return f"{path}: (changed)"
    if _is_plain_list(change.old) and _is_plain_list(change.new):
        return f"{path}: {_describe_list(change.old, change.new)}"
    return f"{path}: {_show_side(change.old, change.old_default)} → {_show_side(change.new, change.new_default)}"


def _show_side(value: Json, default: Json) -> str:
    return show(value) if value is not None or default is None else f"{show(default)} (default)"


def show(value: Json) -> str:
    """A value as JSON on one line, shortened; `(none)` for an absent one."""
    return _ABSENT if value is None else one_line(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(), _LONGEST)


def _is_plain_list(value: Json) -> bool:
    return isinstance(value, list | tuple) and not any(isinstance(item, dict | list) for item in value)


def _describe_list(old: Sequence[Json], new: Sequence[Json]) -> str:
    """The items that differ: `"--tp", "1" → "--tp", "2"` keeps the item before, which often names the value."""
    texts = [[orjson.dumps(item).decode() for item in items] for items in (old, new)]
    parts = []
    for tag, start, end, begin, stop in SequenceMatcher(a=texts[0], b=texts[1], autojunk=False).get_opcodes():
        if tag != "equal":
            named = 1 if tag == "replace" and start else 0
            pair = (texts[0][start - named : end], texts[1][begin - named : stop])
            was, now = (one_line(" ".join(items), _LONGEST) or _ABSENT for items in pair)
            parts.append(f"{was} → {now}")
    return ", ".join(parts)


def describe_pods(change: PodChange) -> str:
    """What happens to a set of pods, as half a sentence: `2 pods restart, one more at a time`."""
    before, after = change.before, change.after
    match change.fate:
        case PodFate.RESTART:
            count = f"{pods(before)} {_verb(before, 'restart')}"
            scaled = f", then there are {after}" if before != after else ""
            return f"{count}{scaled}{_describe_way(change)}"
        case PodFate.MOVE if change.moved_to is not None:
            return f"{pods(before)} {_verb(before, 'stop')} here and {_verb(before, 'start')} in {change.moved_to}"
        case PodFate.MOVE | PodFate.START:
            return f"{pods(after)} {_verb(after, 'start')}"
        case PodFate.STOP:
            return f"{pods(before)} {_verb(before, 'stop')}"
        case PodFate.SCALE:
            more = f"{after - before} more" if after > before else f"{before - after} fewer"
            return f"{before} → {after} pods, {more}; the others stay"
        case PodFate.STAY:
            return f"{pods(after)} {_verb(after, 'stay')}"


def _describe_way(change: PodChange) -> str:
    found = change.set
    if change.recreated:
        return "; the workload is deleted and created again"
    if change.rollout.in_turn:
        return ", when it is this service's turn"
    if found.is_recreated:
        return ", all at once (strategy Recreate)"
    if change.in_sets:
        more = max((old + new for old, new in change.rollout.mixes), default=change.after) - change.after
        return f", in complete sets{f', with up to {more} more at a time' if more > 0 else ''}"
    return f", with up to {found.surge} more at a time" if found.surge else ", without pods beyond that number"


def reasons(change: PodChange) -> Iterator[str]:
    """Why pods restart: the fields, or the pods that they are replaced with."""
    if change.together and not change.recreated:
        yield "they are replaced together with the other pods of their group"
    yield from map(describe_field, change.why[:_REASONS])
    if len(change.why) > _REASONS:
        rest = len(change.why) - _REASONS
        yield f"{rest} more field{'' if rest == 1 else 's'}"


def title_of(change: PodChange) -> str:
    """The workload, and which of its pods."""
    return title_of_set(change.set)


def title_of_set(found: PodSet) -> str:
    """The workload, and which of its pods."""
    role = f" {found.role}" if found.role else ""
    return f"{found.workload}{role}"


def describe_amount(row: ResourceRow, amount: Fraction) -> str:
    """A number of GPUs or cores, or memory in GiB."""
    return write_amount(row.resource, amount)


def describe_fit(fit: Fit) -> Iterator[str]:
    """What the estimate says: which pods find no node and why, or that all find one."""
    for one in sorted(fit.shortages, key=lambda shortage: not shortage.is_lasting):
        what = f"{one.set.service} ({title_of_set(one.set)})" if one.set.service else title_of_set(one.set)
        if one.is_lasting and fit.verdict is FitVerdict.PACKED:
            will = "may stay Pending, unless pods are packed more tightly than the default scheduler does"
        elif one.is_lasting:
            will = "would stay Pending"
        else:
            will = f"{_verb(one.pods, 'wait')} until old pods are gone"
        yield one_line(f"{what}: {pods(one.pods)} {will}, because {one.why}", _LONGEST_TEXT)
    if fit.verdict is FitVerdict.FITS:
        count = f"{fit.nodes} node{'' if fit.nodes == 1 else 's'}"
        other = "In the end all" if fit.shortages else "All"
        yield f"{other} pods find room on the {count}."
    yield from fit.notes


def describe_notice(notice: Notice) -> str:
    """`Service inference/main: the name … is gone`."""
    return one_line(f"{notice.id}: {notice.text}", _LONGEST_TEXT)


def summarize(difference: Difference) -> str:
    """One sentence: how many objects are added, changed, recreated and removed, and how many pods restart."""
    if difference.is_empty:
        return "No difference."
    counts = [(sum(one.fate is fate for one in difference.objects), fate.value) for fate in Fate]
    objects = ", ".join(f"{number} {word}" for number, word in counts if number)
    restarts = sum(change.restarts for change in difference.pods)
    refused = f" {len(difference.refused)} refused." if difference.refused else ""
    stored = f" {len(difference.stored)} stored against a rule." if difference.stored else ""
    return f"Objects: {objects or 'none changed'}. {_restarting(restarts)}.{refused}{stored}"


def _restarting(number: int) -> str:
    return f"{pods(number)} {_verb(number, 'restart')}" if number else "No pod restarts"


def pods(number: int) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} pod{'' if number == 1 else 's'}"


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb


def told_pods(difference: Difference) -> Iterable[PodChange]:
    """The sets of pods to which something happens."""
    return [one for one in difference.pods if one.fate is not PodFate.STAY]


def changed_rows(difference: Difference) -> Sequence[ResourceRow]:
    """The resources if any of them changes or has a peak, else none."""
    moving = any(not row.now == row.peak == row.after for row in difference.resources)
    return difference.resources if moving or told_pods(difference) else ()
