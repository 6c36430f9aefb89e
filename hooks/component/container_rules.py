"""What the API server refuses in the containers of a pod template, told before anything is applied.

A field of which our own pod takes nothing, as another stands in its place, is not judged. Each rule was tried on
kube-apiserver 1.36.

Source: Kubernetes, pkg/apis/core/validation/validation.go.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks import contract
from hooks.api.component_spec import ComponentSpec
from hooks.component.defaults.epp import CONFIG_VOLUME
from hooks.component.resources import find_resource_problems
from hooks.component.subject import ComponentType
from hooks.component.volumes import claim_volume, has_shared_memory, is_shared_memory
from hooks.identity import MPI_SECRET_SUFFIX
from hooks.k8s.names import is_port_name
from hooks.k8s.quantities import is_negative
from hooks.k8s.types import Json

_ENV_NAME = re.compile(r"[ -<>-~]+")
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class _Place:
    """A container and where it stands."""

    path: str
    container: Mapping[str, Json]


def validate_containers(spec: ComponentSpec, path: str) -> Iterator[str]:
    """All problems of containers and volumes whose shapes are right."""
    pod, at = spec.extra_pod_spec, f"{path}.extraPodSpec"
    main = _Place(f"{at}.mainContainer", spec.main_container)
    others = [
        _Place(f"{at}.{field}[{index}]", container)
        for field in ("containers", "initContainers")
        for index, container in enumerate(pod.get(field) or ())
    ]
    volumes = _volume_names(spec)
    for place in (main, *others):
        if not place.container.get("image"):
            yield f"{place.path}.image: is required; nothing else names the image"
        yield from _ports(place)
        yield from _mounts(place, volumes, shared=place is main and has_shared_memory(spec.shared_memory))
    yield from find_env_problems(_last_ones({f"{main.path}.env": main.container.get("env"), f"{path}.envs": spec.envs}))
    yield from find_resource_problems(main.container, main.path, over=spec.resources, path=path)
    for place in others:
        yield from find_env_problems(_entries(place.container.get("env"), f"{place.path}.env"))
        yield from find_resource_problems(place.container, place.path)
    yield from _volume_sizes(pod.get("volumes") or (), f"{at}.volumes")


def find_env_problems(entries: Iterable[tuple[str, Json]]) -> Iterator[str]:
    """Problems of environment variables, each with its path."""
    for path, entry in entries:
        name, source = entry["name"], entry.get("valueFrom")
        if _ENV_NAME.fullmatch(name) is None:
            yield f"{path}.name: {name!r} is no name of a variable; use printable ASCII characters other than '='"
        if source is None:
            continue
        if entry.get("value"):
            yield f"{path}.valueFrom: {name} has a value too; give one of value and valueFrom"
        elif sum(part is not None for part in source.values()) != 1:
            yield f"{path}.valueFrom: must have exactly one source, such as secretKeyRef or fieldRef"


def _entries(env: Iterable[Json] | None, path: str) -> list[tuple[str, Json]]:
    return [(f"{path}[{index}]", entry) for index, entry in enumerate(env or ())]


def _last_ones(lists: Mapping[str, Iterable[Json] | None]) -> list[tuple[str, Json]]:
    """The entries that count: of one name, the last one of the last list alone."""
    found = [located for path, env in lists.items() for located in _entries(env, path)]
    return list({entry["name"]: (path, entry) for path, entry in found}.values())


def _ports(place: _Place) -> Iterator[str]:
    ports = place.container.get("ports") or ()
    uses = Counter(port["name"] for port in ports if port.get("name") and isinstance(port["name"], str))
    for index, port in enumerate(ports):
        at, name = f"{place.path}.ports[{index}]", port.get("name")
        if not _is_port(port.get("containerPort")):
            yield f"{at}.containerPort: must be a number from 1 to {_MAX_PORT}"
        if port.get("hostPort") and not _is_port(port["hostPort"]):
            yield f"{at}.hostPort: must be a number from 1 to {_MAX_PORT}"
        if isinstance(name, str) and name and not is_port_name(name):
            yield f"{at}.name: {name!r} is no name of a port; use at most 15 of a-z, 0-9 and single -, with a letter"
    for name in sorted(name for name, count in uses.items() if count > 1):
        yield f"{place.path}.ports: {name!r} is the name of {uses[name]} ports"


def _is_port(number: Json) -> bool:
    return isinstance(number, int | float) and 0 < number <= _MAX_PORT


def _volume_names(spec: ComponentSpec) -> frozenset[str]:
    """Names of the pod's volumes, as far as they follow from the spec."""
    users = (volume["name"] for volume in spec.extra_pod_spec.get("volumes") or ())
    claims = (claim_volume(mount.name) for mount in spec.volume_mounts)
    shared = [contract.SHARED_MEMORY_VOLUME] if has_shared_memory(spec.shared_memory) else []
    config = [CONFIG_VOLUME] if spec.component_type == ComponentType.EPP else []
    return frozenset((*users, *claims, *shared, *config))


def _mounts(place: _Place, volumes: frozenset[str], *, shared: bool) -> Iterator[str]:
    """Mounts of no volume; `shared` says that the container's mounts of shared memory give way to ours."""
    for index, mount in enumerate(place.container.get("volumeMounts") or ()):
        name = str(mount.get("name") or "")
        if (shared and is_shared_memory(mount)) or name.endswith(MPI_SECRET_SUFFIX):
            continue  # the last is a volume that TensorRT-LLM over several nodes gets
        if name not in volumes:
            yield f"{place.path}.volumeMounts[{index}].name: the pod has no volume named {name!r}"


def _volume_sizes(volumes: Iterable[Json], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        source = volume.get("emptyDir")
        if isinstance(source, dict) and is_negative(source.get("sizeLimit")):
            yield f"{path}[{index}].emptyDir.sizeLimit: is {source['sizeLimit']}, must not be negative"
