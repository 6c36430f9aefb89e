"""Carries out effects through the Kubernetes API: scaling of cliques, replicas of a graph, Events.

It reads before it writes, and has two seconds for all effects of one sync. It returns the outcome of each effect and
never raises, because the next sync returns a failed effect again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from hooks import contract
from hooks.clients.api_server import ApiServer, Conversation, Refused
from hooks.clients.event_objects import build_event
from hooks.effects import Effect, EffectOutcome, EffectResult, Event, ScalePodClique, WriteBackReplicas
from hooks.k8s import kinds
from hooks.metacontroller.protocol import plural_of

DEADLINE_SECONDS = 2.0
MAX_EVENTS = 20
"""The most Events that one sync sends."""

_ATTEMPTS = 3
"""Attempts at one write: a write of the graph's status in between changes the resourceVersion that ours must name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsClient:
    """Carries out effects at one API server; `now` gives the time of Events."""

    server: ApiServer
    deadline_seconds: float = DEADLINE_SECONDS
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def __call__(self, effects: tuple[Effect, ...]) -> tuple[EffectResult, ...]:
        """Carry out effects in order, and return the outcome of each; never raises."""
        with self.server.converse(self.deadline_seconds) as conversation:
            return tuple(self._carry_out_all(conversation, effects))

    def _carry_out_all(self, conversation: Conversation, effects: tuple[Effect, ...]) -> Iterator[EffectResult]:
        events = 0
        for effect in effects:
            events += isinstance(effect, Event)
            if isinstance(effect, Event) and events > MAX_EVENTS:
                reason = f"one sync sends at most {MAX_EVENTS} Events"
                yield EffectResult(effect=effect, outcome=EffectOutcome.FAILED, reason=reason)
                continue
            try:
                yield EffectResult(effect=effect, outcome=self._carry_out_one(conversation, effect))
            except Refused as refused:
                yield EffectResult(effect=effect, outcome=EffectOutcome.FAILED, reason=str(refused))
                if isinstance(effect, WriteBackReplicas) and effect.if_failed is not None:
                    event = replace(effect.if_failed, message=f"{effect.if_failed.message}: {refused}")
                    yield from self._carry_out_all(conversation, (event,))

    def _carry_out_one(self, conversation: Conversation, effect: Effect) -> EffectOutcome:
        match effect:
            case ScalePodClique():
                return _scale(conversation, effect)
            case WriteBackReplicas():
                return _write_back(conversation, effect)
            case Event():
                return _send_event(conversation, effect, self.now())


def _scale(conversation: Conversation, effect: ScalePodClique) -> EffectOutcome:
    kind = next(k for k in (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP) if k.kind == effect.kind)
    path = f"/apis/{kind.api_version}/namespaces/{effect.namespace}/{plural_of(kind)}/{effect.name}/scale"
    current = conversation.find(path)
    if current is None:
        return EffectOutcome.NOT_YET
    if (current.get("spec") or {}).get("replicas", 0) == effect.replicas:
        return EffectOutcome.UNCHANGED
    change = {"spec": {"replicas": effect.replicas}}
    patched = conversation.ask("PATCH", path, change, also=(HTTPStatus.NOT_FOUND,))
    return EffectOutcome.NOT_YET if patched.status == HTTPStatus.NOT_FOUND else EffectOutcome.DONE


def _write_back(conversation: Conversation, effect: WriteBackReplicas) -> EffectOutcome:
    """Write the replicas into the graph, unless it changed since it was read; then read it again.

    Source: Kubernetes, "Optimistic concurrency": a patch that names a resourceVersion is refused on any other.
    """
    plural = plural_of(contract.GRAPH)
    path = f"/apis/{contract.GRAPH.api_version}/namespaces/{effect.namespace}/{plural}/{effect.graph}"
    for _ in range(_ATTEMPTS):
        current = conversation.find(path)
        service = None if current is None else _adapted_service(current, effect.service)
        if current is None or service is None:
            return EffectOutcome.NOT_YET
        if service.get("replicas", 1) == effect.replicas:
            return EffectOutcome.UNCHANGED
        change = {
            "metadata": {"resourceVersion": current["metadata"]["resourceVersion"]},
            "spec": {"services": {effect.service: {"replicas": effect.replicas}}},
        }
        tolerated = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
        patched = conversation.ask("PATCH", f"{path}?fieldManager=dynamo-hooks", change, also=tolerated)
        if patched.status == HTTPStatus.NOT_FOUND:
            return EffectOutcome.NOT_YET
        if patched.status != HTTPStatus.CONFLICT:
            return EffectOutcome.DONE
    raise Refused(f"{path}: other writers changed it during each of {_ATTEMPTS} attempts")


def _adapted_service(graph: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The service in the graph's spec; None if it does not exist, or has no enabled adapter."""
    service = ((graph.get("spec") or {}).get("services") or {}).get(name) or {}
    is_adapted = (service.get("scalingAdapter") or {}).get("enabled") is True
    return service if is_adapted else None


def _send_event(conversation: Conversation, effect: Event, now: datetime) -> EffectOutcome:
    event = build_event(effect, now)
    path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
    answer = conversation.ask("POST", path, event, also=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))
    if answer.status == HTTPStatus.NOT_FOUND:
        return EffectOutcome.NOT_YET
    return EffectOutcome.UNCHANGED if answer.status == HTTPStatus.CONFLICT else EffectOutcome.DONE
