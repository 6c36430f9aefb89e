"""The rollout of a graph's workers from one generation to the next: what is left of the old one, in figures and words.

It lasts from the change until the last pod of the old generation is gone; for so long the status names the old Dynamo
namespace. All workers of a graph go on together, as their clients expect.

Source: Dynamo operator 1.5, internal/controller/dgd_worker_rollout_reconciler.go and internal/dynamo/grove.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.component.report.progress import has_ended, suffix_of
from hooks.component.spec.projection import with_suffix
from hooks.component.spec.subject import ComponentType
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.spec.components import GraphServicePlan
from hooks.graph.spec.envs import find_env
from hooks.ground import contract
from hooks.ground.k8s.conditions import format_time, is_pod_ready
from hooks.ground.k8s.grove import Scalable
from hooks.ground.k8s.types import Json, ReadManifest

ROLLING_UPDATE = "rollingUpdate"
IN_PROGRESS = "InProgress"
_REGISTERS_IN = "runtimeNamespace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The pods or replicas of one service: `wanted`, ready ones of the `new` generation, and those of the `old` one.

    `namespace` is the old Dynamo namespace, empty if nothing of it is left.
    """

    wanted: int
    new: int
    old: int
    namespace: str


def find_rollout(plan: GraphPlan, seen: ObservedGraph, before: Mapping[str, Json]) -> dict[str, Share]:
    """The shares of all workers while something of an old generation is left; {} otherwise. `before` is the status."""
    said = before.get("services")
    entries = said if isinstance(said, Mapping) else {}
    shares = dict(_measure_grove(plan, seen, entries) if plan.grove is not None else _measure_components(plan, seen))
    return shares if any(one.namespace for one in shares.values()) else {}


def name_namespaces(shares: Mapping[str, Share]) -> dict[str, Mapping[str, Json]]:
    """By service the Dynamo namespace to report meanwhile: the same for all workers."""
    old = min((one.namespace for one in shares.values() if one.namespace), default="")
    return {service: {_REGISTERS_IN: one.namespace or old} for service, one in shares.items()}


def report_rollout(shares: Mapping[str, Share], before: Mapping[str, Json], now: datetime) -> dict[str, Json]:
    """`status.rollingUpdate`, {} if nothing rolls: a planner scales nothing while it has a phase."""
    if not shares:
        return {}
    last = before.get(ROLLING_UPDATE)
    began = last.get("startTime") if isinstance(last, Mapping) else None
    done = sorted(service for service, one in shares.items() if not one.namespace and one.new >= one.wanted)
    return {
        ROLLING_UPDATE: {
            "phase": IN_PROGRESS,
            "startTime": began if isinstance(began, str) else format_time(now),
            **({"updatedServices": done} if done else {}),
        }
    }


def describe_rollout(shares: Mapping[str, Share]) -> str:
    """`new generation: 3 of 8 ready; old: 5`, empty if nothing rolls."""
    if not shares:
        return ""
    new, wanted, old = (sum(getattr(one, field) for one in shares.values()) for field in ("new", "wanted", "old"))
    return f"new generation: {new} of {wanted} ready; old: {old}"


def _workers(plan: GraphPlan) -> Iterator[GraphServicePlan]:
    return (one for one in plan.components if ComponentType.of(str(one.spec.get("componentType") or "")).is_worker)


def _measure_components(plan: GraphPlan, seen: ObservedGraph) -> Iterator[tuple[str, Share]]:
    for one in _workers(plan):
        component = seen.components.get(one.name)
        if component is None or component.is_deleting:
            continue
        wanted, is_at = plan.projections[one.service][_REGISTERS_IN], component.service.get(_REGISTERS_IN)
        replicas, ready = int(one.spec.get("replicas", 1)), _count(component, "readyReplicas")
        if not is_at or is_at == wanted:
            yield one.service, Share(wanted=replicas, new=ready, old=0, namespace="")
            continue
        is_applied = _variable_of(component.spec) == _variable_of(one.spec)
        old = _count_old(component) if is_applied else _count(component, "replicas")
        yield one.service, Share(wanted=replicas, new=max(0, ready - old), old=old, namespace=str(is_at))


def _variable_of(spec: Mapping[str, Json]) -> str:
    """The generation in the variables of a component's spec, empty for none."""
    main = (spec.get("extraPodSpec") or {}).get("mainContainer") or {}
    found = find_env([*(main.get("env") or ()), *(spec.get("envs") or ())], contract.WORKER_SUFFIX)
    return str((found or {}).get("value") or "")


def _count_old(component: ChildComponent) -> int:
    """The replicas of an older spec; all of them until the status is about the newest one."""
    replicas, updated = _count(component, "replicas"), _count(component, "updatedReplicas")
    if component.observed_generation < component.generation:
        return replicas
    return replicas - updated if updated < replicas else 0 if component.is_settled else replicas


def find_rolling(plan: GraphPlan, before: Mapping[str, Json]) -> frozenset[str]:
    """The workers whose status (`before`) names another Dynamo namespace than that of their newest pods."""
    said = before.get("services")
    entries = said if isinstance(said, Mapping) else {}

    def is_rolling(service: str) -> bool:
        entry = entries.get(service)
        last = entry.get(_REGISTERS_IN) if isinstance(entry, Mapping) else None
        return bool(last) and last != plan.projections[service][_REGISTERS_IN]

    return frozenset(one.service for one in _workers(plan) if is_rolling(one.service))


def _count(component: ChildComponent, field: str) -> int:
    return int(component.service.get(field) or 0)


def _measure_grove(plan: GraphPlan, seen: ObservedGraph, before: Mapping[str, Json]) -> Iterator[tuple[str, Share]]:
    """The shares by the pods, or by what Grove counts where pods are not read."""
    workers, services = {one.service for one in _workers(plan)}, plan.grove.services if plan.grove else ()
    for service in (one for one in services if one.service in workers):
        scalable = seen.grove.scalables.get((service.kind, service.target))
        wanted = str(plan.projections[service.service][_REGISTERS_IN])
        pods = [pod for pod in seen.pods.get(service.service, ()) if _tells(pod)]
        if pods and seen.knows_pods(service.service):
            yield service.service, _share_of_pods(wanted, pods)
        elif scalable is not None:
            said = before.get(service.service)
            last = str(said.get(_REGISTERS_IN) or "") if isinstance(said, Mapping) else ""
            is_current = seen.grove.pod_clique_set is not None and not seen.grove.pod_clique_set.unprocessed
            is_known = seen.knows_pods(service.service)
            yield service.service, _share_of_parts(wanted, scalable, last, is_current=is_current, is_known=is_known)


def _share_of_pods(wanted: str, pods: Iterable[ReadManifest]) -> Share:
    """The share by single pods: each says by its variables where it registers."""
    new, ready, old = 0, 0, set[str]()
    left = 0
    for pod in pods:
        variables = _variables_of(pod)
        namespace = with_suffix(variables.get("DYN_NAMESPACE", ""), suffix_of(pod.get("spec") or {}))
        if namespace == wanted:
            new, ready = new + 1, ready + is_pod_ready(pod)
        else:
            left, old = left + 1, old | {namespace}
    return Share(wanted=max(new, left), new=ready, old=left, namespace=min(old, default=""))


def _share_of_parts(wanted: str, scalable: Scalable, last: str, *, is_current: bool, is_known: bool) -> Share:
    """The share by what Grove counts; pods that end are not counted, so without knowing them the old one stays."""
    left = scalable.replicas - scalable.updated if is_current else scalable.replicas
    is_old = bool(last) and last != wanted and (left > 0 or not is_known)
    old = left if is_old else 0
    return Share(
        wanted=scalable.desired,
        new=max(0, scalable.available - old),
        old=old,
        namespace=last if is_old else "",
    )


def _tells(pod: ReadManifest) -> bool:
    """Whether a pod runs, or ends, and says where it registers."""
    return not has_ended(pod) and bool(_variables_of(pod).get("DYN_NAMESPACE"))


def _variables_of(pod: ReadManifest) -> dict[str, str]:
    containers = (pod.get("spec") or {}).get("containers") or ()
    return {
        str(entry.get("name")): str(entry.get("value") or "")
        for container in containers
        for entry in container.get("env") or ()
    }
