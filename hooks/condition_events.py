"""What changed between the status that a parent has and the one that it is about to get, told as Events.

Nothing here decides which change is worth an Event: each hook has its own table. A change is one of a condition's
status or reason, or, where a hook asks for it, of the generation that the condition was said of; a message alone is
none, as counts move in it all the time.
"""

from collections.abc import Mapping

from hooks.effects import ObjectReference
from hooks.k8s.conditions import find_condition
from hooks.k8s.types import Json, ReadManifest


def reference_of(obj: ReadManifest) -> ObjectReference:
    """The object as an Event's subject."""
    metadata = obj["metadata"]
    return ObjectReference(
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


def since(condition: Mapping[str, Json]) -> str:
    """The occasion of a condition's Event: when its status last changed."""
    return str(condition["lastTransitionTime"])


def of_generation(condition: Mapping[str, Json]) -> str:
    """The occasion of an Event about a spec: its generation."""
    return f"generation {condition.get('observedGeneration', 0)}"
