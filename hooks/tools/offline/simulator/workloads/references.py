"""The claims, Secrets and ConfigMaps that a pod cannot start without, and the status of a pod that waits for one.

Source: Kubernetes, plugin volumebinding of the scheduler; pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables;
pkg/volume/{secret,configmap,projected}.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest


class Use(StrEnum):
    """How a pod uses an object; this decides at which stage it waits."""

    CLAIM = "claim"
    VOLUME = "volume"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Reference:
    """An object in the pod's namespace; `container` is the one whose environment needs it."""

    kind: GroupVersionKind
    name: str
    use: Use
    container: str = ""

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name}"


def find_missing(pod: Manifest, exists: Callable[[Reference], bool]) -> Reference | None:
    """The object that a pod waits for; None if all are there. Claims come first, as the scheduler looks for them."""
    references = sorted(find_references(pod["spec"]), key=lambda found: list(Use).index(found.use))
    return next((found for found in references if not exists(found)), None)


def find_references(spec: Mapping[str, Any]) -> Iterator[Reference]:
    """The objects that a pod needs, without those marked as optional; Secrets for pulling images are not needed."""
    for volume in spec.get("volumes") or ():
        yield from _of_volume(volume)
    for key in ("initContainers", "containers"):
        for container in spec.get(key) or ():
            yield from _of_environment(container)


def _of_volume(volume: Mapping[str, Any]) -> Iterator[Reference]:
    if claim := volume.get("persistentVolumeClaim"):
        yield Reference(kinds.PERSISTENT_VOLUME_CLAIM, claim["claimName"], Use.CLAIM)
    sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
    for source in sources:
        if (secret := source.get("secret")) and not secret.get("optional"):
            yield Reference(kinds.SECRET, secret.get("secretName") or secret.get("name"), Use.VOLUME)
        if (config_map := source.get("configMap")) and not config_map.get("optional"):
            yield Reference(kinds.CONFIG_MAP, config_map["name"], Use.VOLUME)


def _of_environment(container: Mapping[str, Any]) -> Iterator[Reference]:
    by_key = {"secretRef": kinds.SECRET, "configMapRef": kinds.CONFIG_MAP}
    by_key |= {"secretKeyRef": kinds.SECRET, "configMapKeyRef": kinds.CONFIG_MAP}
    sources = [*(container.get("envFrom") or ()), *(env.get("valueFrom") or {} for env in container.get("env") or ())]
    for source in sources:
        for key, kind in by_key.items():
            if (found := source.get(key)) and not found.get("optional"):
                yield Reference(kind, found["name"], Use.ENVIRONMENT, container["name"])


def why_unscheduled(missing: Reference) -> str:
    """The scheduler's message about a claim that does not exist."""
    return f'0/1 nodes are available: persistentvolumeclaim "{missing.name}" not found.'


def describe_waiting(missing: Reference, container: str) -> dict[str, str]:
    """The state `waiting` of a container of a pod that waits."""
    if missing.use is Use.ENVIRONMENT and missing.container == container:
        message = f'{missing.kind.kind.lower()} "{missing.name}" not found'
        return {"reason": "CreateContainerConfigError", "message": message}
    return {"reason": "ContainerCreating"}
