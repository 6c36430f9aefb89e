"""Changes that children and status cannot express, as plain values; `hooks/server/clients` carries them out.

An `Effect` is carried out after the answer is written, and never fails a sync. The core does not get its outcome; it
observes it. While the cluster still differs, the status says so, the next sync returns the effect again, and
`resyncAfterSeconds` makes sure of a next sync. Carrying out an effect that is already true writes nothing. Events are
the exception: each is sent once, and a lost one is not sent again.

An `EtcdPrefixDrop` is carried out before the answer, which depends on its outcome: whether a deleted component may be
removed.

Anybody may send a request to the hooks. So an effect is only a proposal: `hooks/server/clients` reads the objects
that it depends on from the API server, and carries it out only if these ask for it too.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from hooks.ground.k8s.types import GroupVersionKind
from hooks.ground.settings import Settings, Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdPrefixDrop:
    """Delete all keys of etcd under `/<dynamo namespace>/components/<service>/`; the prefix ends with the slash."""

    prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReport:
    """The outcome of a drop: `fault` says why it may have failed; empty if it succeeded.

    `fault` becomes part of a status. So its text is the same at every attempt: otherwise each attempt would write the
    status, and each write would cause a sync.
    """

    drop: EtcdPrefixDrop
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePodClique:
    """Scale a PodClique or PodCliqueScalingGroup (`kind`) by its scale subresource.

    Grove reads the replicas of a PodCliqueSet's template only when it creates these objects.
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
    """An Event of the core API about an object, as `kubectl describe` shows it.

    `occasion` distinguishes two occurrences with the same message: the state that a condition leaves, or a generation.
    Effects that are equal in all fields are one Event, however often they are carried out.
    """

    about: ObjectReference
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    occasion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackReplicas:
    """Write the replicas into `spec.services[service]` of a graph: the planner reads them there, not in the adapter.

    If that fails, `if_failed` is sent, with the reason at the end of its message.
    """

    graph: str
    namespace: str
    service: str
    replicas: int
    if_failed: Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBackSpec:
    """Write the spec that a ControllerRevision (`revision`) records into its graph, whose rollout is stalled.

    The graph's status announces it. If it fails, `if_failed` is sent, with the reason at the end of its message.
    """

    graph: str
    namespace: str
    revision: str
    if_failed: Event | None = None


Effect = Event | ScalePodClique | WriteBackReplicas | WriteBackSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSource:
    """The object whose sync wanted the effects, as the request describes it.

    `declared` are the optional child kinds of its controller.
    """

    parent: ObjectReference
    generation: int
    declared: frozenset[GroupVersionKind] = frozenset()


class EffectOutcome(StrEnum):
    """What an effect led to.

    `not-yet`: the object does not exist yet, or does not accept the change yet. `refused`: the objects at the API
    server do not ask for it, because they changed since the request, or because the request was forged.
    """

    DONE = "done"
    UNCHANGED = "unchanged"
    NOT_YET = "not-yet"
    REFUSED = "refused"
    FAILED = "failed"

    @property
    def is_good(self) -> bool:
        """Whether nothing has to be reported."""
        return self not in {EffectOutcome.REFUSED, EffectOutcome.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectResult:
    """An effect and its outcome; `reason` is a sentence if it failed or was refused."""

    effect: Effect
    outcome: EffectOutcome
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The effect, and why it failed or was refused."""
        return f"{_describe(self.effect)}: {self.reason}"


def describe_faults(results: Iterable[EffectResult]) -> str:
    """The effects that failed or were refused, as one line; empty if there are none."""
    by_outcome: dict[EffectOutcome, list[str]] = {}
    for result in results:
        if not result.outcome.is_good:
            by_outcome.setdefault(result.outcome, []).append(result.sentence)
    return "; ".join(f"{outcome.value}: {'; '.join(texts)}" for outcome, texts in sorted(by_outcome.items()))


_OF_API_SERVER = {
    "effect_events": Switch.OFF,
    "effect_scale": Switch.OFF,
    "effect_write_back": "off",
    "effect_go_back": Switch.OFF,
}
"""Settings of effects that need the token of a ServiceAccount, each with the value that turns it off."""


def effects_of_api_server(settings: Settings) -> tuple[str, ...]:
    """Names of the settings that are on and need the API server."""
    names = [name for name, off in _OF_API_SERVER.items() if getattr(settings, name) != off]
    drops_keys = settings.effect_etcd is Switch.ON and bool(settings.etcd_address)
    return (*names, *(["effect_etcd"] if drops_keys else []))


def without_api_server(settings: Settings) -> Settings:
    """The settings without effects of the API server; they are off, so that the status can report this.

    `effect_etcd` stays on: the status of a deleted component then says why its keys are not deleted.
    """
    return settings.model_copy(update=_OF_API_SERVER)


def permitted_effects(effects: Iterable[Effect], settings: Settings) -> tuple[Effect, ...]:
    """The effects that the settings allow, in the order in which they are carried out.

    Events are last, so that many Events do not delay what changes the cluster.
    """
    kept = [_without_forbidden_event(effect, settings) for effect in effects if _is_on(effect, settings)]
    return tuple(sorted(kept, key=lambda effect: isinstance(effect, Event)))


def _is_on(effect: Effect, settings: Settings) -> bool:
    match effect:
        case Event():
            return settings.effect_events is Switch.ON
        case ScalePodClique():
            return settings.effect_scale is Switch.ON
        case WriteBackReplicas():
            return settings.effect_write_back != "off"
        case WriteBackSpec():
            return settings.effect_go_back is Switch.ON


def _without_forbidden_event(effect: Effect, settings: Settings) -> Effect:
    """The effect, without its Event if Events are off."""
    if isinstance(effect, WriteBackReplicas | WriteBackSpec) and settings.effect_events is Switch.OFF:
        return replace(effect, if_failed=None)
    return effect


def _describe(effect: Effect) -> str:
    match effect:
        case ScalePodClique():
            return f"scale {effect.kind} {effect.namespace}/{effect.name} to {effect.replicas}"
        case WriteBackReplicas():
            return f"set {effect.service} of graph {effect.namespace}/{effect.graph} to {effect.replicas} replicas"
        case WriteBackSpec():
            return f"write the spec of revision {effect.revision} back into graph {effect.namespace}/{effect.graph}"
        case Event():
            about = effect.about
            return f"event {effect.reason} about {about.kind} {about.namespace}/{about.name}"
