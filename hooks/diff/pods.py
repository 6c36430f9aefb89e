"""The pods of workloads: how many, from which template, and how they are replaced."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hooks import contract
from hooks.diff.estate import ObjectId
from hooks.diff.fields import visible
from hooks.k8s import kinds
from hooks.k8s.quantities import scale_amount
from hooks.k8s.types import Json, ReadManifest
from hooks.problems import SPEC, FieldPath, Key

_DEPLOYMENTS_SURGE = "25%"
_DEPLOYMENTS_UNAVAILABLE = "25%"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Pods of one workload that come from one template.

    `role` is empty where a workload has one template. Sets with the same `rolls_with` are replaced together. `template`
    has no defaults of the API server if the workload is native; `path` is its place in the workload. While the pods are
    replaced, `surge` pods may run beyond `count`, and `unavailable` may be missing; `is_recreated`: the new ones come
    when all old ones are gone. `graph` and `service` are empty for pods that are not of Dynamo.
    """

    workload: ObjectId
    role: str
    rolls_with: str
    count: int
    template: Mapping[str, Json]
    path: FieldPath
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
    if key.is_a(kinds.LEADER_WORKER_SET):
        return tuple(_of_groups(key, visible(workload)["spec"]))
    if key.is_a(kinds.POD_CLIQUE_SET):
        return tuple(_of_cliques(key, visible(workload)["spec"]))
    if key.is_a(kinds.DEPLOYMENT) or key.kind in {"StatefulSet", "Job"}:
        return (_of_template(key, visible(workload).get("spec") or {}),)
    return ()


def _of_template(key: ObjectId, spec: Mapping[str, Json]) -> PodSet:
    count = int(spec.get("parallelism", 1) if key.kind == kinds.JOB.kind else spec.get("replicas", 1))
    strategy: Mapping[str, Json] = (
        (spec.get("strategy") or {}) if key.is_a(kinds.DEPLOYMENT) else {"type": "OnePodAtATime"}
    )
    rolling = strategy.get("rollingUpdate") or {}
    rolls = strategy.get("type", "RollingUpdate") == "RollingUpdate"
    built = _build(key, spec.get("template") or {}, SPEC / "template", count=count)
    surge = scale_amount(rolling.get("maxSurge", _DEPLOYMENTS_SURGE), count, up=True) if rolls else 0
    missing = scale_amount(rolling.get("maxUnavailable", _DEPLOYMENTS_UNAVAILABLE), count, up=False) if rolls else 1
    is_recreated = strategy.get("type") == "Recreate"
    return replace(built, surge=surge, unavailable=missing if surge else max(1, missing), is_recreated=is_recreated)


def _of_groups(key: ObjectId, spec: Mapping[str, Json]) -> Iterator[PodSet]:
    group = spec.get("leaderWorkerTemplate") or {}
    replicas, size = int(spec.get("replicas", 1)), int(group.get("size", 1))
    rolling = (spec.get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
    surge = scale_amount(rolling.get("maxSurge", 0), replicas, up=True)
    missing = max(0 if surge else 1, scale_amount(rolling.get("maxUnavailable", 1), replicas, up=False))
    leader = "leaderTemplate" if group.get("leaderTemplate") else "workerTemplate"
    for role, field, pods in (("leader", leader, 1), ("worker", "workerTemplate", size - 1)):
        if pods:
            path = SPEC / "leaderWorkerTemplate" / field
            built = _build(key, group.get(field) or {}, path, count=replicas * pods)
            yield replace(built, surge=surge * pods, unavailable=missing * pods, role=role, rolls_with="group")


def _of_cliques(key: ObjectId, spec: Mapping[str, Json]) -> Iterator[PodSet]:
    template = spec.get("template") or {}
    groups = {
        name: group for group in template.get("podCliqueScalingGroups") or () for name in group.get("cliqueNames") or ()
    }
    priority = template.get("priorityClassName")
    for clique in template.get("cliques") or ():
        name, own = clique["name"], clique.get("spec") or {}
        group = groups.get(name)
        times = int(spec.get("replicas", 1)) * (int(group.get("replicas", 1)) if group else 1)
        made = {
            "metadata": {field: clique[field] for field in ("labels", "annotations") if clique.get(field)},
            "spec": own.get("podSpec") or {},
            **({"startsAfter": own["startsAfter"]} if own.get("startsAfter") else {}),
            **({"priorityClassName": priority} if priority else {}),
        }
        built = _build(key, made, SPEC / "template" / "cliques" / Key(name), count=int(own.get("replicas", 1)) * times)
        yield replace(built, role=name, rolls_with=f"group {group['name']}" if group else name, graph=key.name)


def _build(key: ObjectId, template: Mapping[str, Json], path: FieldPath, *, count: int) -> PodSet:
    labels = (template.get("metadata") or {}).get("labels") or {}
    return PodSet(
        workload=key,
        role="",
        rolls_with="",
        count=count,
        template=template,
        path=path,
        graph=str(labels.get(contract.LABEL_GRAPH, "")),
        service=str(labels.get(contract.LABEL_COMPONENT, "")),
    )


def place_in_object(path: FieldPath, pod_set: PodSet) -> FieldPath:
    """The place in the workload of a path in the set's template; a clique writes its template in its own way."""
    parts = path.parts
    if pod_set.workload.is_a(kinds.POD_CLIQUE_SET) and parts:
        match parts[0]:
            case "metadata":
                parts = parts[1:]
            case "spec":
                parts = ("spec", "podSpec", *parts[1:])
            case "startsAfter":
                parts = ("spec", *parts)
            case "priorityClassName":
                return SPEC / "template" / "priorityClassName"
    return FieldPath((*pod_set.path.parts, *parts))
