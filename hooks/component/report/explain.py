"""Why a component is not ready: one `NotReadyReason`, from its workloads, its pods, and what its pods lack."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from hooks.component.plan.component import ComponentPlan
from hooks.component.plan.selection import explain_unselected
from hooks.component.pod.environment import ETCD_ENDPOINTS
from hooks.component.pod.template import PodPlan
from hooks.component.report.progress import Progress
from hooks.component.seen.observe import ObservedComponent
from hooks.ground import contract
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason, choose_worst
from hooks.ground.k8s.pod_reasons import explain_denial, explain_pods
from hooks.ground.k8s.pod_sets import count_running_pods
from hooks.ground.k8s.readiness import is_paused
from hooks.ground.k8s.types import ReadManifest, name_of
from hooks.ground.settings import Settings, Switch
from hooks.language.api.component_spec import ComponentSpec
from hooks.wire.metacontroller.last_applied import read_applied_spec


def explain(plan: ComponentPlan, progress: Progress, seen: ObservedComponent, now: datetime) -> Explanation:
    """Why the workloads of a component are not ready; the caller makes sure that they are not.

    Pods of an older spec do not count: the wanted spec may already correct what is wrong with them.
    """
    deployment = seen.workloads.deployment
    lasting = [one.explanation for one in progress.of_workloads if one.is_lasting]
    if progress.unselected:
        return explain_unselected(plan, progress.unselected)
    if not progress.is_current or lasting:
        return choose_worst(lasting) or _explain_change(plan, seen)
    denial = explain_denial(deployment.get("status") or {}) if deployment is not None else None
    found = [
        *([denial] if denial else []),
        *explain_missing(plan.pod),
        *(plan.mpi_key.explain_absence() if plan.mpi_key else ()),
    ]
    pods = [*explain_own_pods(seen.pods, now, is_rolling=progress.is_rolling)]
    if deployment is not None and not count_running_pods(deployment):
        # Pods are seen before the Deployment counts them; the next status has the counts and names the pod.
        pods = [one for one in pods if one.reason is not NotReadyReason.PROGRESSING]
    worst = choose_worst([*found, *pods])
    return worst if worst is not None and not hides(worst, seen.pods_fault) else _progressing(plan, seen)


def hides(found: Explanation, fault: str) -> bool:
    """Whether an explanation says less than why pods could not be read."""
    return bool(fault) and found.reason is NotReadyReason.PROGRESSING


def explain_own_pods(pods: Iterable[ReadManifest], now: datetime, *, is_rolling: bool) -> Iterator[Explanation]:
    """The explanation of the pods, or of the rollout while old pods exist; nothing if neither explains it."""
    found = explain_pods(pods, now)
    if is_rolling and (found is None or found.reason is NotReadyReason.PROGRESSING):
        yield replace(found, reason=NotReadyReason.ROLLING_OUT) if found else explain_rollout()
    elif found is not None:
        yield found


def explain_progress(
    namespace: str, service: str, settings: Settings, *, fault: str = "", reads_some: bool = False
) -> Explanation:
    """The explanation if no problem is known; if not all pods could be read (`fault`), it says how to see them."""
    if settings.explain_pods is Switch.OFF:
        fault = "the setting explain_pods is off"
    if not fault:
        return Explanation(reason=NotReadyReason.PROGRESSING)
    return Explanation(
        reason=NotReadyReason.PROGRESSING,
        finding=f"its pods are not {'all ' if reads_some else ''}read, because {fault}",
        remedy=f"see kubectl get pods -n {namespace} -l {contract.LABEL_COMPONENT}={service}",
    )


def explain_rollout() -> Explanation:
    """The explanation while pods are replaced."""
    return Explanation(reason=NotReadyReason.ROLLING_OUT, remedy="wait for the new pods")


def explain_missing(pod: PodPlan) -> Iterator[Explanation]:
    """What the pods lack: the address of etcd, if discovery uses etcd."""
    if (
        pod.subject.discovery == contract.DISCOVERY_ETCD
        and not pod.settings.etcd_address
        and not _has_address(pod.spec)
    ):
        yield Explanation(
            reason=NotReadyReason.WAITING_FOR_DEPENDENCY,
            finding="discovery uses etcd, and its address is not set",
            remedy=f"set etcd_address, or {ETCD_ENDPOINTS} in spec.envs",
        )


def _has_address(spec: ComponentSpec) -> bool:
    """Whether the user sets the address, or may set it by a whole Secret or ConfigMap."""
    main = spec.main_container
    names = {entry.get("name") for entry in (*spec.envs, *(main.get("env") or ()))}
    return ETCD_ENDPOINTS in names or bool(main.get("envFrom") or spec.env_from_secret)


def _explain_change(plan: ComponentPlan, seen: ObservedComponent) -> Explanation:
    """The explanation before the workload's controller acts on the newest spec; a paused Deployment must be resumed."""
    deployment = seen.workloads.deployment
    if plan.groups is None and deployment is not None and is_paused(deployment):
        if (read_applied_spec(deployment) or {}).get("paused"):
            remedy = f"remove the annotation {contract.ANNOTATION_ROLLOUT_PAUSED} of the graph"
            return Explanation(reason=NotReadyReason.ROLLING_OUT, remedy=remedy)
        remedy = f"resume it with kubectl rollout resume deployment/{name_of(deployment)} -n {plan.subject.namespace}"
        return Explanation(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, remedy=remedy)
    return explain_rollout() if _has_workload(seen) else _progressing(plan, seen)


def _has_workload(seen: ObservedComponent) -> bool:
    return seen.workloads.deployment is not None or bool(seen.workloads.leader_worker_sets)


def _progressing(plan: ComponentPlan, seen: ObservedComponent) -> Explanation:
    settings = plan.pod.settings
    return explain_progress(
        plan.subject.namespace, plan.subject.service, settings, fault=seen.pods_fault, reads_some=bool(seen.pods)
    )
