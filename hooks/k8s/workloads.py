"""Builds workloads around a pod template; decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.k8s import kinds
from hooks.k8s.types import Json, Manifest, ObjectMeta, PodSpec, build_manifest

RECREATE: Mapping[str, Json] = {"type": "Recreate"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """A pod as a workload makes it."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: PodSpec

    def to_json(self) -> dict[str, Json]:
        """Write the template; a pod of a workload has no name of its own."""
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


def build_deployment(
    metadata: ObjectMeta,
    *,
    replicas: int,
    match_labels: Mapping[str, str],
    strategy: Mapping[str, Json],
    template: PodTemplate,
) -> Manifest:
    """Build a Deployment; its selector can never change while the object exists."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": dict(match_labels)},
        "strategy": dict(strategy),
        "template": template.to_json(),
    }
    return build_manifest(kinds.DEPLOYMENT, metadata, spec=spec)
