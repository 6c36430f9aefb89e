"""Why services of a graph under Grove are not ready: one `NotReadyReason` each, from their pods and their dependencies.

On the other path each component explains itself.
"""

from collections.abc import Iterable, Iterator, Mapping

from hooks.component.report.explain import explain_own_pods, explain_progress, explain_rollout, hides
from hooks.graph.grove.plan import GrovePlan
from hooks.graph.grove.progress import is_scaling_off
from hooks.graph.grove.service import GroveService
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.report.gates import explain_gate
from hooks.graph.report.progress import GraphProgress
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import ON_DELETE
from hooks.ground.k8s.grove_parts import LABEL_GROUP, LABEL_POD_CLIQUE, LABEL_TEMPLATE_HASH, Scalable, find_cause
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.ground.k8s.pod_reasons import explain_refusal, is_refusal
from hooks.ground.settings.facts import Facts


def explain_services(
    plan: GraphPlan, seen: ObservedGraph, progress: GraphProgress, facts: Facts
) -> Mapping[str, Explanation]:
    """By service, why it is not ready; {} for a graph of components."""
    if plan.grove is None or progress.grove is None:
        return {}
    unready = [service for service in plan.grove.services if service.service in progress.unready]
    if not progress.grove.is_settled:
        return {service.service: _explain_change(plan.grove, service, seen, facts) for service in unready}
    denied = _explain_errors(seen.grove.pod_clique_set.errors if seen.grove.pod_clique_set else ())
    return {s.service: _explain(plan, plan.grove, s, seen, facts=facts, denied=tuple(denied)) for s in unready}


def _explain_change(grove: GrovePlan, service: GroveService, seen: ObservedGraph, facts: Facts) -> Explanation:
    """While Grove has not processed the wanted spec, pods explain nothing: the new spec may fix their problem."""
    is_made = (service.kind, service.target) in seen.grove.scalables
    return explain_rollout() if is_made else explain_progress(grove.namespace, service.service, facts.settings)


def _explain(
    plan: GraphPlan,
    grove: GrovePlan,
    service: GroveService,
    seen: ObservedGraph,
    *,
    facts: Facts,
    denied: tuple[Explanation, ...],
) -> Explanation:
    found = seen.grove.scalables.get((service.kind, service.target))
    if is_scaling_off(grove, service, seen.grove):
        remedy = "switch the setting effect_scale on"
        return Explanation(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, finding="nothing scales it", remedy=remedy)
    if found is not None and found.unprocessed and found.kind == kinds.POD_CLIQUE.kind:
        return _explain_change(grove, service, seen, facts)  # a group replaces one replica after another
    pods, fault = seen.pods.get(service.service, ()), seen.pod_faults.get(service.service, "")
    of_pods = explain_own_pods(pods, facts.now, is_rolling=_is_rolling(found))
    of_part = _explain_part(grove, found) if found is not None else ()
    worst = choose_worst([*denied, *of_part, *service.missing_dependencies, *_explain_key(plan, service), *of_pods])
    if worst is not None and not hides(worst, fault):
        return explain_gate(worst, pods, service, seen=seen.grove, services=grove.services)
    return explain_progress(grove.namespace, service.service, facts.settings, fault=fault, reads_some=bool(pods))


def _explain_key(plan: GraphPlan, service: GroveService) -> tuple[Explanation, ...]:
    """All services have one engine: if it needs the SSH key, every service over several nodes does."""
    return tuple(plan.mpi_key.explain_absence()) if plan.mpi_key is not None and service.group is not None else ()


def _explain_errors(errors: Iterable[str]) -> Iterator[Explanation]:
    """Grove reports refused pods among its errors, each wrapped in what it was doing."""
    return (explain_refusal(cause) for cause in map(find_cause, errors) if is_refusal(cause))


def _explain_part(grove: GrovePlan, found: Scalable) -> Iterator[Explanation]:
    """Why a part stands still: pods that are refused, old ones that users are to delete, an update without an end."""
    yield from _explain_errors(found.errors)
    if found.is_stuck:
        yield Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=f"it was scaled in during its update, and Grove waits for {found.selected} new pods",
            remedy=f"set its replicas to {found.selected} until the update has ended",
        )
    strategy = (grove.pod_clique_set["spec"].get("updateStrategy") or {}).get("type")
    if strategy == ON_DELETE and found.updated < found.replicas <= found.available:
        is_clique = found.kind == kinds.POD_CLIQUE.kind
        old = f",{LABEL_TEMPLATE_HASH} notin ({found.template_hash})" if found.template_hash else ""
        labels = f"{LABEL_POD_CLIQUE if is_clique else LABEL_GROUP}={found.name}{old}"
        yield Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding=f"its old pods run, and by the update strategy {ON_DELETE} nothing replaces them",
            remedy=f"delete the old pods: kubectl delete pods -n {grove.namespace} -l '{labels}'",
        )


def _is_rolling(found: Scalable | None) -> bool:
    """Whether old pods are left. A PodCliqueScalingGroup cannot say: it counts unavailable replicas as not updated."""
    if found is None or found.unprocessed or found.unfinished:
        return found is not None
    return found.kind == kinds.POD_CLIQUE.kind and found.updated < found.replicas
