"""What a graph under Grove reports: what is not ready, the replicas of each service, and Grove's own complaints.

Source: Dynamo operator, internal/dynamo/grove.go, and internal/controller/dynamographdeployment_controller.go.
"""

from collections.abc import Iterator, Mapping

from hooks.graph.applied import is_applied
from hooks.graph.grove.observe import ObservedGrove, ObservedSet
from hooks.graph.grove.plan import GrovePlan, build_set
from hooks.graph.grove.service import GroveService
from hooks.k8s import kinds
from hooks.k8s.grove import why_unready
from hooks.k8s.not_ready import Explanation
from hooks.k8s.types import Json, name_of

_SHORT = {kinds.POD_CLIQUE.kind: "podclique", kinds.POD_CLIQUE_SCALING_GROUP.kind: "pcsg"}
_INIT_CONTAINERS = (
    "init containers were inserted or reordered, which an existing PodCliqueSet cannot take over; delete it once"
)


def why_grove_unready(plan: GrovePlan, seen: ObservedGrove, explained: Mapping[str, Explanation]) -> str:
    """All that keeps the set and its services from being ready at the wanted spec; empty when all are.

    `explained` says by service why it is not ready. What a set that is gone has left behind may still look complete.
    """
    reasons = [*_set_reasons(plan, seen.pod_clique_set), *_service_reasons(plan, seen, explained)]
    is_left_behind = not reasons and bool(plan.services) and seen.pod_clique_set is None
    return f"podcliqueset/{plan.name}: resource not found" if is_left_behind else "; ".join(reasons)


def is_settled(plan: GrovePlan, seen: ObservedGrove) -> bool:
    """Whether what Grove reports of the services is of the wanted spec."""
    return not any(_set_reasons(plan, seen.pod_clique_set))


def is_refused_scaling(plan: GrovePlan, service: GroveService, seen: ObservedGrove) -> bool:
    """Whether the service has another number of replicas than it should, and nobody is asked to change that."""
    found = seen.scalables.get((service.kind, service.target))
    if found is None or service.replicas in {None, found.desired}:
        return False
    return not any(effect.name == service.target and effect.kind == service.kind for effect in plan.effects)


def find_unready_grove_services(plan: GrovePlan, seen: ObservedGrove) -> frozenset[str]:
    """Services that are not ready at the wanted spec: all of them until Grove has taken the set's spec over."""
    is_set_ready = seen.pod_clique_set is not None and not list(_set_reasons(plan, seen.pod_clique_set))
    return frozenset(s.service for s in plan.services if not is_set_ready or _why_unready(plan, s, seen))


def report_grove_services(plan: GrovePlan, seen: ObservedGrove) -> dict[str, Json]:
    """`status.services` by service; what Grove has not made yet is left out."""
    found = ((service.service, seen.scalables.get((service.kind, service.target))) for service in plan.services)
    return {service: scalable.to_status() for service, scalable in found if scalable is not None}


def missing_exposure(plan: GrovePlan, seen: ObservedGrove) -> tuple[str, ...]:
    """Services, Ingresses and VirtualServices that should be the graph's own and are not, as `Kind name`."""
    wanted = ((child["kind"], name_of(child)) for service in plan.services for child in service.exposed)
    return tuple(f"{kind} {name}" for kind, name in wanted if (kind, name) not in seen.exposing)


def find_remarks(plan: GrovePlan, seen: ObservedGrove) -> Iterator[str]:
    """What there is to say whether or not the graph is ready."""
    existing = seen.pod_clique_set
    for service in plan.services:
        for warning in service.warnings:
            yield f"spec.services[{service.service}]: {warning}"
        if service.replicas == 0:
            yield (
                f"spec.services[{service.service}].replicas is 0, below Grove's minAvailable 1: Grove makes the whole "
                f"graph anew once this has lasted for {plan.termination_delay}"
            )
    if existing is not None:
        for missing in missing_exposure(plan, seen):
            yield f"{missing} is not there; if this stays so, one of that name belongs to another object"
        yield from (f"Grove: {error}" for error in existing.errors)
        if existing.applied_spec is None:
            yield f"PodCliqueSet {plan.name} without last-applied annotation; run Metacontroller with dynamic apply"


def _set_reasons(plan: GrovePlan, found: ObservedSet | None) -> Iterator[str]:
    if found is None:
        return
    if found.is_deleting:
        yield f"podcliqueset/{plan.name}: it is being deleted"
        return
    wanted = build_set(plan)["spec"]
    if not is_applied(wanted, live=found.spec, applied=found.applied_spec):
        yield f"podcliqueset/{plan.name}: spec not yet applied"
    elif found.unprocessed:
        yield f"podcliqueset/{plan.name}: {found.unprocessed}"
    elif _init_containers(found.spec) != _init_containers(wanted):
        yield f"podcliqueset/{plan.name}: {_INIT_CONTAINERS}"


def _service_reasons(plan: GrovePlan, seen: ObservedGrove, explained: Mapping[str, Explanation]) -> Iterator[str]:
    named = sorted((_SHORT[service.kind], service.target, service) for service in plan.services)
    for short, target, service in named:
        reason = _why_unready(plan, service, seen)
        if reason:
            explanation = explained.get(service.service)
            yield f"{short}/{target}: {reason}{f' ({explanation})' if explanation else ''}"


def _why_unready(plan: GrovePlan, service: GroveService, seen: ObservedGrove) -> str:
    found = seen.scalables.get((service.kind, service.target))
    if found is None or service.replicas is None or found.desired == service.replicas:
        return why_unready(found)
    is_refused = is_refused_scaling(plan, service, seen)
    how = "not applied, as the setting effect_scale is off" if is_refused else "it is being scaled"
    return f"replicas={found.desired}, wanted={service.replicas}: {how}"


def _init_containers(spec: Mapping[str, Json]) -> dict[str, list[str]]:
    """Names in order by clique: Metacontroller merges the list by name and keeps the order of the existing object."""
    cliques = (spec.get("template") or {}).get("cliques") or ()
    pods = ((clique["name"], (clique.get("spec") or {}).get("podSpec") or {}) for clique in cliques)
    return {name: [str(container["name"]) for container in pod.get("initContainers") or ()] for name, pod in pods}
