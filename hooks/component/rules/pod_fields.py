"""The fields of a component's spec that the rules about its pod read; they are the cache key of the found problems."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from hooks.component.pod.defaults import resolve_typical
from hooks.component.pod.volumes import has_shared_memory, replaces_shared_memory
from hooks.component.spec.subject import ComponentType
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ClaimMount, ComponentSpec, Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFields:
    """The fields of a spec that the rules about a pod read, by their names in the spec.

    Three fields are not in the spec. `has_shared_memory`: the main container gets `/dev/shm`.
    `replaces_shared_memory`: that replaces what the user mounts there. `default_probes` are the names of the probes
    that the main container has by default.
    """

    extra_pod_spec: Mapping[str, Json]
    envs: Iterable[Json]
    liveness_probe: Mapping[str, Json] | None
    readiness_probe: Mapping[str, Json] | None
    resources: Resources | None
    volume_mounts: tuple[ClaimMount, ...]
    component_type: str
    has_shared_memory: bool
    replaces_shared_memory: bool
    default_probes: tuple[str, ...]

    @property
    def main_container(self) -> Mapping[str, Json]:
        """`extraPodSpec.mainContainer`; {} if it is absent."""
        return self.extra_pod_spec.get("mainContainer") or {}

    @property
    def is_picker(self) -> bool:
        """Whether the pod is an endpoint picker's, which has volumes of its own."""
        return self.component_type == ComponentType.EPP


def select_pod_fields(spec: ComponentSpec) -> PodFields:
    """The fields of a spec."""
    return PodFields(
        extra_pod_spec=spec.extra_pod_spec,
        envs=spec.envs,
        liveness_probe=spec.liveness_probe,
        readiness_probe=spec.readiness_probe,
        resources=spec.resources,
        volume_mounts=spec.volume_mounts,
        component_type=spec.component_type,
        has_shared_memory=has_shared_memory(spec.shared_memory),
        replaces_shared_memory=replaces_shared_memory(spec.shared_memory),
        default_probes=tuple(resolve_typical(spec).probes),
    )


def write_pod_fields(fields: PodFields) -> bytes:
    """Write the fields as JSON, which is the cache key.

    Raises:
        orjson.JSONEncodeError: an integer has more than 64 bits, or a key is not a string; only YAML allows both.
    """
    return orjson.dumps(fields, default=vars)


def read_pod_fields(text: bytes) -> PodFields:
    """Read what `write_pod_fields` wrote."""
    raw = orjson.loads(text)
    resources, mounts = raw["resources"], raw["volume_mounts"]
    models = {
        "resources": None if resources is None else Resources.model_validate(resources),
        "volume_mounts": tuple(ClaimMount.model_validate(mount) for mount in mounts),
        "default_probes": tuple(raw["default_probes"]),
    }
    return PodFields(**{**raw, **models})
