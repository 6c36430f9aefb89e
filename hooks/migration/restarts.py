"""How many pods a workload has, whether an update restarts them, and in which fields another template differs."""

from collections.abc import Mapping
from itertools import islice

from hooks.k8s import kinds
from hooks.k8s.differences import find_differences
from hooks.k8s.types import Json, ReadManifest, gvk_of

WORKLOADS = frozenset({kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET, kinds.POD_CLIQUE_SET})
"""Kinds with pod templates."""

_SHOWN = 3


def count_pods(workload: ReadManifest) -> int:
    """The number of pods that a workload runs, as its spec and status say."""
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    match gvk_of(workload):
        case kinds.DEPLOYMENT:
            return int(status.get("replicas") or 0)
        case kinds.LEADER_WORKER_SET:
            size = int((spec.get("leaderWorkerTemplate") or {}).get("size") or 1)
            return int(status.get("replicas") or 0) * size
        case kinds.POD_CLIQUE_SET:
            return _count_cliques(spec) * int(spec.get("replicas", 1))
        case _:
            return 0


def count_restarts(before: ReadManifest, after: ReadManifest) -> int:
    """The number of pods that an update of a workload restarts or removes."""
    if gvk_of(before) not in WORKLOADS:
        return 0
    if template_of(before) != template_of(after):
        return count_pods(before)
    lost = int((before.get("spec") or {}).get("replicas", 1)) - int((after.get("spec") or {}).get("replicas", 1))
    per_replica = count_pods(before) // max(int((before.get("spec") or {}).get("replicas", 1)), 1)
    return max(lost, 0) * per_replica


def template_of(workload: ReadManifest) -> Json:
    """The part of a workload's spec from which its pods are made; of a PodCliqueSet without the cliques' replicas."""
    spec = workload.get("spec") or {}
    if gvk_of(workload) != kinds.POD_CLIQUE_SET:
        return spec.get("template") or spec.get("leaderWorkerTemplate") or {}
    template = spec.get("template") or {}
    return {**template, "cliques": [_without_replicas(clique) for clique in template.get("cliques") or ()]}


def describe_differences(wanted: ReadManifest, live: ReadManifest) -> str:
    """The first fields in which the wanted object differs, in a few words; empty if there are none."""
    found = list(islice(find_differences({**wanted, "metadata": {}}, live), _SHOWN + 1))
    if not found:
        return ""
    shown = [str(one.path) for one in found[:_SHOWN]]
    return f"{', '.join(shown)}{' and more' if len(found) > _SHOWN else ''}"


def _without_replicas(clique: Mapping[str, Json]) -> dict[str, Json]:
    spec = {key: value for key, value in (clique.get("spec") or {}).items() if key != "replicas"}
    return {**clique, "spec": spec}


def _count_cliques(spec: Mapping[str, Json]) -> int:
    template = spec.get("template") or {}
    groups = template.get("podCliqueScalingGroups") or ()
    times = {name: int(group.get("replicas", 1)) for group in groups for name in group.get("cliqueNames") or ()}
    cliques = template.get("cliques") or ()
    return sum(int((one.get("spec") or {}).get("replicas", 1)) * times.get(one.get("name"), 1) for one in cliques)
