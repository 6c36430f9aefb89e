"""A graph's restart: how far it has come, and which services are told of it now.

Pods restart because the annotation `nvidia.com/restartAt` of their template takes the restart's `id` as its value, so
what the graph's children carry tells how far a restart has come, also where the status was lost. A service counts as
restarted once it carries the id and is ready by the rules of the condition Ready. `_STEPS` is the state machine; its
position is `status.restart`. It knows no clock, and nothing of how a service is made.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, computeRestartStatus, and
internal/dynamo/graph.go, DetermineRestartState.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from hooks.api.graph import GraphDeployment
from hooks.graph.observe import Observed
from hooks.graph.path import takes_grove
from hooks.identity import component_name
from hooks.k8s.types import Json


class Phase(StrEnum):
    """`status.restart.phase`; only two of upstream's are ever written, the others are understood."""

    PENDING = "Pending"
    RESTARTING = "Restarting"
    COMPLETED = "Completed"
    FAILED = "Failed"
    SUPERSEDED = "Superseded"


class Asked(StrEnum):
    """What `spec.restart.id` says, seen from `status.restart.observedID`."""

    NOTHING = "no id"
    THE_SAME = "the observed id"
    ANOTHER = "another id"


class Standing(StrEnum):
    """Where `status.restart` stands."""

    NOWHERE = "no status"
    UNDER_WAY = "Pending or Restarting"
    ENDED = "Completed, Failed or Superseded"


class Step(StrEnum):
    """What becomes of `status.restart`: dropped, left as it is, or `Restarting` until all services are restarted."""

    DROP = "drop"
    KEEP = "keep"
    RUN = "run"


_STEPS: Mapping[tuple[Asked, Standing], Step] = {
    (Asked.NOTHING, Standing.NOWHERE): Step.DROP,
    (Asked.NOTHING, Standing.UNDER_WAY): Step.DROP,
    (Asked.NOTHING, Standing.ENDED): Step.KEEP,
    (Asked.THE_SAME, Standing.UNDER_WAY): Step.RUN,
    (Asked.THE_SAME, Standing.ENDED): Step.KEEP,
    (Asked.ANOTHER, Standing.NOWHERE): Step.RUN,
    (Asked.ANOTHER, Standing.UNDER_WAY): Step.RUN,
    (Asked.ANOTHER, Standing.ENDED): Step.RUN,
}
_ENDED = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.SUPERSEDED})
_PARALLEL = "Parallel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Where a graph's restart stands.

    `status` is `status.restart`, empty for none. `told` is by service which restart its pods are told of, for those
    that are told of any. `order` are all services in the order of a restart that runs, empty for one that does not;
    `current` are those of them that were in progress, and stay so until they are ready, `carrying` those that are seen
    to carry its id. `remarks` are for the user.
    """

    status: Mapping[str, Json]
    told: Mapping[str, str]
    id: str = ""
    order: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    carrying: frozenset[str] = frozenset()
    is_parallel: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether it goes on as services become ready."""
        return bool(self.order)


def observe_told(graph: GraphDeployment, seen: Observed) -> dict[str, str]:
    """By service which restart its pods were last told of, empty for none; a service that does not exist is left out.

    It is read from the objects of the way that the graph takes: what the other way left goes before these are made.
    """
    if takes_grove(graph.metadata.annotations, seen.installed):
        existing = seen.grove.pod_clique_set
        return {} if existing is None or existing.is_deleting else dict(existing.restarts)
    named = ((service, seen.components.get(component_name(graph.metadata.name, service))) for service in _names(graph))
    return {service: component.restart_at for service, component in named if component is not None}


def plan_restart(graph: GraphDeployment, stored: Mapping[str, Json], observed: Mapping[str, str]) -> Restart:
    """Decide all that does not hang on readiness; `stored` is `status.restart`, `observed` that of `observe_told`.

    A service that does not exist yet is made with the id at once: its first pods need no restart. One that exists keeps
    what it carries once a restart has ended: a status can be that of an earlier one, written from an old copy.
    """
    asked = graph.spec.restart.id if graph.spec.restart else ""
    kept = {service: observed[service] for service in _names(graph) if observed.get(service)}
    match _STEPS[_compare(asked, stored), _stand(stored)]:
        case Step.DROP:
            return Restart(status={}, told=kept)
        case Step.KEEP if stored["phase"] == Phase.COMPLETED:
            told = {service: observed.get(service, str(stored["observedID"])) for service in _names(graph)}
            return Restart(status=stored, told={service: restart for service, restart in told.items() if restart})
        case Step.KEEP:
            return Restart(status=stored, told=kept)
        case Step.RUN:
            return _run(graph, asked, stored, observed)


def advance(restart: Restart, unready: Set[str]) -> Restart:
    """Let a restart that runs go on; `unready` are the services that are not ready as they are told now.

    One after another: nothing more is told while a service that was told is not ready, whichever it is.
    """
    pending = [service for service in restart.order if service not in restart.carrying or service in unready]
    if not pending:
        return _complete(restart)
    if restart.is_parallel:
        return _proceed(restart, pending, sorted(pending))
    rolling = [service for service in pending if restart.told.get(service) == restart.id]
    candidates = [service for service in restart.current if service in rolling] or rolling or pending
    return _proceed(restart, pending, candidates[:1])


def _run(graph: GraphDeployment, asked: str, stored: Mapping[str, Json], observed: Mapping[str, str]) -> Restart:
    order, is_parallel = _order(graph), _is_parallel(graph)
    is_known = stored.get("observedID") == asked
    current = [service for service in stored.get("inProgress") or () if service in order] if is_known else []
    new = [service for service in order if service not in observed]
    told = {service: restart for service, restart in observed.items() if restart and service in order}
    restart = Restart(
        status={},
        told={**told, **dict.fromkeys(order if is_parallel else [*new, *current], asked)},
        id=asked,
        order=order,
        current=tuple(current),
        carrying=frozenset(service for service, restart in told.items() if restart == asked),
        is_parallel=is_parallel,
    )
    return restart if order else _complete(restart)


def _proceed(restart: Restart, pending: Sequence[str], now: list[str]) -> Restart:
    told = {**restart.told, **dict.fromkeys(now, restart.id)}
    waiting = [service for service in pending if told.get(service) != restart.id]
    then = f", then restarts {', '.join(waiting)}" if waiting else ""
    return replace(
        restart,
        status={"observedID": restart.id, "phase": Phase.RESTARTING.value, "inProgress": now},
        told=told,
        remarks=(f"restart {restart.id} waits for {', '.join(now)}{then}",),
    )


def _complete(restart: Restart) -> Restart:
    return replace(restart, status={"observedID": restart.id, "phase": Phase.COMPLETED.value})


def _compare(asked: str, stored: Mapping[str, Json]) -> Asked:
    if not asked:
        return Asked.NOTHING
    return Asked.THE_SAME if stored.get("observedID") == asked else Asked.ANOTHER


def _stand(stored: Mapping[str, Json]) -> Standing:
    if not stored.get("observedID"):
        return Standing.NOWHERE
    return Standing.ENDED if stored.get("phase") in _ENDED else Standing.UNDER_WAY


def _order(graph: GraphDeployment) -> tuple[str, ...]:
    """All services, each once: in the order asked for, what that leaves out by name."""
    strategy = graph.spec.restart.strategy if graph.spec.restart else None
    given: Iterable[str] = strategy.order if strategy else ()
    named = [service for service in given if service in graph.spec.services]
    return tuple(dict.fromkeys([*named, *_names(graph)]))


def _is_parallel(graph: GraphDeployment) -> bool:
    strategy = graph.spec.restart.strategy if graph.spec.restart else None
    return strategy is not None and strategy.type == _PARALLEL


def _names(graph: GraphDeployment) -> list[str]:
    return sorted(graph.spec.services)
