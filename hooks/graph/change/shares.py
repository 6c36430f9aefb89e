"""How far the pods of a graph's workers have come from one generation to the next, each worker's share.

`workers/phases` has the table that says from a workload which of its pods are of the old generation. Where pods were
read, each says for itself.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from hooks.component.report.progress import has_ended, suffix_of
from hooks.component.spec.projection import with_suffix
from hooks.component.spec.subject import ComponentType
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.spec.components import GraphServicePlan
from hooks.graph.spec.envs import find_env
from hooks.graph.workers.phases import Fact, OldPods, find_old_pods
from hooks.ground import contract
from hooks.ground.k8s.conditions import is_pod_ready
from hooks.ground.k8s.grove_parts import Scalable
from hooks.ground.k8s.types import Json, ReadManifest

REGISTERS_IN = "runtimeNamespace"
"""Field of a service's status: the Dynamo namespace in which its workers register."""


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


def find_rolling(plan: GraphPlan, before: Mapping[str, Json]) -> frozenset[str]:
    """The workers whose status (`before`) names another Dynamo namespace than that of their newest pods."""
    said = before.get("services")
    entries = said if isinstance(said, Mapping) else {}

    def is_rolling(service: str) -> bool:
        entry = entries.get(service)
        last = entry.get(REGISTERS_IN) if isinstance(entry, Mapping) else None
        return bool(last) and last != plan.projections[service][REGISTERS_IN]

    return frozenset(one.service for one in _workers(plan) if is_rolling(one.service))


def _workers(plan: GraphPlan) -> Iterator[GraphServicePlan]:
    return (one for one in plan.components if ComponentType.of(str(one.spec.get("componentType") or "")).is_worker)


def _measure_components(plan: GraphPlan, seen: ObservedGraph) -> Iterator[tuple[str, Share]]:
    for one in _workers(plan):
        component = seen.components.get(one.name)
        if component is not None and not component.is_deleting:
            yield one.service, _share_of_component(plan, one, component)


def _share_of_component(plan: GraphPlan, one: GraphServicePlan, component: ChildComponent) -> Share:
    is_at, there = component.service.get(REGISTERS_IN), plan.projections[one.service][REGISTERS_IN]
    replicas, updated = _count(component, "replicas"), _count(component, "updatedReplicas")
    is_there = not is_at or is_at == there
    facts = (
        (Fact.THERE, is_there),
        (Fact.UNWRITTEN, not is_there and variable_of(component.spec) != variable_of(one.spec)),
        (Fact.UNSEEN, component.observed_generation < component.generation),
        (Fact.COUNTED, updated < replicas),
        (Fact.SETTLED, component.is_settled),
    )
    return _build_share(
        {fact for fact, is_so in facts if is_so},
        wanted=int(one.spec.get("replicas", 1)),
        replicas=replicas,
        updated=updated,
        ready=_count(component, "readyReplicas"),
        namespace=str(is_at),
    )


def _build_share(
    facts: Collection[Fact], *, wanted: int, replicas: int, updated: int, ready: int, namespace: str
) -> Share:
    """The share of a worker with so many pods, of which so many are updated, so many ready."""
    found = find_old_pods(facts.__contains__)
    match found:
        case OldPods.NONE | OldPods.ENDING:
            old = 0
        case OldPods.NOT_UPDATED:
            old = replicas - updated
        case OldPods.ALL:
            old = replicas
        case _:
            assert_never(found)
    is_left = found is not OldPods.NONE
    return Share(wanted=wanted, new=max(0, ready - old), old=old, namespace=namespace if is_left else "")


def variable_of(spec: Mapping[str, Json]) -> str:
    """The generation in the variables of a component's spec, empty for none."""
    main = (spec.get("extraPodSpec") or {}).get("mainContainer") or {}
    found = find_env([*(main.get("env") or ()), *(spec.get("envs") or ())], contract.WORKER_SUFFIX)
    return str((found or {}).get("value") or "")


def _count(component: ChildComponent, field: str) -> int:
    return int(component.service.get(field) or 0)


def _measure_grove(plan: GraphPlan, seen: ObservedGraph, before: Mapping[str, Json]) -> Iterator[tuple[str, Share]]:
    """The shares by the pods, or by what Grove counts where pods are not read."""
    workers, services = {one.service for one in _workers(plan)}, plan.grove.services if plan.grove else ()
    for service in (one for one in services if one.service in workers):
        scalable = seen.grove.scalables.get((service.kind, service.target))
        wanted = str(plan.projections[service.service][REGISTERS_IN])
        pods = [pod for pod in seen.pods.get(service.service, ()) if _tells(pod)]
        if pods and seen.knows_pods(service.service):
            yield service.service, _share_of_pods(wanted, pods)
        elif scalable is not None:
            said = before.get(service.service)
            last = str(said.get(REGISTERS_IN) or "") if isinstance(said, Mapping) else ""
            is_current = seen.grove.is_processed(scalable)
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
    facts = (
        (Fact.THERE, not last or last == wanted),
        (Fact.NOBODY_LEFT, left <= 0 and is_known),
        (Fact.UNSEEN, not is_current),
        (Fact.COUNTED, is_current),
    )
    return _build_share(
        {fact for fact, is_so in facts if is_so},
        wanted=scalable.desired,
        replicas=scalable.replicas,
        updated=scalable.updated,
        ready=scalable.available,
        namespace=last,
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
