"""A graph's restart: how far it has come, and which services restart now.

Pods restart when the annotation `nvidia.com/restartAt` of their template changes to the restart's `id`. So the graph's
children show how far a restart has come, even if the status was lost. A service has restarted when it carries the id
and is ready by the rules of the condition Ready. `_STEPS` is the state machine; its position is `status.restart`. This
module knows neither the time nor how a service is rendered.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, computeRestartStatus, and
internal/dynamo/graph.go, DetermineRestartState.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from hooks.graph.plan.path import takes_grove
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s.types import Json
from hooks.language.api.graph import GraphDeployment


class RestartPhase(StrEnum):
    """`status.restart.phase`; all of upstream's are read, only Restarting and Completed are written."""

    PENDING = "Pending"
    RESTARTING = "Restarting"
    COMPLETED = "Completed"
    FAILED = "Failed"
    SUPERSEDED = "Superseded"


class RequestedId(StrEnum):
    """`spec.restart.id`, compared with `status.restart.observedID`."""

    NOTHING = "no id"
    THE_SAME = "the observed id"
    ANOTHER = "another id"


class StoredRestart(StrEnum):
    """`status.restart` as it was stored."""

    NOWHERE = "no status"
    UNDER_WAY = "Pending or Restarting"
    ENDED = "Completed, Failed or Superseded"


class RestartStep(StrEnum):
    """What is done with `status.restart`: drop it, keep it, or run the restart until all services have restarted."""

    DROP = "drop"
    KEEP = "keep"
    RUN = "run"


_STEPS: Mapping[tuple[RequestedId, StoredRestart], RestartStep] = {
    (RequestedId.NOTHING, StoredRestart.NOWHERE): RestartStep.DROP,
    (RequestedId.NOTHING, StoredRestart.UNDER_WAY): RestartStep.DROP,
    (RequestedId.NOTHING, StoredRestart.ENDED): RestartStep.KEEP,
    (RequestedId.THE_SAME, StoredRestart.UNDER_WAY): RestartStep.RUN,
    (RequestedId.THE_SAME, StoredRestart.ENDED): RestartStep.KEEP,
    (RequestedId.ANOTHER, StoredRestart.NOWHERE): RestartStep.RUN,
    (RequestedId.ANOTHER, StoredRestart.UNDER_WAY): RestartStep.RUN,
    (RequestedId.ANOTHER, StoredRestart.ENDED): RestartStep.RUN,
}
_ENDED = frozenset({RestartPhase.COMPLETED, RestartPhase.FAILED, RestartPhase.SUPERSEDED})
_PARALLEL = "Parallel"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPlan:
    """The restart of a graph.

    `status` is `status.restart`, empty for none. `restart_ids` is by service the id that its pods get as annotation;
    services without one are left out. The other fields are those of a restart that runs: `order` are all services in
    the order in which they restart, empty if none runs; `current` are those in progress until they are ready;
    `carrying` are those whose live objects carry the id. `remarks` are for the user.
    """

    status: Mapping[str, Json]
    restart_ids: Mapping[str, str]
    id: str = ""
    order: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    carrying: frozenset[str] = frozenset()
    is_parallel: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether services still have to restart."""
        return bool(self.order)


def observe_restart_ids(graph: GraphDeployment, seen: ObservedGraph) -> dict[str, str]:
    """By service the id that its live objects carry, empty for none; a service without objects is left out.

    Only objects of the path that the graph takes count; those of the other path are deleted first.
    """
    if takes_grove(graph.metadata.annotations, seen.installed, seen.live_path):
        existing = seen.grove.pod_clique_set
        return {} if existing is None or existing.is_deleting else dict(existing.restarts)
    named = ((service, seen.component_of(graph.metadata.name, service)) for service in _names(graph))
    return {service: component.restart_at for service, component in named if component is not None}


def plan_restart(graph: GraphDeployment, stored: Mapping[str, Json], observed: Mapping[str, str]) -> RestartPlan:
    """Decide all that does not depend on readiness.

    `stored` is `status.restart`, `observed` the ids of `observe_restart_ids`. A service that does not exist yet is
    created with the id, because its first pods need no restart. After a restart has ended, an existing service keeps
    the id that it carries, because the status may be older than the objects.
    """
    wanted_id = graph.spec.restart.id if graph.spec.restart else ""
    kept = {service: observed[service] for service in _names(graph) if observed.get(service)}
    match _STEPS[_classify_requested(wanted_id, stored), _classify_stored(stored)]:
        case RestartStep.DROP:
            return RestartPlan(status={}, restart_ids=kept)
        case RestartStep.KEEP if stored["phase"] == RestartPhase.COMPLETED:
            ids = {service: observed.get(service, str(stored["observedID"])) for service in _names(graph)}
            return RestartPlan(
                status=stored, restart_ids={service: restart for service, restart in ids.items() if restart}
            )
        case RestartStep.KEEP:
            return RestartPlan(status=stored, restart_ids=kept)
        case RestartStep.RUN:
            return _run(graph, wanted_id, stored, observed)


def advance(restart: RestartPlan, unready: Set[str]) -> RestartPlan:
    """Let a running restart proceed; `unready` are the services that are not ready at their present ids.

    A sequential restart starts the next service only when all services that carry the id are ready.
    """
    pending = [service for service in restart.order if service not in restart.carrying or service in unready]
    if not pending:
        return _complete(restart)
    if restart.is_parallel:
        return _proceed(restart, pending, sorted(pending))
    rolling = [service for service in pending if restart.restart_ids.get(service) == restart.id]
    candidates = [service for service in restart.current if service in rolling] or rolling or pending
    return _proceed(restart, pending, candidates[:1])


def _run(
    graph: GraphDeployment, wanted_id: str, stored: Mapping[str, Json], observed: Mapping[str, str]
) -> RestartPlan:
    order, is_parallel = _order(graph), _is_parallel(graph)
    is_known = stored.get("observedID") == wanted_id
    current = [service for service in stored.get("inProgress") or () if service in order] if is_known else []
    new = [service for service in order if service not in observed]
    ids = {service: restart for service, restart in observed.items() if restart and service in order}
    restart = RestartPlan(
        status={},
        restart_ids={**ids, **dict.fromkeys(order if is_parallel else [*new, *current], wanted_id)},
        id=wanted_id,
        order=order,
        current=tuple(current),
        carrying=frozenset(service for service, restart in ids.items() if restart == wanted_id),
        is_parallel=is_parallel,
    )
    return restart if order else _complete(restart)


def _proceed(restart: RestartPlan, pending: Sequence[str], now: list[str]) -> RestartPlan:
    ids = {**restart.restart_ids, **dict.fromkeys(now, restart.id)}
    waiting = [service for service in pending if ids.get(service) != restart.id]
    then = f", then restarts {', '.join(waiting)}" if waiting else ""
    return replace(
        restart,
        status={"observedID": restart.id, "phase": RestartPhase.RESTARTING.value, "inProgress": now},
        restart_ids=ids,
        remarks=(f"restart {restart.id} waits for {', '.join(now)}{then}",),
    )


def _complete(restart: RestartPlan) -> RestartPlan:
    return replace(restart, status={"observedID": restart.id, "phase": RestartPhase.COMPLETED.value})


def _classify_requested(wanted_id: str, stored: Mapping[str, Json]) -> RequestedId:
    if not wanted_id:
        return RequestedId.NOTHING
    return RequestedId.THE_SAME if stored.get("observedID") == wanted_id else RequestedId.ANOTHER


def _classify_stored(stored: Mapping[str, Json]) -> StoredRestart:
    if not stored.get("observedID"):
        return StoredRestart.NOWHERE
    return StoredRestart.ENDED if stored.get("phase") in _ENDED else StoredRestart.UNDER_WAY


def _order(graph: GraphDeployment) -> tuple[str, ...]:
    """All services, each once: first in the requested order, then the others by name."""
    strategy = graph.spec.restart.strategy if graph.spec.restart else None
    given: Iterable[str] = strategy.order if strategy else ()
    named = [service for service in given if service in graph.spec.services]
    return tuple(dict.fromkeys([*named, *_names(graph)]))


def _is_parallel(graph: GraphDeployment) -> bool:
    strategy = graph.spec.restart.strategy if graph.spec.restart else None
    return strategy is not None and strategy.type == _PARALLEL


def _names(graph: GraphDeployment) -> list[str]:
    return sorted(graph.spec.services)
