"""Fields that mean the same in both versions: pairs of functions, and how a table of them converts an object.

An object is read as slots, one for each field that is converted by itself. A slot with the same name in both versions
is carried over. The slots of a pair are converted by its functions. What a version has no slot for is kept.

Nothing is lost, because every pair is checked: if the way back from its result does not lead to what was given, what
was given is kept as well. Kept values come back only if they lead to the live ones: so live values always win.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum

from hooks.conversion.json_values import same
from hooks.conversion.versions import Version
from hooks.k8s.types import Json


class Frame(StrEnum):
    """An object that contains slots."""

    TOP = "top"
    TEMPLATE = "podTemplate"
    META = "podTemplate.metadata"
    POD = "podTemplate.spec"
    MAIN = "podTemplate.spec.containers[main]"
    ORDER = "names of the containers"
    EXPERIMENTAL = "experimental"
    OBJECT = "of the whole object, only to be read"


Slot = tuple[Frame, str | None]
"""A field of a frame; with None the frame itself, which is empty or no object."""

Slots = Mapping[Slot, Json]
Function = Callable[[Slots], Slots]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Slots of v1alpha1 and v1beta1 that mean the same, and the functions between them.

    A function gets those of its slots that exist, and `reads`, slots that are the same in both versions. It may leave
    out what the other version cannot say. With `fills`, it also makes a value of nothing. To the versions in `exact`
    nothing gets lost that must come back, so that the way back is not taken.
    """

    alpha: tuple[Slot, ...]
    beta: tuple[Slot, ...]
    to_beta: Function
    to_alpha: Function
    reads: tuple[Slot, ...] = ()
    fills: bool = False
    exact: Set[Version] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A pair in one direction."""

    source: tuple[Slot, ...]
    forward: Function
    back: Function
    reads: tuple[Slot, ...]
    fills: bool
    exact: bool


@dataclass(frozen=True, slots=True)
class Table:
    """How an object is converted: its pairs, and the slots that exist in one version alone.

    Slots of all frames in `carried` are carried over. Other frames hold what only one version can say.
    """

    pairs: tuple[Pair, ...]
    own: Set[Slot] = frozenset()
    carried: Set[Frame] = frozenset({Frame.TOP})
    steps: Mapping[Version, tuple["Step", ...]] = field(init=False)
    sources: Mapping[Version, Mapping[Slot, int]] = field(init=False)
    filling: Set[int] = field(init=False)

    def __post_init__(self) -> None:
        """Turn the pairs into steps, and index them by the slots that they convert, by the version that results."""
        steps = {version: tuple(_step(pair, version) for pair in self.pairs) for version in Version}
        sources = {
            version: {slot: at for at, step in enumerate(taken) for slot in step.source}
            for version, taken in steps.items()
        }
        in_one = sources[Version.BETA].keys() ^ sources[Version.ALPHA].keys()
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "sources", sources)
        object.__setattr__(self, "filling", frozenset(at for at, pair in enumerate(self.pairs) if pair.fills))
        object.__setattr__(self, "own", frozenset(self.own) | in_one)

    def carries(self, slot: Slot) -> bool:
        """Whether a slot that no pair converts is the same in both versions."""
        return slot[0] in self.carried and slot not in self.own and slot[1] is not None


@dataclass(frozen=True, slots=True)
class Translation:
    """An object's slots in the other version, and the slots of this version that the result cannot say."""

    result: dict[Slot, Json]
    kept: dict[Slot, Json]


_OTHER = {Version.ALPHA: Version.BETA, Version.BETA: Version.ALPHA}
_NO_SLOTS: Slots = {}


def translate(
    table: Table, version: Version, given: Slots, *, saved: Slots = _NO_SLOTS, around: Slots = _NO_SLOTS
) -> Translation:
    """The slots in `version`; `saved` were kept by an earlier conversion from it, `around` is only read."""
    had, single = _sort_by_step(given, table.sources[version])
    former, unsaid = _sort_by_step(saved, table.sources[_OTHER[version]])
    result = {slot: value for slot, value in unsaid.items() if not table.carries(slot)}
    kept: dict[Slot, Json] = {}
    for slot, value in single.items():
        (result if table.carries(slot) else kept)[slot] = value
    context = {**around, **given} if around else given
    steps = table.steps[version]
    for at in sorted(had.keys() | former.keys() | table.filling):
        step, own = steps[at], had.get(at, _NO_SLOTS)
        reads = _pick(context, step.reads) if step.reads else _NO_SLOTS
        made = _restore(step, own, former[at], reads) if at in former else None
        if made is None:
            made = step.forward({**own, **reads} if reads else own)
            if not step.exact and not same(step.back({**made, **reads} if reads else made), own):
                kept.update(own or dict.fromkeys(step.source))
        result.update(made)
    return Translation(result, kept)


def _sort_by_step(slots: Slots, steps: Mapping[Slot, int]) -> tuple[dict[int, dict[Slot, Json]], dict[Slot, Json]]:
    """The slots by the step that converts them, and those that none converts."""
    by_step: dict[int, dict[Slot, Json]] = {}
    single: dict[Slot, Json] = {}
    for slot, value in slots.items():
        at = steps.get(slot)
        if at is None:
            single[slot] = value
        else:
            by_step.setdefault(at, {})[slot] = value
    return by_step, single


def _restore(step: Step, had: Slots, former: Slots, reads: Slots) -> Slots | None:
    """What was kept, as it is or over what is made now, if it leads to the live values; otherwise None."""
    if step.fills:
        former = {slot: value for slot, value in former.items() if value is not None}
    if same(step.back({**former, **reads}), had):
        return former
    mixed = {**step.forward({**had, **reads}), **former}
    return mixed if same(step.back({**mixed, **reads}), had) else None


def _pick(slots: Slots, wanted: tuple[Slot, ...]) -> dict[Slot, Json]:
    return {slot: slots[slot] for slot in wanted if slot in slots}


def _step(pair: Pair, version: Version) -> Step:
    """The pair in the direction to `version`."""
    alpha, beta = (pair.alpha, pair.to_alpha), (pair.beta, pair.to_beta)
    (source, back), (_, forward) = (alpha, beta) if version is Version.BETA else (beta, alpha)
    return Step(
        source=source, forward=forward, back=back, reads=pair.reads, fills=pair.fills, exact=version in pair.exact
    )


def top(name: str) -> Slot:
    """The slot of a field of the object itself."""
    return (Frame.TOP, name)


def moved(alpha: Slot, beta: Slot) -> Pair:
    """A field with another name or place in v1beta1."""
    return Pair(
        alpha=(alpha,),
        beta=(beta,),
        to_beta=lambda slots: {beta: slots[alpha]} if alpha in slots else {},
        to_alpha=lambda slots: {alpha: slots[beta]} if beta in slots else {},
        exact=frozenset(Version),
    )


def renamed_within(alpha: Slot, beta: Slot, names: Mapping[str, str]) -> Pair:
    """An object in which some fields have other names in v1beta1; a value of another type is carried over."""
    back = {new: old for old, new in names.items()}
    return Pair(
        alpha=(alpha,),
        beta=(beta,),
        to_beta=lambda slots: {beta: rename(slots[alpha], names)} if alpha in slots else {},
        to_alpha=lambda slots: {alpha: rename(slots[beta], back)} if beta in slots else {},
    )


def rename(value: Json, names: Mapping[str, str]) -> Json:
    """The object with these other names of fields, without fields that have a new name already."""
    if not isinstance(value, dict):
        return value
    new = frozenset(names.values())
    return {names.get(name, name): item for name, item in value.items() if name not in new}
