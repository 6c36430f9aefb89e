"""What conditions of all kinds have in common: the condition Valid, and which changes are worth an Event.

Valid says whether the spec obeys the rules, and nothing about readiness. Each hook decides by its own table which
change is worth an Event. A condition changes by its status or reason; if the hook asks for it, by its observed
generation too. A new message alone is not a change: messages contain counts.
"""

from collections.abc import Iterable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.conditions import Condition, find_condition
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import Problem, join_texts
from hooks.wire.metacontroller.effects import ObjectReference

VALID = "Valid"
SPEC_VALID = "SpecValid"


def judge_spec(problems: Iterable[Problem] = ()) -> Condition:
    """The condition for a spec with these problems."""
    text = join_texts(problems)
    if text:
        return Condition(type=VALID, status="False", reason=contract.VALIDATION_FAILED, message=text)
    return Condition(type=VALID, status="True", reason=SPEC_VALID, message="The spec is valid")


def reference_of(obj: ReadManifest) -> ObjectReference:
    """The object as the subject of an Event."""
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
    """The new condition if it changes; None if it does not, or if `after` has no condition of that type.

    With `by_generation` another observed generation is a change too: then another spec is wrong in the same way.
    """
    new = find_condition(after.get("conditions") or (), condition_type)
    old = find_condition(before.get("conditions") or (), condition_type)
    if new is None or old is None:
        return new
    keys = ("status", "reason", *(("observedGeneration",) if by_generation else ()))
    return new if any(new.get(key) != old.get(key) for key in keys) else None


def was_true(before: Mapping[str, Json], condition_type: str) -> bool:
    """Whether the condition was `True` in the status before."""
    old = find_condition(before.get("conditions") or (), condition_type)
    return old is not None and old.get("status") == "True"


def change_of(before: Mapping[str, Json], condition_type: str) -> str:
    """The occasion of an Event about a condition that changes: the state that it leaves.

    A status that could not be stored is computed again from the same old status, often in another second: the Event
    about it is then still the same one.
    """
    old = find_condition(before.get("conditions") or (), condition_type)
    return f"{old.get('reason')} since {old.get('lastTransitionTime')}" if old else "first status"


def of_generation(condition: Mapping[str, Json]) -> str:
    """The occasion of an Event about a spec: the generation that the condition was observed for."""
    return f"generation {condition.get('observedGeneration', 0)}"
