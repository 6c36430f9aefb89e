"""What changed between the status that a parent has and the one that it is about to get, told as Events.

Nothing here decides which change is worth an Event: each hook has its own table. A change is one of a condition's
status or reason, or, where a hook asks for it, of the generation that the condition was said of; a message alone is
none, as counts move in it all the time.
"""

from collections.abc import Mapping
from typing import Literal

from hooks.effects import Event, Reference
from hooks.k8s.conditions import find_condition
from hooks.k8s.types import Json, ReadManifest

Kind = Literal["Normal", "Warning"]

_MAX_MESSAGE = 1024
"""The longest note that the API takes in an Event of its newer version."""


def reference_of(obj: ReadManifest) -> Reference:
    """The object as an Event's subject."""
    metadata = obj["metadata"]
    return Reference(
        api_version=str(obj["apiVersion"]),
        kind=str(obj["kind"]),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata["name"]),
        uid=str(metadata.get("uid") or ""),
    )


def find_change(
    before: Mapping[str, Json], after: Mapping[str, Json], condition_type: str, *, by_generation: bool = False
) -> Mapping[str, Json] | None:
    """The condition as it is to become, where it changes; None where it stays, or is not said at all.

    With `by_generation` the same words said of another generation count as a change: a second spec is wrong anew.
    """
    new = find_condition(after.get("conditions") or (), condition_type)
    old = find_condition(before.get("conditions") or (), condition_type)
    if new is None or old is None:
        return new
    keys = ("status", "reason", *(("observedGeneration",) if by_generation else ()))
    return new if any(new.get(key) != old.get(key) for key in keys) else None


def was_true(before: Mapping[str, Json], condition_type: str) -> bool:
    """Whether the condition held until now."""
    old = find_condition(before.get("conditions") or (), condition_type)
    return old is not None and old.get("status") == "True"


def build_event(about: Reference, kind: Kind, reason: str, message: str, *, occasion: str) -> Event:
    """An Event whose message is cut where the API would refuse it."""
    text = message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE - 1]}…"
    return Event(about=about, type=kind, reason=reason, message=text, occasion=occasion)


def since(condition: Mapping[str, Json]) -> str:
    """The occasion of a condition's Event: when its status last changed."""
    return str(condition["lastTransitionTime"])


def of_generation(condition: Mapping[str, Json]) -> str:
    """The occasion of an Event about a spec: its generation."""
    return f"generation {condition.get('observedGeneration', 0)}"
