"""Builds the workloads that run a pod template; decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Json, Manifest, ObjectMeta, PodSpec, ReadManifest, build_manifest

RECREATE: Mapping[str, Json] = {"type": "Recreate"}
_LONG_SECONDS = 365 * 86_400
_DELAYING = frozenset({"minReadySeconds", "progressDeadlineSeconds", "paused"})
PACED_FIELDS: Mapping[str, frozenset[str]] = {
    kinds.DEPLOYMENT.kind: _DELAYING | {"strategy"},
    kinds.LEADER_WORKER_SET.kind: frozenset({"rolloutStrategy", "replicas"}),
}
"""By kind the fields of the spec that are set otherwise while a rollout is paced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadTemplate:
    """The template from which a workload creates pods."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: PodSpec

    def to_json(self) -> dict[str, Json]:
        """Write the template; it has no name, because the workload names its pods."""
        metadata: dict[str, Json] = {"labels": dict(sorted(self.labels.items()))}
        if self.annotations:
            metadata["annotations"] = dict(sorted(self.annotations.items()))
        return {"metadata": metadata, "spec": self.spec}


def rolling_update(*, max_surge: int | str, max_unavailable: int | str) -> Mapping[str, Json]:
    """Write a Deployment's strategy; both are a number of pods or a percentage such as `25%`."""
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": max_surge, "maxUnavailable": max_unavailable},
    }


def delay_availability(deployment: Manifest, strategy: Mapping[str, Json]) -> Manifest:
    """The Deployment with a strategy by which new pods serve, and never count as available: no old one ends for them.

    Old ReplicaSets keep their own `minReadySeconds`, so their pods count. None of these fields changes pods.

    Source: Kubernetes, pkg/controller/deployment/rolling.go.
    """
    spec = deployment["spec"]
    seconds = {"minReadySeconds": _LONG_SECONDS, "progressDeadlineSeconds": _LONG_SECONDS + 1}
    return {**deployment, "spec": {**spec, **seconds, "strategy": dict(strategy)}}


def pause_deployment(deployment: Manifest, live: ReadManifest) -> Manifest:
    """The Deployment whose ReplicaSets keep their sizes: it has room for all pods that the `live` one has, or wants.

    With room for fewer, its controller would take pods from all of its ReplicaSets.

    Source: Kubernetes, pkg/controller/deployment/sync.go, scale.
    """
    spec, status = deployment["spec"], live.get("status") or {}
    asked = sum(int(status.get(field) or 0) for field in ("availableReplicas", "unavailableReplicas"))
    more = max(int(status.get("replicas") or 0), asked) - spec["replicas"]
    strategy = spec["strategy"]
    if (rolling := strategy.get("rollingUpdate")) and more > 0:
        surge = max(more, scale_amount(rolling["maxSurge"], spec["replicas"], up=True))
        strategy = {**strategy, "rollingUpdate": {**rolling, "maxSurge": surge}}
    return {**deployment, "spec": {**spec, "strategy": strategy, "paused": True}}


def restore_availability(deployment: Manifest, strategy: Mapping[str, Json]) -> Manifest:
    """The Deployment as it is built, also if it is what was last applied while its availability was delayed."""
    spec = deployment["spec"]
    if "minReadySeconds" not in spec and "paused" not in spec:
        return deployment
    kept = {key: value for key, value in spec.items() if key not in _DELAYING}
    return {**deployment, "spec": {**kept, "strategy": dict(strategy)}}


def keep_groups(found: Manifest, *, kept: int, extra: int) -> Manifest:
    """The LeaderWorkerSet whose first `kept` groups keep their template, with `extra` groups more, all of the new one.

    How many of the others are replaced at once is not limited: they are those that may go.

    Source: LeaderWorkerSet, pkg/controllers/leaderworkerset_controller.go, rollingUpdateParameters. Groups more by its
    own `maxSurge` end as soon as only as many are not ready: of one group, with the old one.
    """
    spec = found["spec"]
    replicas = spec["replicas"] + extra
    rolling = {"partition": kept, "maxSurge": 0, "maxUnavailable": max(1, replicas - kept)}
    strategy = {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}
    return {**found, "spec": {**spec, "replicas": replicas, "rolloutStrategy": strategy}}


def release_groups(found: Manifest, replicas: int) -> Manifest:
    """The LeaderWorkerSet as it is built, also if it is what was last applied while it kept groups."""
    spec = found["spec"]
    if "rolloutStrategy" not in spec:
        return found
    kept = {key: value for key, value in spec.items() if key != "rolloutStrategy"}
    return {**found, "spec": {**kept, "replicas": replicas}}


def build_deployment(
    metadata: ObjectMeta,
    *,
    replicas: int,
    match_labels: Mapping[str, str],
    strategy: Mapping[str, Json],
    template: WorkloadTemplate,
) -> Manifest:
    """Build a Deployment; its selector can never change."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": dict(match_labels)},
        "strategy": dict(strategy),
        "template": template.to_json(),
    }
    return build_manifest(kinds.DEPLOYMENT, metadata, spec=spec)


def build_leader_worker_set(
    metadata: ObjectMeta, *, replicas: int, size: int, leader: WorkloadTemplate, worker: WorkloadTemplate
) -> Manifest:
    """Build a LeaderWorkerSet of so many groups: a leader and `size - 1` workers, created as soon as the leader exists.

    Source: leaderworkerset.x-k8s.io/v1 LeaderWorkerSet.
    """
    spec = {
        "replicas": replicas,
        "startupPolicy": "LeaderCreated",
        "leaderWorkerTemplate": {
            "size": size,
            "leaderTemplate": leader.to_json(),
            "workerTemplate": worker.to_json(),
        },
    }
    return build_manifest(kinds.LEADER_WORKER_SET, metadata, spec=spec)


def build_pod_group(metadata: ObjectMeta, *, min_member: int) -> Manifest:
    """Build a Volcano PodGroup: its pods are scheduled only when `min_member` of them can be scheduled together.

    No other field is set: the object has no status subresource, so the scheduler writes into the object itself.

    Source: scheduling.volcano.sh/v1beta1 PodGroup.
    """
    return build_manifest(kinds.POD_GROUP, metadata, spec={"minMember": min_member})


def build_job(
    metadata: ObjectMeta,
    *,
    template: WorkloadTemplate,
    retries: int,
    deadline_seconds: int,
    failure_rules: Sequence[Mapping[str, Json]] = (),
) -> Manifest:
    """Build a Job of one pod, created again up to `retries` times; the Job fails at its deadline.

    `failure_rules` are `podFailurePolicy` rules; the first one that matches a failed pod counts. A Job's template can
    never change.

    Source: Kubernetes API reference, batch/v1 Job.
    """
    spec: dict[str, Json] = {
        "activeDeadlineSeconds": deadline_seconds,
        "backoffLimit": retries,
        "template": template.to_json(),
    }
    if failure_rules:
        spec["podFailurePolicy"] = {"rules": [dict(rule) for rule in failure_rules]}
    return build_manifest(kinds.JOB, metadata, spec=spec)
