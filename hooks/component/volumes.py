"""The volumes and mounts of a component: claims, shared memory, the engine's compilation cache.

Source: Dynamo operator, internal/dynamo/graph.go, ApplyVolumeMounts and applySharedMemory.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks import contract
from hooks.api.component_spec import ClaimMount, ComponentSpec, SharedMemory
from hooks.component.backends import Backend
from hooks.k8s.hashing import short_hash
from hooks.k8s.names import MAX_LABEL, fit_name, is_dns_label, to_dns_label
from hooks.k8s.quantities import canonical_quantity
from hooks.k8s.types import Json, VolumeMount

_CACHE_PATHS: Mapping[Backend, str] = {Backend.VLLM: contract.VLLM_CACHE_PATH}
_HASH_LENGTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePlan:
    """Volumes of the pod and mounts of the main container, in order; `cache_path` is empty without a cache.

    `shared_memory_size` is empty without shared memory. Shared memory replaces a volume with its name, and a mount with
    its name or path.
    """

    volumes: tuple[Mapping[str, Json], ...]
    mounts: tuple[VolumeMount, ...]
    cache_path: str
    shared_memory_size: str


def plan_volumes(spec: ComponentSpec, backend: Backend) -> VolumePlan:
    """Plan the volumes of a spec without problems; several mounts of one claim share one volume.

    A mount may also name a volume of `extraPodSpec`, whatever its source, which then replaces that of the claim. The Go
    operator from 1.0 on converts mounts of the main container in `v1beta1` to that.

    Source: Dynamo operator 1.5, api/v1alpha1/shared_spec_conversion.go, restoreFlatVolumeMountsFromMain.
    """
    claims = dict.fromkeys(mount.name for mount in spec.volume_mounts)
    return VolumePlan(
        volumes=tuple({"name": claim_volume(claim), "persistentVolumeClaim": {"claimName": claim}} for claim in claims),
        mounts=tuple(
            {"name": claim_volume(mount.name), "mountPath": mount_path(mount, backend)} for mount in spec.volume_mounts
        ),
        cache_path=_cache_path(spec, backend),
        shared_memory_size=resolve_shared_memory(spec.shared_memory),
    )


def mount_path(mount: ClaimMount, backend: Backend) -> str:
    """The path at which a claim is mounted; empty if neither the user nor the engine sets one."""
    default = _CACHE_PATHS.get(backend, "") if mount.use_as_compilation_cache else ""
    return mount.mount_point or default


def claim_volume(claim: str) -> str:
    """Name of a claim's volume: the claim's name if a volume can have it, otherwise one with a hash.

    A claim's name may contain dots and have 253 characters. A volume's name is a DNS label.
    """
    if is_dns_label(claim):
        return claim
    return f"{fit_name(to_dns_label(claim), MAX_LABEL - _HASH_LENGTH - 1)}-{short_hash(claim, _HASH_LENGTH)}"


def resolve_shared_memory(shared_memory: SharedMemory | None) -> str:
    """Size of `/dev/shm` as a canonical quantity: 8Gi if the spec does not set it, empty if it is disabled."""
    if shared_memory is None:
        return contract.SHARED_MEMORY_SIZE
    return "" if shared_memory.disabled else canonical_quantity(str(shared_memory.size))


def has_shared_memory(shared_memory: SharedMemory | None) -> bool:
    """Whether the main container gets `/dev/shm`, of any size."""
    return shared_memory is None or not shared_memory.disabled


def is_shared_memory(mount: Mapping[str, Json]) -> bool:
    """Whether a mount has the name or the path of shared memory."""
    return mount.get("name") == contract.SHARED_MEMORY_VOLUME or mount.get("mountPath") == contract.SHARED_MEMORY_PATH


def shared_memory_volume(size: str) -> Mapping[str, Json]:
    """Build the volume for `/dev/shm`."""
    return {"name": contract.SHARED_MEMORY_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def _cache_path(spec: ComponentSpec, backend: Backend) -> str:
    """The path of vLLM's compilation cache; empty for other engines, which have no variable for it."""
    if backend is not Backend.VLLM:
        return ""
    return next((mount_path(mount, backend) for mount in spec.volume_mounts if mount.use_as_compilation_cache), "")
