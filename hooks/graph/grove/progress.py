"""Why a graph's PodCliqueSet and its services are not ready at the wanted spec.

Source: Dynamo operator, internal/dynamo/grove.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.graph.grove.plan import GrovePlan
from hooks.graph.grove.service import GroveService
from hooks.graph.seen.grove import ObservedGrove, ObservedSet
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove_parts import why_unready
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import Json
from hooks.wire.policy.applied_condition import Applied, Judged
from hooks.wire.policy.deviations import Deviance

_INIT_CONTAINERS = (
    "init containers were inserted or reordered; this cannot be applied to an existing PodCliqueSet, delete it once"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroveProgress:
    """How far Grove has come.

    `has_set` says whether the PodCliqueSet exists, `set_reason` why it is not as wanted, empty if it is. `services`
    says by service why it is not ready.
    """

    has_set: bool
    set_reason: str
    services: Mapping[str, str]

    @property
    def is_settled(self) -> bool:
        """Whether Grove's report about the services describes the wanted spec."""
        return not self.set_reason


def measure_grove(plan: GrovePlan, seen: ObservedGrove, applied: Applied) -> GroveProgress:
    """Compare Grove's objects with the plan; `applied` says whether the set is as wanted."""
    existing, judged = seen.pod_clique_set, applied.find(kinds.POD_CLIQUE_SET.kind, plan.name)
    reasons = ((service.service, _why_unready(plan, service, seen)) for service in plan.services)
    return GroveProgress(
        has_set=existing is not None,
        set_reason=_why_set_unready(plan, existing, judged),
        services={service: reason for service, reason in reasons if reason},
    )


def find_unready(plan: GrovePlan, progress: GroveProgress) -> frozenset[str]:
    """Services that are not ready at the wanted spec: all of them until Grove has processed the set's spec."""
    if progress.has_set and progress.is_settled:
        return frozenset(progress.services)
    return frozenset(service.service for service in plan.services)


def is_scaling_off(plan: GrovePlan, service: GroveService, seen: ObservedGrove) -> bool:
    """Whether the live replicas differ from the wanted ones, and no effect of the plan changes them."""
    found = seen.scalables.get((service.kind, service.target))
    if found is None or service.replicas in {None, found.desired} or service.service in plan.held:
        return False
    return not any(effect.name == service.target and effect.kind == service.kind for effect in plan.effects)


def _why_set_unready(plan: GrovePlan, found: ObservedSet | None, judged: Judged | None) -> str:
    """Why the set is not as wanted; empty if it is, and for a moment while it does not exist yet."""
    if found is None:
        return str(judged) if judged and judged.is_lasting else ""
    if found.is_deleting:
        return judged.what if judged else "it is being deleted"
    if judged is not None:
        what = "spec not yet applied" if judged.deviation.state is Deviance.BEING_APPLIED else judged.what
        return str(judged) if judged.is_lasting else what
    if found.unprocessed:
        return found.unprocessed
    return _INIT_CONTAINERS if _init_containers(found.spec) != _init_containers(plan.pod_clique_set["spec"]) else ""


def _why_unready(plan: GrovePlan, service: GroveService, seen: ObservedGrove) -> str:
    found = seen.scalables.get((service.kind, service.target))
    if found is None or service.replicas is None or found.desired == service.replicas:
        return why_unready(found)
    if service.service in plan.held:
        return f"replicas={found.desired}, wanted={service.replicas}: {contract.SCALED_IN_LATER}"
    is_off = is_scaling_off(plan, service, seen)
    how = "not applied, as the setting effect_scale is off" if is_off else "it is being scaled"
    return f"replicas={found.desired}, wanted={service.replicas}: {how}"


def _init_containers(spec: Mapping[str, Json]) -> dict[str, list[str]]:
    """Names in order by clique: Metacontroller merges the list by name and keeps the order of the existing object."""
    pods = ((clique["name"], (clique.get("spec") or {}).get("podSpec") or {}) for clique in cliques_of(spec))
    return {name: [str(container["name"]) for container in pod.get("initContainers") or ()] for name, pod in pods}
