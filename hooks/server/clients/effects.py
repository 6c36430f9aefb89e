"""Carries out effects through the Kubernetes API: scaling of cliques, replicas and specs of a graph, Events.

It reads before it writes, and acts only on what the stored objects ask for (`stored_objects`). It returns the outcome
of each effect and never raises, because the next sync returns a failed effect again. A sync waits for its effects for a
moment. At a slow API server they need longer, and then go on without it.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest, gvk_of, name_of
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Refused, object_path
from hooks.server.clients.event_objects import build_event
from hooks.server.clients.stored_objects import StoredObjects, Unwanted
from hooks.server.exchange.call_time import seconds_left
from hooks.server.serving.logs import logger
from hooks.wire.metacontroller.effects import (
    Effect,
    EffectOutcome,
    EffectResult,
    EffectSource,
    Event,
    ObjectReference,
    ScalePodClique,
    WriteBackReplicas,
    WriteBackSpec,
    describe_faults,
)
from hooks.wire.policy.spec_restoring import go_back

WAIT_SECONDS, DEADLINE_SECONDS = 2.0, 30.0
"""How long a sync waits for its effects, and how long all of them may take."""
MOST_UNDER_WAY = 8
"""Objects of a process whose effects are being carried out."""
_BUSY = "earlier effects are still being carried out, because the API server is slow"
MAX_EVENTS = 20
"""The most Events that one sync sends."""

_ATTEMPTS = 3
"""Attempts at one write: a write of the graph's status in between changes the resourceVersion that ours must name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsClient:
    """Carries out effects at one API server; `now` gives the time of Events."""

    server: ApiServer
    settings: Settings
    deadline_seconds: float = DEADLINE_SECONDS
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __call__(self, effects: tuple[Effect, ...], source: EffectSource) -> tuple[EffectResult, ...]:
        """Carry out effects of the source's sync in order, and return the outcome of each; never raises."""
        facts = Facts(now=self.now(), settings=self.settings)
        with self.server.converse(self.deadline_seconds, REQUEST_SECONDS) as conversation:
            stored = StoredObjects(conversation=conversation, source=source, facts=facts)
            return tuple(_carry_out_all(stored, effects))


@dataclass(slots=True, kw_only=True)
class EffectsInTime:
    """Carries out effects by `carry_out`, and makes a sync wait for them for `wait_seconds` at most.

    Those that take longer go on, and are logged when they end. Until then no further ones of the object begin.
    """

    carry_out: Callable[[tuple[Effect, ...], EffectSource], tuple[EffectResult, ...]]
    wait_seconds: float = WAIT_SECONDS
    under_way: set[ObjectReference] = field(default_factory=set, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __call__(self, effects: tuple[Effect, ...], source: EffectSource) -> tuple[EffectResult, ...]:
        """The outcome of each effect, `not-yet` while it is being carried out; raises what `carry_out` raises.

        What may not begin has failed: a later sync returns it again, but for Events.
        """
        with self._lock:
            may_begin = source.parent not in self.under_way and len(self.under_way) < MOST_UNDER_WAY
            if may_begin:
                self.under_way.add(source.parent)
        if not may_begin:
            return tuple(EffectResult(effect=one, outcome=EffectOutcome.FAILED, reason=_BUSY) for one in effects)
        ended: Future[tuple[EffectResult, ...]] = Future()
        threading.Thread(target=self._run, args=(ended, effects, source), name="effects", daemon=True).start()
        try:
            return ended.result(min(self.wait_seconds, seconds_left()))
        except TimeoutError:
            ended.add_done_callback(_log_late)
        return tuple(EffectResult(effect=effect, outcome=EffectOutcome.NOT_YET) for effect in effects)

    def _run(
        self, ended: "Future[tuple[EffectResult, ...]]", effects: tuple[Effect, ...], source: EffectSource
    ) -> None:
        bug: Exception | None = None
        results: tuple[EffectResult, ...] = ()
        try:
            results = self.carry_out(effects, source)
        except Exception as error:  # the caller raises it
            bug = error
        with self._lock:
            self.under_way.discard(source.parent)
        if bug is not None:
            ended.set_exception(bug)
        else:
            ended.set_result(results)


def _log_late(ended: "Future[tuple[EffectResult, ...]]") -> None:
    if (bug := ended.exception()) is not None:
        logger.error("late effects failed", exc_info=bug)
    else:
        logger.info("late effects: %s", describe_faults(ended.result()) or "carried out")


def _carry_out_all(stored: StoredObjects, effects: tuple[Effect, ...]) -> Iterator[EffectResult]:
    events = 0
    for effect in effects:
        events += isinstance(effect, Event)
        if isinstance(effect, Event) and events > MAX_EVENTS:
            reason = f"one sync sends at most {MAX_EVENTS} Events"
            yield EffectResult(effect=effect, outcome=EffectOutcome.FAILED, reason=reason)
            continue
        try:
            yield EffectResult(effect=effect, outcome=_carry_out_one(stored, effect))
        except Unwanted as unwanted:
            yield EffectResult(effect=effect, outcome=EffectOutcome.REFUSED, reason=str(unwanted))
        except Refused as refused:
            yield EffectResult(effect=effect, outcome=EffectOutcome.FAILED, reason=str(refused))
            if isinstance(effect, WriteBackReplicas | WriteBackSpec) and effect.if_failed is not None:
                event = replace(effect.if_failed, message=f"{effect.if_failed.message}: {refused}")
                yield from _carry_out_all(stored, (event,))


def _carry_out_one(stored: StoredObjects, effect: Effect) -> EffectOutcome:
    match effect:
        case ScalePodClique():
            return _scale(stored, effect)
        case WriteBackReplicas():
            return _write_back(stored, effect)
        case WriteBackSpec():
            return _write_back_spec(stored, effect)
        case Event():
            return _send_event(stored, effect)


def _scale(stored: StoredObjects, effect: ScalePodClique) -> EffectOutcome:
    clique = stored.check_scale(effect)
    if clique is None:
        return EffectOutcome.NOT_YET
    if wanted_replicas(clique) == effect.replicas:
        return EffectOutcome.UNCHANGED
    path = f"{object_path(gvk_of(clique), effect.namespace, effect.name)}/scale"
    change = {"spec": {"replicas": effect.replicas}}
    patched = stored.conversation.ask("PATCH", path, change, also=(HTTPStatus.NOT_FOUND,))
    return EffectOutcome.NOT_YET if patched.status == HTTPStatus.NOT_FOUND else EffectOutcome.DONE


def _write_back(stored: StoredObjects, effect: WriteBackReplicas) -> EffectOutcome:
    """Write the replicas into the graph, unless it changed since it was read; then read it again.

    Source: Kubernetes, "Optimistic concurrency": a patch that names a resourceVersion is refused on any other.
    """
    for _ in range(_ATTEMPTS):
        current = stored.check_write_back(effect)
        if current is None:
            return EffectOutcome.NOT_YET
        if wanted_replicas({"spec": current["spec"]["services"][effect.service]}) == effect.replicas:
            return EffectOutcome.UNCHANGED
        change = {"spec": {"services": {effect.service: {"replicas": effect.replicas}}}}
        if (outcome := _patch_graph(stored, current, change)) is not None:
            return outcome
    raise Refused(f"graph {effect.graph}: other writers changed it during each of {_ATTEMPTS} attempts")


def _write_back_spec(stored: StoredObjects, effect: WriteBackSpec) -> EffectOutcome:
    """Write a recorded spec into the graph, and from which one it goes back; a graph that changed is read again."""
    for _ in range(_ATTEMPTS):
        current, document = stored.check_write_back_spec(effect)
        if (outcome := _patch_graph(stored, current, go_back(current, document, effect.revision))) is not None:
            return outcome
    raise Refused(f"graph {effect.graph}: other writers changed it during each of {_ATTEMPTS} attempts")


def _patch_graph(stored: StoredObjects, current: ReadManifest, change: dict[str, Json]) -> EffectOutcome | None:
    """Patch a graph as it was read; None if it changed meanwhile."""
    path = object_path(contract.GRAPH, current["metadata"]["namespace"], name_of(current))
    metadata = {**(change.get("metadata") or {}), "resourceVersion": current["metadata"]["resourceVersion"]}
    tolerated = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
    patch = {**change, "metadata": metadata}
    status = stored.conversation.ask("PATCH", f"{path}?fieldManager=dynamo-hooks", patch, also=tolerated).status
    if status == HTTPStatus.CONFLICT:
        return None
    return EffectOutcome.NOT_YET if status == HTTPStatus.NOT_FOUND else EffectOutcome.DONE


def _send_event(stored: StoredObjects, effect: Event) -> EffectOutcome:
    stored.check_event(effect)
    event = build_event(effect, stored.facts.now)
    path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
    answer = stored.conversation.ask("POST", path, event, also=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))
    if answer.status == HTTPStatus.NOT_FOUND:
        return EffectOutcome.NOT_YET
    return EffectOutcome.UNCHANGED if answer.status == HTTPStatus.CONFLICT else EffectOutcome.DONE
