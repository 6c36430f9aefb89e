"""What should be true outside of children and status, as plain values; the shell makes it so.

An `Effect` is carried out after the answer is written and never fails a sync, so the core does not learn what came of
it. It learns by looking: as long as what it observes differs, its status says that it is not yet so, the next sync
returns the effect again, and `resyncAfterSeconds` sees to a next sync even though nothing changes. What is true already
is not written again. Only Events are told once and not looked for: one that is lost stays lost.

An `EtcdPrefixDrop` comes before the answer, which depends on it: whether a deleted component may go.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from hooks.settings import Settings, Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdPrefixDrop:
    """No key under this prefix of etcd: `/<dynamo namespace>/components/<service>/`, with the slash at its end."""

    prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReport:
    """What came of a drop; `fault` says why nothing is known to be dropped, the same each time, and is empty if it is.

    It goes into a status: a text that differs with every attempt would be a loop of writes.
    """

    drop: EtcdPrefixDrop
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePodClique:
    """So many replicas of a PodClique or PodCliqueScalingGroup (`kind`), by its scale subresource.

    Grove reads the replicas of a PodCliqueSet's template when it makes them, and never again.
    """

    kind: str
    namespace: str
    name: str
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReference:
    """The object that an Event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A line of `kubectl describe`: an object's Event of the core API.

    `occasion` tells two occurrences with the same words apart (a condition's transition time, a generation); two
    effects that are equal in all fields are one Event, however often they are carried out.
    """

    about: ObjectReference
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    occasion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackReplicas:
    """So many replicas in `spec.services[service]` of a graph: the planner reads them there, not at the adapter.

    `if_failed` is told where that fails, the reason put behind its message; None tells nobody.
    """

    graph: str
    namespace: str
    service: str
    replicas: int
    if_failed: Event | None = None


Effect = Event | ScalePodClique | WriteBackReplicas


class EffectOutcome(StrEnum):
    """What came of an effect; `not-yet` is an object that nobody has made so far, or that takes no such change."""

    DONE = "done"
    UNCHANGED = "unchanged"
    NOT_YET = "not-yet"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectResult:
    """An effect and what came of it; `reason` is a sentence where it failed."""

    effect: Effect
    outcome: EffectOutcome
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The effect and why it failed."""
        return f"{_describe(self.effect)}: {self.reason}"


_OF_API_SERVER = {"effect_events": Switch.OFF, "effect_scale": Switch.OFF, "effect_write_back": "off"}
"""Settings of effects that need a service account's token, each with the value that switches it off."""


def effects_of_api_server(settings: Settings) -> tuple[str, ...]:
    """Names of the settings that are on and need the API server."""
    return tuple(name for name, off in _OF_API_SERVER.items() if getattr(settings, name) != off)


def without_api_server(settings: Settings) -> Settings:
    """The settings where there is no API server: what cannot be done is off, so that status says so."""
    return settings.model_copy(update=_OF_API_SERVER)


def permitted_effects(effects: Iterable[Effect], settings: Settings) -> tuple[Effect, ...]:
    """The effects that the settings leave on, in the order in which they are carried out.

    Events come last: however many there are, they take no time from what changes the cluster.
    """
    kept = [_in_silence(effect, settings) for effect in effects if _is_on(effect, settings)]
    return tuple(sorted(kept, key=lambda effect: isinstance(effect, Event)))


def _is_on(effect: Effect, settings: Settings) -> bool:
    match effect:
        case Event():
            return settings.effect_events is Switch.ON
        case ScalePodClique():
            return settings.effect_scale is Switch.ON
        case WriteBackReplicas():
            return settings.effect_write_back != "off"


def _in_silence(effect: Effect, settings: Settings) -> Effect:
    """The effect, without what it would tell where Events are off."""
    if isinstance(effect, WriteBackReplicas) and settings.effect_events is Switch.OFF:
        return replace(effect, if_failed=None)
    return effect


def _describe(effect: Effect) -> str:
    match effect:
        case ScalePodClique():
            return f"scale {effect.kind} {effect.namespace}/{effect.name} to {effect.replicas}"
        case WriteBackReplicas():
            return f"set {effect.service} of graph {effect.namespace}/{effect.graph} to {effect.replicas} replicas"
        case Event():
            about = effect.about
            return f"event {effect.reason} about {about.kind} {about.namespace}/{about.name}"
