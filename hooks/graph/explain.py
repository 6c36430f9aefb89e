"""Why services of a graph under Grove are not ready: one `NotReadyReason` each, from their pods and what they lack.

On the other path each component explains itself.
"""

from collections.abc import Mapping

from hooks.component.explain import explain_own_pods, explain_progress, explain_rollout
from hooks.facts import Facts
from hooks.graph.grove.plan import GrovePlan
from hooks.graph.grove.service import GroveService
from hooks.graph.grove.status import find_unready_grove_services, is_refused_scaling, is_settled
from hooks.graph.observe import Observed
from hooks.graph.plan import GraphPlan
from hooks.k8s import kinds
from hooks.k8s.grove import Scalable
from hooks.k8s.not_ready import Explanation, NotReadyReason, choose_worst


def explain_services(plan: GraphPlan, seen: Observed, facts: Facts) -> Mapping[str, Explanation]:
    """By service, why it is not ready; nothing for those that are, and for a graph of components."""
    if plan.grove is None or plan.waits_for:
        return {}
    denied, unready = _explain_errors(seen), find_unready_grove_services(plan.grove, seen.grove)
    return {
        service.service: _explain(plan, plan.grove, service, seen, facts=facts, denied=denied)
        for service in plan.grove.services
        if service.service in unready
    }


def _explain(
    plan: GraphPlan,
    grove: GrovePlan,
    service: GroveService,
    seen: Observed,
    *,
    facts: Facts,
    denied: tuple[Explanation, ...],
) -> Explanation:
    """Pods of an older template explain nothing: what is wrong with them may be what was just put right."""
    found = seen.grove.scalables.get((service.kind, service.target))
    progress = explain_progress(grove.namespace, service.service, facts.settings)
    if not is_settled(grove, seen.grove):
        return explain_rollout() if found is not None else progress
    if is_refused_scaling(grove, service, seen.grove):
        remedy = "switch the setting effect_scale on"
        return Explanation(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, finding="nothing scales it", remedy=remedy)
    pods = explain_own_pods(seen.pods.get(service.service, ()), facts.now, is_rolling=_is_rolling(found))
    return choose_worst([*denied, *service.lacks, *_explain_key(plan, service), *pods]) or progress


def _explain_key(plan: GraphPlan, service: GroveService) -> tuple[Explanation, ...]:
    """The engine is the whole graph's: where it needs the SSH key, every service over several nodes does."""
    return tuple(plan.mpi_key.explain_absence()) if plan.mpi_key is not None and service.group is not None else ()


def _explain_errors(seen: Observed) -> tuple[Explanation, ...]:
    """Grove says nowhere but among its errors that pods are refused, nor of which service."""
    existing = seen.grove.pod_clique_set
    return tuple(
        Explanation(reason=NotReadyReason.QUOTA_DENIED, finding=error, remedy="raise the quota or ask for less")
        for error in (existing.errors if existing else ())
        if "exceeded quota" in error
    )


def _is_rolling(found: Scalable | None) -> bool:
    """Whether old pods are left; a PodCliqueScalingGroup counts what is not available among those not updated."""
    return found is not None and found.kind == kinds.POD_CLIQUE.kind and found.updated < found.replicas
