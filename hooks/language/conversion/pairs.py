"""Fields that mean the same on both sides, as pairs of functions.

An object is read as frames with slots, one for each field that is converted by itself.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from hooks.ground.k8s.types import Json
from hooks.language.conversion.sides import Side

Frame = str
"""The name of an object that contains slots; each version names its own."""

TOP: Frame = "top"
"""The part itself: a spec, a status, a component."""

Slot = tuple[Frame, str]
"""A field of a frame."""

Slots = Mapping[Slot, Json]
Function = Callable[[Slots], Slots]

Fields = Mapping[str, Json]
Frames = Mapping[Frame, Json]
"""An object's frames with their fields. A frame that is empty or no object has no slots, and is one value by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Slots of the hub and of a spoke that mean the same, and the functions between them.

    A function gets those of its slots that exist, and `reads`, slots that are the same on both sides. It may leave out
    what the other side cannot say. With `fills`, it also makes a value of nothing. To the sides in `exact`
    nothing gets lost that must come back, so that the way back is not taken.

    What the pairs of a table make is remembered for all of them together. A pair that is `changing` is converted each
    time: its values differ from object to object.
    """

    hub: tuple[Slot, ...]
    spoke: tuple[Slot, ...]
    to_spoke: Function
    to_hub: Function
    reads: tuple[Slot, ...] = ()
    fills: bool = False
    exact: Set[Side] = frozenset()
    changing: bool = False
    same_value: Set[Side] = frozenset()
    """The sides whose first slot holds the value of the other version's first slot, as it is."""
    refuses: Callable[[Slots], bool] | None = None
    """Whether the rules of the spoke, beside its schema, refuse its slots together. What one side says is then kept
    apart from what both say, and comes back only to live values that it does not contradict."""


def top(name: str) -> Slot:
    """The slot of a field of the object itself."""
    return (TOP, name)


def moved(hub: Slot, spoke: Slot) -> Pair:
    """A field with another name or place on the spoke."""
    return Pair(
        hub=(hub,),
        spoke=(spoke,),
        to_spoke=lambda slots: {spoke: slots[hub]} if hub in slots else {},
        to_hub=lambda slots: {hub: slots[spoke]} if spoke in slots else {},
        exact=frozenset(Side),
        same_value=frozenset(Side),
    )


def renamed_within(hub: Slot, spoke: Slot, names: Mapping[str, str]) -> Pair:
    """An object in which some fields have other names on the spoke; a value of another type is carried over."""
    back = {new: old for old, new in names.items()}
    return Pair(
        hub=(hub,),
        spoke=(spoke,),
        to_spoke=lambda slots: {spoke: rename(slots[hub], names)} if hub in slots else {},
        to_hub=lambda slots: {hub: rename(slots[spoke], back)} if spoke in slots else {},
    )


def rename(value: Json, names: Mapping[str, str]) -> Json:
    """The object with these other names of fields, without fields that have a new name already."""
    if not isinstance(value, dict):
        return value
    new = frozenset(names.values())
    return {names.get(name, name): item for name, item in value.items() if name not in new}
