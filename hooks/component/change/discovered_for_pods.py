"""Decides which workloads of a component keep their pods' earlier account and Secrets: those with the same template."""

from collections.abc import Mapping
from dataclasses import replace

from hooks.component.build import build_component
from hooks.component.plan.component import ComponentPlan
from hooks.component.report.progress import LABEL_SET
from hooks.component.seen.discovered import Discovered, is_needed, parse_discovered, read_annotation, write_annotation
from hooks.component.seen.observe import ObservedComponent
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_reasons import cannot_pull
from hooks.ground.k8s.pod_sets import template_of
from hooks.ground.k8s.readiness import has_ready_pods
from hooks.ground.k8s.types import ReadManifest, annotations_of, is_deleting, labels_of, name_of
from hooks.ground.settings import Switch
from hooks.wire.metacontroller.last_applied import read_last_applied


def keep_discovered(plan: ComponentPlan, seen: ObservedComponent) -> ComponentPlan:
    """The plan with what its workloads keep of an earlier discovery; a template that changes anyway keeps nothing.

    Raises:
        InvalidSpec: a pod cannot be built from what the user wrote.
    """
    found, drifted = plan.pod.discovered, _find_drifted(plan, seen)
    applied = {name: _read_applied(live) for name, live in drifted.items()}
    earlier = {name: _read_kept(manifest).within(found) for name, manifest in applied.items()}
    earlier = {name: kept for name, kept in earlier.items() if kept != found}
    if not earlier:
        return plan
    built = {name_of(workload): workload for workload in build_component(replace(plan, kept=earlier)).workloads}
    kept = {
        name: kept
        for name, kept in earlier.items()
        if template_of(built[name]) == template_of(applied[name]) and not _is_needed(kept, drifted[name], plan, seen)
    }
    notes = tuple(f"{name} keeps {was} until its pods change, found {found}" for name, was in sorted(kept.items()))
    return replace(plan, kept=kept, notes=(*plan.notes, *notes))


def find_needing(plan: ComponentPlan, seen: ObservedComponent) -> frozenset[str]:
    """The workloads, by name, whose pods need what is found now, although that restarts them."""
    found, drifted = plan.pod.discovered, _find_drifted(plan, seen)
    earlier = {name: _read_kept(_read_applied(live)).within(found) for name, live in drifted.items()}
    return frozenset(
        name for name, kept in earlier.items() if kept != found and _is_needed(kept, drifted[name], plan, seen)
    )


def _find_drifted(plan: ComponentPlan, seen: ObservedComponent) -> Mapping[str, ReadManifest]:
    """Workloads, by name, whose annotation differs from what is found now; only these can keep something."""
    workloads = seen.workloads
    if plan.groups is None:
        live = [workloads.deployment] if workloads.deployment is not None else []
    else:
        live = [
            workloads.leader_worker_sets[name] for name in plan.groups.names if name in workloads.leader_worker_sets
        ]
    said = write_annotation(plan.pod.discovered.to_json()).get(contract.ANNOTATION_DISCOVERED)
    return {
        name_of(workload): workload
        for workload in live
        if not is_deleting(workload) and annotations_of(workload).get(contract.ANNOTATION_DISCOVERED) != said
    }


def _read_applied(live: ReadManifest) -> ReadManifest:
    """The workload as it was last applied, without later changes by others; empty if it has no such annotation."""
    return read_last_applied(live) or {"metadata": {}, "spec": {}}


def _read_kept(applied: ReadManifest) -> Discovered:
    return parse_discovered(read_annotation(annotations_of(applied).get(contract.ANNOTATION_DISCOVERED)))


def _is_needed(kept: Discovered, live: ReadManifest, plan: ComponentPlan, seen: ObservedComponent) -> bool:
    is_group = live["kind"] == kinds.LEADER_WORKER_SET.kind
    pods = [pod for pod in seen.pods if not is_group or labels_of(pod).get(LABEL_SET) == name_of(live)]
    serves, are_read = has_ready_pods(live), plan.pod.settings.explain_pods is Switch.ON
    return is_needed(
        plan.pod.discovered,
        kept,
        accounts=seen.accounts,
        serves=serves,
        lacks_images=cannot_pull(pods) if are_read else not serves,
    )
