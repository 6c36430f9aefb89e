"""The volumes and mounts of a component: claims, shared memory, the engine's compilation cache.

Source: Dynamo operator, internal/dynamo/graph.go, ApplyVolumeMounts and applySharedMemory.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.pod.backends import Backend
from hooks.ground import contract
from hooks.ground.k8s.hashing import short_hash
from hooks.ground.k8s.names import MAX_LABEL, fit_name, is_dns_label, to_dns_label
from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Json, VolumeMount
from hooks.language.api.component_spec import ClaimMount, ComponentSpec, SharedMemory

_CACHE_PATHS: Mapping[Backend, str] = {Backend.VLLM: contract.VLLM_CACHE_PATH}
_HASH_LENGTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumePlan:
    """Volumes of the pod and mounts of the main container, in order; `cache_path` is empty without a cache.

    `shared_memory_size` is empty without shared memory of ours, `shared_memory_name` that of its volume.
    `replaces_shared_memory`: the user sets its size, or mounts a volume there that does not exist, so it replaces a
    volume with its name, and a mount with its name or path; else it fills in what the user leaves out.
    """

    volumes: tuple[Mapping[str, Json], ...]
    mounts: tuple[VolumeMount, ...]
    cache_path: str
    shared_memory_size: str
    shared_memory_name: str
    replaces_shared_memory: bool


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
        shared_memory_size="" if _has_own_shared_memory(spec) else resolve_shared_memory(spec.shared_memory),
        shared_memory_name=_name_shared_memory(spec),
        replaces_shared_memory=replaces_shared_memory(spec.shared_memory) or find_dangling(spec) is not None,
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


def replaces_shared_memory(shared_memory: SharedMemory | None) -> bool:
    """Whether the user sets the size, so that `/dev/shm` of that size replaces what the user mounts there."""
    return shared_memory is not None and has_shared_memory(shared_memory)


def _has_own_shared_memory(spec: ComponentSpec) -> bool:
    """Whether the user's own mount is `/dev/shm`, and no mount of the pod needs our volume."""
    if spec.shared_memory is not None or find_dangling(spec) is not None:
        return False
    main, pod = spec.main_container.get("volumeMounts") or (), spec.extra_pod_spec
    others = (one for field in ("containers", "initContainers") for one in pod.get(field) or ())
    mounts = (*main, *(mount for one in others for mount in one.get("volumeMounts") or ()))
    if any(mount.get("name") == contract.SHARED_MEMORY_VOLUME for mount in mounts):
        return False
    paths = (*(mount.get("mountPath") for mount in main), *(mount.mount_point for mount in spec.volume_mounts))
    return any(map(is_shared_memory_path, paths))


def find_dangling(spec: ComponentSpec) -> int | None:
    """The index of the main container's mount at `/dev/shm` of a volume that does not exist; None for none."""
    volumes = {volume["name"] for volume in spec.extra_pod_spec.get("volumes") or ()}
    known = {contract.SHARED_MEMORY_VOLUME, *volumes, *(claim_volume(mount.name) for mount in spec.volume_mounts)}
    mounts = enumerate(spec.main_container.get("volumeMounts") or ())
    at_path = ((index, mount) for index, mount in mounts if is_shared_memory_path(mount.get("mountPath")))
    return next((index for index, mount in at_path if mount.get("name") not in known), None)


def _name_shared_memory(spec: ComponentSpec) -> str:
    """The name of the volume at `/dev/shm`, which may be the user's if it is no disk."""
    if spec.shared_memory is not None:
        return contract.SHARED_MEMORY_VOLUME
    users = {volume["name"]: volume for volume in spec.extra_pod_spec.get("volumes") or ()}
    claims: dict[str, Json] = {claim_volume(mount.name): {} for mount in spec.volume_mounts}
    found = {**claims, **users}.get(contract.SHARED_MEMORY_VOLUME)
    is_free = found is None or "emptyDir" in found
    return contract.SHARED_MEMORY_VOLUME if is_free else f"{contract.SHARED_MEMORY_VOLUME}-default"


def is_shared_memory_path(path: Json) -> bool:
    """Whether a path is that of shared memory."""
    return str(path).rstrip("/") == contract.SHARED_MEMORY_PATH


def is_shared_memory(mount: Mapping[str, Json]) -> bool:
    """Whether a mount has the name or the path of shared memory."""
    return mount.get("name") == contract.SHARED_MEMORY_VOLUME or is_shared_memory_path(mount.get("mountPath"))


def shared_memory_volume(name: str, size: str) -> Mapping[str, Json]:
    """Build the volume for `/dev/shm`."""
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def _cache_path(spec: ComponentSpec, backend: Backend) -> str:
    """The path of vLLM's compilation cache; empty for other engines, which have no variable for it."""
    if backend is not Backend.VLLM:
        return ""
    return next((mount_path(mount, backend) for mount in spec.volume_mounts if mount.use_as_compilation_cache), "")
