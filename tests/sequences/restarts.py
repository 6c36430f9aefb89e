"""What must hold of restarts after every step, read from what children carry and not from what a status says."""

from collections.abc import Iterator, Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, controller_of
from hooks.wire.policy import identity
from tests.sequences.calls import Call
from tests.sequences.seen import service_faults
from tests.sequences.world import Step, World

COMPLETED = "Completed"


def restart_keeps_its_order(_world: World, step: Step) -> Iterator[str]:
    """One after another: a service is told of a restart when those before it were, and nobody told is not ready.

    What a status says is begun goes on, whatever became of the others since.
    """
    for call in step.calls:
        restart = call.parent["spec"].get("restart") or {}
        if call.hook != "graph" or call.stage != "sync" or not restart or not call.said:
            continue
        if (restart.get("strategy") or {}).get("type") == "Parallel":
            continue
        yield from _order_faults(call, restart)


def told_services_stay_told(_world: World, step: Step) -> Iterator[str]:
    """A service keeps the restart that its pods were told of until it is told of the one that was asked for."""
    for call in step.calls:
        if call.hook != "graph" or call.stage != "sync" or not call.said:
            continue
        seen, answered = told_by_request(call), told_by_answer(call)
        asked = (call.parent["spec"].get("restart") or {}).get("id", "")
        last = ((call.parent.get("status") or {}).get("restart") or {}).get("observedID", "")
        for service in sorted(seen.keys() & answered.keys()):
            if answered[service] not in {seen[service], asked or last, last}:
                yield f"{service} was told of restart {seen[service]!r} and now of {answered[service]!r}"


def finished_restart_stays_finished(world: World, step: Step) -> Iterator[str]:
    """A restart that was completed tells no service again that exists."""
    for change in step.changes:
        if change.old is None or change.new is None:
            continue
        before, after = told_by(change.old), told_by(change.new)
        for service in sorted(before.keys() & after.keys()):
            owner, is_told = controller_of(change.new) or {}, after[service] != before[service]
            is_finished = (owner.get("uid"), after[service]) in world.ledger.completed
            if is_told and is_finished and change.ref not in world.edited:
                yield f"{service} is told of restart {after[service]!r} once more, after {before[service]!r}"


def told_by_request(call: Call) -> dict[str, str]:
    """By service which restart its pods are told of, by the children that a graph's sync is shown."""
    shown = [*call.children(contract.COMPONENT.kind), *call.children(kinds.POD_CLIQUE_SET.kind)]
    return _named(call.parent, shown)


def told_by_answer(call: Call) -> dict[str, str]:
    """The same by the children that it answers."""
    wanted = call.wanted(contract.COMPONENT.kind) | call.wanted(kinds.POD_CLIQUE_SET.kind)
    return _named(call.parent, list(wanted.values()))


def told_by(child: Manifest) -> dict[str, str]:
    """The same by one stored child, under what it calls its services."""
    if child["kind"] == contract.COMPONENT.kind:
        annotations = child["spec"].get("annotations") or {}
        return {child["metadata"]["name"]: annotations.get(contract.ANNOTATION_RESTART_AT, "")}
    if child["kind"] == kinds.POD_CLIQUE_SET.kind:
        return {
            clique["labels"][contract.LABEL_COMPONENT]: (clique.get("annotations") or {}).get(
                contract.ANNOTATION_RESTART_AT, ""
            )
            for clique in child["spec"]["template"]["cliques"]
        }
    return {}


def _named(graph: Manifest, children: list[Manifest]) -> dict[str, str]:
    """By service of the graph; those that the graph no longer has are left out."""
    names = {identity.component_name(graph["metadata"]["name"], service): service for service in _services(graph)}
    told = {names.get(name, name): restart for child in children for name, restart in told_by(child).items()}
    return {service: restart for service, restart in told.items() if service in _services(graph)}


def _services(graph: Manifest) -> Mapping[str, Any]:
    services: Mapping[str, Any] = graph["spec"]["services"]
    return services


def _order_faults(call: Call, restart: Mapping[str, Any]) -> Iterator[str]:
    seen, answered, wanted = told_by_request(call), told_by_answer(call), restart["id"]
    order = (restart.get("strategy") or {}).get("order") or sorted(_services(call.parent))
    stored = (call.parent.get("status") or {}).get("restart") or {}
    begun = stored.get("inProgress", ()) if stored.get("observedID") == wanted else ()
    untold = [service for service in order if service in seen and seen[service] != wanted]
    fresh = [service for service in untold if answered.get(service) == wanted and service not in begun]
    if not fresh or is_completed(call.parent, wanted):
        return
    if len(fresh) > 1:
        yield f"{' and '.join(fresh)} are told of restart {wanted!r} at once"
    passed = order[: order.index(fresh[0])]
    for service in passed:
        if service in untold and service not in begun:
            yield f"{fresh[0]} is told of restart {wanted!r} before {service}"
    for service in order:
        if seen.get(service) == wanted:
            for fault in service_faults(call, service):
                yield f"{fresh[0]} is told of restart {wanted!r} while {service} is not ready: {fault}"


def is_completed(graph: Manifest, restart: str) -> bool:
    """Whether a graph's status says that a restart is completed."""
    stored = (graph.get("status") or {}).get("restart") or {}
    return stored.get("observedID") == restart and stored.get("phase") == COMPLETED
