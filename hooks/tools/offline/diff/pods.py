"""The pods of workloads: how many, from which template, and how they are replaced."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import RolePods, makes_pods, pods_by_role, wanted_replicas
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Json, ReadManifest, gvk_of
from hooks.ground.problems import FieldPath
from hooks.tools.offline.diff.fields import visible
from hooks.wire.world.objects import ObjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Pods of one workload that come from one template.

    `role` is empty where a workload has one template. Sets with the same `rolls_with` are replaced together. `template`
    has no defaults of the API server if the workload is native; `path` is its place in the workload. While the pods are
    replaced, `surge` pods may run beyond `count`, and `unavailable` may be missing; `is_recreated`: the new ones come
    when all old ones are gone. `each` of them belong to one replica. `graph` and `service` are empty for pods that are
    not of Dynamo.
    """

    workload: ObjectId
    role: str
    rolls_with: str
    count: int
    template: Mapping[str, Json]
    path: FieldPath
    each: int = 1
    surge: int = 0
    unavailable: int = 1
    is_recreated: bool = False
    graph: str = ""
    service: str = ""

    @property
    def key(self) -> tuple[ObjectId, str]:
        """The same for the old and the new version of the set."""
        return self.workload, self.role

    @property
    def pod_spec(self) -> Mapping[str, Json]:
        """The spec of its pods."""
        found: Mapping[str, Json] = self.template.get("spec") or {}
        return found


def find_pod_sets(key: ObjectId, workload: ReadManifest) -> tuple[PodSet, ...]:
    """The sets of pods that an object makes; () if it is no workload."""
    if not makes_pods(gvk_of(workload)):
        return ()
    shown = visible(workload)
    return tuple(_build(key, pods, _read_rolling(shown)) for pods in pods_by_role(shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rolling:
    """How many replicas may run beyond the wanted ones, and how many may be missing, while pods are replaced."""

    surge: int = 0
    unavailable: int = 1
    is_recreated: bool = False


def _read_rolling(workload: ReadManifest) -> _Rolling:
    spec = workload.get("spec") or {}
    match gvk_of(workload).kind:
        case kinds.DEPLOYMENT.kind:
            return _roll_deployment(spec.get("strategy") or {}, wanted_replicas(workload))
        case kinds.LEADER_WORKER_SET.kind:
            rolling = (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
            return _roll(rolling, wanted_replicas(workload), surge=0, unavailable=1)
    return _Rolling()


def _roll_deployment(strategy: Mapping[str, Json], replicas: int) -> _Rolling:
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return _Rolling(is_recreated=strategy.get("type") == "Recreate")
    return _roll(strategy.get("rollingUpdate") or {}, replicas, surge="25%", unavailable="25%")


def _roll(rolling: Mapping[str, Json], replicas: int, *, surge: int | str, unavailable: int | str) -> _Rolling:
    """The numbers of replicas; `surge` and `unavailable` are the defaults."""
    more = scale_amount(rolling.get("maxSurge", surge), replicas, up=True)
    fewer = scale_amount(rolling.get("maxUnavailable", unavailable), replicas, up=False)
    return _Rolling(surge=more, unavailable=fewer if more else max(1, fewer))


def _build(key: ObjectId, pods: RolePods, rolling: _Rolling) -> PodSet:
    graph = key.name if key.is_a(kinds.POD_CLIQUE_SET) else pods.labels.get(contract.LABEL_GRAPH, "")
    return PodSet(
        workload=key,
        role=pods.role,
        rolls_with=pods.rolls_with,
        count=pods.wanted,
        template=pods.template,
        path=pods.path,
        each=pods.each,
        surge=rolling.surge * pods.each,
        unavailable=rolling.unavailable * pods.each,
        is_recreated=rolling.is_recreated,
        graph=str(graph),
        service=str(pods.labels.get(contract.LABEL_COMPONENT, "")),
    )
