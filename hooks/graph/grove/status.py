"""The status of a graph under Grove: reasons why it is not ready, replicas of each service, and Grove's errors.

Source: Dynamo operator, internal/dynamo/grove.go, and internal/controller/dynamographdeployment_controller.go.
"""

from collections.abc import Iterator, Mapping

from hooks.graph.grove.plan import GrovePlan
from hooks.graph.grove.progress import GroveProgress
from hooks.graph.grove.scaling import count_wanted
from hooks.graph.seen.grove import ObservedGrove
from hooks.ground.k8s import kinds
from hooks.ground.k8s.not_ready import Cause, Explanation
from hooks.ground.k8s.types import Json

_SHORT = {kinds.POD_CLIQUE.kind: "podclique", kinds.POD_CLIQUE_SCALING_GROUP.kind: "pcsg"}


def find_grove_causes(plan: GrovePlan, progress: GroveProgress, explained: Mapping[str, Explanation]) -> list[Cause]:
    """Why the set and its services are not ready at the wanted spec; [] if all are.

    `explained` says by service why it is not ready. After a set is deleted, its cliques may still look complete.
    """
    of_set = f"podcliqueset/{plan.name}"
    causes = [
        *([Cause(reason="", about=of_set, why=progress.set_reason)] if progress.set_reason else []),
        *_service_causes(plan, progress, explained),
    ]
    is_left_behind = not causes and bool(plan.services) and not progress.has_set
    return [Cause(reason="", about=of_set, why="resource not found")] if is_left_behind else causes


def report_grove_services(plan: GrovePlan, seen: ObservedGrove) -> dict[str, Json]:
    """`status.services` by service; services that Grove has not created yet are left out."""
    found = ((service.service, seen.scalables.get((service.kind, service.target))) for service in plan.services)
    return {service: scalable.to_status() for service, scalable in found if scalable is not None}


def find_remarks(plan: GrovePlan, seen: ObservedGrove) -> Iterator[str]:
    """Remarks for the user, whether or not the graph is ready."""
    existing = seen.pod_clique_set
    for service in plan.services:
        yield from service.warnings
        if service.service in plan.below:
            yield (
                f"spec.services[{service.service}].replicas is {count_wanted(service, seen)}, below Grove's "
                f"minAvailable {service.least}: while this lasts, Grove does not make the graph anew where its pods "
                "fail, and no service over several nodes can be scaled up"
            )
    if existing is not None:
        yield from (f"Grove: {error}" for error in existing.errors)
        if existing.applied_spec is None:
            yield f"PodCliqueSet {plan.name} without last-applied annotation; run Metacontroller with dynamic apply"


def _service_causes(plan: GrovePlan, progress: GroveProgress, explained: Mapping[str, Explanation]) -> Iterator[Cause]:
    for service in plan.services:
        if seen := progress.services.get(service.service):
            explanation, about = explained.get(service.service), f"{_SHORT[service.kind]}/{service.target}"
            reason, why = (explanation.reason.value, f"{explanation} ({seen})") if explanation else ("", seen)
            yield Cause(reason=reason, about=about, why=why)
