"""Fields that mean the same in both versions, as pairs of functions.

An object is read as frames with slots, one for each field that is converted by itself.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum

from hooks.ground.k8s.types import Json
from hooks.language.api.conversion.versions import Version


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
    # Of a request in v1alpha1, then in v1beta1
    PROFILING = "profilingConfig"
    CONFIG = "profilingConfig.config"
    CONFIG_SLA = "profilingConfig.config.sla"
    CONFIG_DEPLOYMENT = "profilingConfig.config.deployment"
    CONFIG_CACHE = "profilingConfig.config.deployment.modelCache"
    WORKLOAD = "workload"
    SLA = "sla"
    MODEL_CACHE = "modelCache"
    FEATURES = "features"
    MOCKER = "features.mocker"
    OVERRIDES = "overrides"
    JOB = "overrides.profilingJob"
    JOB_TEMPLATE = "overrides.profilingJob.template"
    JOB_POD = "overrides.profilingJob.template.spec"
    PROFILER = "overrides.profilingJob.template.spec.containers[profiler]"


Slot = tuple[Frame, str]
"""A field of a frame."""

Slots = Mapping[Slot, Json]
Function = Callable[[Slots], Slots]

Fields = Mapping[str, Json]
Frames = Mapping[Frame, Json]
"""An object's frames with their fields. A frame that is empty or no object has no slots, and is one value by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Slots of v1alpha1 and v1beta1 that mean the same, and the functions between them.

    A function gets those of its slots that exist, and `reads`, slots that are the same in both versions. It may leave
    out what the other version cannot say. With `fills`, it also makes a value of nothing. To the versions in `exact`
    nothing gets lost that must come back, so that the way back is not taken.

    What the pairs of a table make is remembered for all of them together. A pair that is `changing` is converted each
    time: its values differ from object to object.
    """

    alpha: tuple[Slot, ...]
    beta: tuple[Slot, ...]
    to_beta: Function
    to_alpha: Function
    reads: tuple[Slot, ...] = ()
    fills: bool = False
    exact: Set[Version] = frozenset()
    changing: bool = False
    same_value: Set[Version] = frozenset()
    """The versions whose first slot holds the value of the other version's first slot, as it is."""


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
        same_value=frozenset(Version),
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
