"""How a table of pairs converts an object.

A slot with the same name in both versions is carried over. The slots of a pair are converted by its functions. What a
version has no slot for is kept.

Of what the API server takes in one version, a result never holds what it would refuse in the other (`acceptance`): that
is left out. What it refuses in the first place goes on as it is, so that it is named.

Nothing is lost, because every pair is checked: if the way back from its result does not lead to what was given, what
was given is kept as well. Kept values come back only if they lead to the live ones: so live values always win.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hooks.ground.k8s.types import Json
from hooks.language.conversion.acceptance import REFUSED, Accept, FrameSchemas, accepting, takes_all
from hooks.language.conversion.json_values import same
from hooks.language.conversion.pairs import TOP, Frame, Frames, Function, Pair, Slot, Slots, moved
from hooks.language.conversion.remembered import remembered
from hooks.language.conversion.sides import Side

Fit = Callable[[Slots, Slots], Slots]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionStep:
    """A pair in one direction."""

    source: tuple[Slot, ...]
    target: tuple[Slot, ...]
    forward: Function
    fit: Fit
    """What the wanted version takes of a result, beside what is read; the same object if it takes all."""
    back: Function
    fit_back: Fit
    reads: tuple[Slot, ...]
    fills: bool
    exact: bool
    is_ruled: bool
    refuses: Callable[[Slots], bool]
    """Whether the rules of the wanted side refuse what is made; `back_refuses` those of the other side."""
    back_refuses: Callable[[Slots], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Steps of a table that are taken together, and the slots that they read."""

    reads: tuple[Slot, ...]
    fills: bool
    take: Callable[[Slots, Slots], tuple[Frames, Frames]]


Place = tuple[int, Slot] | None
"""The group that converts a slot; None for a slot that only one version has."""


@dataclass(frozen=True, slots=True)
class Table:
    """How an object is converted: its pairs, and the slots that exist in one version alone.

    Slots of all frames in `carried` are carried over. Other frames hold what only one version can say.
    `schemas` say what each version takes.
    """

    pairs: tuple[Pair, ...]
    schemas: FrameSchemas
    own: Set[Slot] = frozenset()
    carried: Set[Frame] = frozenset({TOP})
    groups: Mapping[Side, tuple[Group, Group]] = field(init=False)
    places: Mapping[Side, Mapping[Frame, Mapping[str, Place]]] = field(init=False)

    def __post_init__(self) -> None:
        """Group the pairs, and index their slots by frame and name, both by the version that results."""
        pairs = (*self.pairs, *self._find_stricter_pairs())
        parts = [[pair for pair in pairs if pair.changing is is_changing] for is_changing in (False, True)]
        groups: dict[Side, tuple[Group, Group]] = {}
        converted: dict[Side, dict[Slot, Place]] = {}
        for side in Side:
            steps = [tuple(_step(pair, side, self.schemas) for pair in part) for part in parts]
            groups[side] = (_group(steps[0], remember=True), _group(steps[1], remember=False))
            converted[side] = {
                slot: (at, slot) for at, taken in enumerate(steps) for step in taken for slot in step.source
            }
        own = {*self.own, *(converted[Side.SPOKE].keys() ^ converted[Side.HUB].keys())}
        places = {side: _by_frame({**dict.fromkeys(own), **converted[side]}) for side in Side}
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "places", places)

    def _find_stricter_pairs(self) -> list[Pair]:
        """Pairs for the slots that would be carried over, and that one version takes fewer values of."""
        known = frozenset(self.own).union(*((*pair.hub, *pair.spoke) for pair in self.pairs))
        stricter = frozenset[Slot]().union(*map(self.schemas.find_stricter, self.carried))
        return [moved(slot, slot) for slot in sorted(stricter - known)]


@dataclass(frozen=True, slots=True)
class Translation:
    """An object's frames in the other version, and those of this version that the result cannot say."""

    result: Frames
    kept: Frames


Sorted = tuple[tuple[Slots, Slots], Frames, Frames]
"""The slots of an object by the group that converts them, the fields that are carried over, and what is left."""

_Value = TypeVar("_Value")
_NO_SLOTS: Slots = {}
_NO_FRAMES: Frames = {}
_NOTHING: Sorted = (({}, {}), {}, {})
_NO_PLACES: Mapping[str, Place] = {}


def translate(
    table: Table, side: Side, given: Frames, *, saved: Frames = _NO_FRAMES, around: Slots = _NO_SLOTS
) -> Translation:
    """The frames in `version`; `saved` were kept by an earlier conversion from it, `around` is only read."""
    grouped, carried, left = _sort(table, side, given)
    formerly, _, former = _sort(table, side.opposite, saved) if saved else _NOTHING
    result, kept = _lay(former, carried), left
    for group, had, was in zip(table.groups[side], grouped, formerly, strict=True):
        if had or was or group.fills:
            reads = _read(group.reads, given, around) if group.reads else _NO_SLOTS
            made, unsaid = group.take({**had, **reads} if reads else had, was)
            result = _lay(result, made)
            kept = _lay(kept, unsaid)
    return Translation(result, kept)


def _sort(table: Table, side: Side, frames: Frames) -> Sorted:
    places, carried_frames = table.places[side], table.carried
    grouped: tuple[dict[Slot, Json], dict[Slot, Json]] = ({}, {})
    carried: dict[Frame, Json] = {}
    left: dict[Frame, Json] = {}
    for frame, fields in frames.items():
        is_carried, known = frame in carried_frames, places.get(frame, _NO_PLACES)
        if not fields or not isinstance(fields, dict):
            left[frame] = fields
        elif known.keys().isdisjoint(fields):
            (carried if is_carried else left)[frame] = fields
        else:
            own: dict[str, Json] = {}
            free: dict[str, Json] = {} if is_carried else own
            for key, value in fields.items():
                if key not in known:
                    free[key] = value
                elif (place := known[key]) is None:
                    own[key] = value
                else:
                    grouped[place[0]][place[1]] = value
            if own:
                left[frame] = own
            if free and is_carried:
                carried[frame] = free
    return grouped, carried, left


def _lay(below: Frames, above: Frames) -> Frames:
    """The fields of both; a frame that has fields replaces a value by itself."""
    if not below or not above:
        return below or above
    laid = {**below, **above}
    for frame in below.keys() & above.keys():
        under = below[frame]
        if under and isinstance(under, dict):
            laid[frame] = {**under, **above[frame]}
    return laid


def _read(wanted: Iterable[Slot], given: Frames, around: Slots) -> dict[Slot, Json]:
    """Those of the slots that exist."""
    found: dict[Slot, Json] = {}
    for slot in wanted:
        fields = given.get(slot[0])
        if isinstance(fields, dict) and slot[1] in fields:
            found[slot] = fields[slot[1]]
        elif slot in around:
            found[slot] = around[slot]
    return found


def _take_all(steps: tuple[ConversionStep, ...], given: Slots, saved: Slots) -> tuple[Frames, Frames]:
    """What the steps make of these slots, and those of them that the result cannot say, by frame."""
    result: dict[Slot, Json] = {}
    kept: dict[Slot, Json] = {}
    for step in steps:
        if not step.fills and given.keys().isdisjoint(step.source) and saved.keys().isdisjoint(step.target):
            continue
        own, former = _pick(given, step.source), _pick(saved, step.target) if saved else _NO_SLOTS
        reads = _pick(given, step.reads) if step.reads else _NO_SLOTS
        made = _restore(step, own, former, reads) if former else None
        if made is None:
            converted = step.forward({**own, **reads} if reads else own)
            is_accepted = step.fit_back(own, reads) is own
            made = step.fit(converted, reads) if is_accepted else converted
            is_exact = step.exact and made is converted and is_accepted
            if not is_exact and not _leads_back(step, made, own, reads):
                kept.update(_keep(step, own, made, reads) if step.is_ruled else own or dict.fromkeys(step.source))
        result.update(made)
    return _by_frame(result), _by_frame(kept)


def _keep(step: ConversionStep, own: Slots, made: Slots, reads: Slots) -> Slots:
    """What the other side does not say; all of what is refused already, so that it comes back as it is."""
    if step.back_refuses(own):
        return {**dict.fromkeys(step.source), **own}
    said = step.back({**made, **reads})
    return {slot: value for slot, value in own.items() if slot not in said or not same(said[slot], value)}


def _restore(step: ConversionStep, had: Slots, former: Slots, reads: Slots) -> Slots | None:
    """What was kept, as it is or over what is made now, if it leads to the live values; otherwise None."""
    if step.fills:
        former = {slot: value for slot, value in former.items() if value is not None}
    if former.keys() == set(step.target) or not step.refuses(former):
        if _leads_back(step, former, had, reads):
            return former
        known = {slot: value for slot, value in former.items() if value is not None}
        if step.refuses(known) and _leads_back(step, known, had, reads):
            return known
    mixed = step.fit({**step.forward({**had, **reads}), **former}, reads)
    return mixed if not step.refuses(mixed) and _leads_back(step, mixed, had, reads) else None


def _leads_back(step: ConversionStep, made: Slots, had: Slots, reads: Slots) -> bool:
    """Whether the way back, as it will be taken, leads from what is made to what was there."""
    back = step.back({**made, **reads})
    return same(step.fit_back(back, reads) if step.fit(made, reads) is made else back, had)


def _pick(slots: Slots, wanted: tuple[Slot, ...]) -> dict[Slot, Json]:
    return {slot: slots[slot] for slot in wanted if slot in slots}


def _step(pair: Pair, side: Side, schemas: FrameSchemas) -> ConversionStep:
    """The pair in the direction to `version`."""
    hub, spoke = (pair.hub, pair.to_hub), (pair.spoke, pair.to_spoke)
    (source, back), (target, forward) = (hub, spoke) if side is Side.SPOKE else (spoke, hub)
    return ConversionStep(
        source=source,
        target=target,
        forward=forward,
        fit=_fit(pair, side, schemas),
        back=back,
        fit_back=_fit(pair, side.opposite, schemas),
        reads=pair.reads,
        fills=pair.fills,
        exact=side in pair.exact,
        is_ruled=pair.refuses is not None,
        refuses=pair.refuses if pair.refuses and side is Side.SPOKE else _takes,
        back_refuses=pair.refuses if pair.refuses and side is Side.HUB else _takes,
    )


def _takes(_slots: Slots) -> bool:
    """Refuses nothing."""
    return False


def _fit(pair: Pair, side: Side, schemas: FrameSchemas) -> Fit:
    """What `version` takes of the slots that the pair makes for it."""
    is_alpha = side is Side.HUB
    slots, others = (pair.hub, pair.spoke) if is_alpha else (pair.spoke, pair.hub)
    known = {slot: schema for slot in slots if (schema := schemas.find(side, slot)) is not None}
    moves = side in pair.same_value and takes_all(known.get(slots[0]), schemas.find(side.opposite, others[0]))
    if not known or moves:
        return lambda made, _reads: made
    fill = (pair.to_hub if is_alpha else pair.to_spoke) if pair.fills else None
    return partial(_take_accepted, {slot: accepting(schema) for slot, schema in known.items()}, fill)


def _take_accepted(accepts: Mapping[Slot, Accept], fill: Function | None, made: Slots, reads: Slots) -> Slots:
    """The slots without what their schemas refuse; what `fill` makes of nothing stands for what is left out."""
    left = {slot: accepts[slot](value) if slot in accepts else value for slot, value in made.items()}
    if all(left[slot] is value for slot, value in made.items()):
        return made
    filled = _take_accepted(accepts, None, fill(reads), reads) if fill else _NO_SLOTS
    return {**filled, **{slot: value for slot, value in left.items() if value is not REFUSED}}


def _group(steps: tuple[ConversionStep, ...], *, remember: bool) -> Group:
    take = partial(_take_all, steps)
    return Group(
        reads=tuple(slot for step in steps for slot in step.reads),
        fills=any(step.fills for step in steps),
        take=remembered(take, results=512, max_bytes=2**13) if remember else take,
    )


def _by_frame(slots: Mapping[Slot, _Value]) -> dict[Frame, dict[str, _Value]]:
    frames: dict[Frame, dict[str, _Value]] = {}
    for (frame, key), value in slots.items():
        if frame in frames:
            frames[frame][key] = value
        else:
            frames[frame] = {key: value}
    return frames
