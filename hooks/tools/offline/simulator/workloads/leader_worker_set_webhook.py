"""Defaults and refusals of LeaderWorkerSet's CRD and webhooks.

Source: LeaderWorkerSet v0.10, pkg/webhooks/leaderworkerset_webhook.go.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hooks.ground.k8s.types import Json, Manifest
from hooks.tools.offline.simulator.store import ApiError

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_PERCENT = re.compile(r"(100|[0-9]{1,2})%")
_MAX_PODS = 2**31 - 1


def admit_leader_worker_set(new: Manifest, old: Manifest | None) -> Manifest:
    """The set with the defaults of CRD and webhook.

    Raises:
        ApiError: 422, with all problems.
    """
    spec = new["spec"]
    group = {"size": 1, "restartPolicy": "RecreateGroupOnPodRestart", **spec["leaderWorkerTemplate"]}
    rollout = spec.get("rolloutStrategy") or {}
    rolling = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0, **(rollout.get("rollingUpdateConfiguration") or {})}
    completed = {
        "replicas": 1,
        "startupPolicy": "LeaderCreated",
        **spec,
        "leaderWorkerTemplate": group,
        "rolloutStrategy": {"type": "RollingUpdate", **rollout, "rollingUpdateConfiguration": rolling},
        "networkConfig": {"subdomainPolicy": "Shared", **(spec.get("networkConfig") or {})},
    }
    faults = [*_find_faults(new["metadata"]["name"], completed), *_find_changes(completed, old)]
    if faults:
        text = f'admission webhook "vleaderworkerset.kb.io" denied the request: {"; ".join(faults)}'
        raise ApiError(422, "Invalid", f"LeaderWorkerSet {new['metadata']['name']}: {text}")
    return {**new, "spec": completed}


def _find_faults(name: str, spec: Mapping[str, Any]) -> Iterator[str]:
    replicas, size = spec["replicas"], spec["leaderWorkerTemplate"]["size"]
    if _LABEL_1035.fullmatch(name) is None:
        yield f"metadata.name: Invalid value: {name!r}: a DNS-1035 label must start with an alphabetic character"
    if replicas < 0:
        yield f"spec.replicas: Invalid value: {replicas}: replicas must be equal or greater than 0"
    if size < 1:
        yield f"spec.leaderWorkerTemplate.size: Invalid value: {size}: size must be equal or greater than 1"
    if replicas * size > _MAX_PODS:
        yield f"spec.replicas: Invalid value: {replicas}: the product of replicas and size must not exceed {_MAX_PODS}"
    rolling = spec["rolloutStrategy"]["rollingUpdateConfiguration"]
    for field in ("maxUnavailable", "maxSurge"):
        if not _is_amount(rolling[field]):
            yield f"spec.rolloutStrategy.rollingUpdateConfiguration.{field}: Invalid value: {rolling[field]!r}"
    if replicas > 0 and all(rolling[field] in {0, "0%"} for field in ("maxUnavailable", "maxSurge")):
        yield "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable: must not be 0 when `maxSurge` is 0"
    if rolling["partition"] < 0:
        yield "spec.rolloutStrategy.rollingUpdateConfiguration.partition: must be equal or greater than 0"


def _find_changes(spec: Mapping[str, Any], old: Manifest | None) -> Iterator[str]:
    """Changes of immutable fields; `size` may change since version 0.7."""
    if old is None:
        return
    policies = [found["leaderWorkerTemplate"].get("subGroupPolicy") or {} for found in (spec, old["spec"])]
    if policies[0].get("subGroupSize") != policies[1].get("subGroupSize"):
        yield "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize: field is immutable"


def _is_amount(value: Json) -> bool:
    return value >= 0 if isinstance(value, int) else _PERCENT.fullmatch(str(value)) is not None
