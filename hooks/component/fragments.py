"""What of a user's Kubernetes fragments (`extraPodSpec`, `envs`, probes) and resources cannot be part of a valid pod.

The CRD's schema refuses wrong types already; where there is no API server, in `render`, this does.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from hooks import contract
from hooks.api.component_spec import ComponentSpec
from hooks.component.container_rules import validate_containers
from hooks.component.resources import validate_resources
from hooks.component.volumes import claim_volume, has_shared_memory
from hooks.k8s.canonical import canonical_fragment, find_faults
from hooks.k8s.names import is_dns_label
from hooks.k8s.overlay import has_handler
from hooks.k8s.types import Json

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_OBJECTS = ("resources", "lifecycle", "securityContext", *_PROBES)
_LISTS_OF_OBJECTS = ("ports", "envFrom", "volumeMounts", "volumeDevices")
_LISTS_OF_STRINGS = ("command", "args")
_POD_OBJECTS = ("mainContainer", "securityContext", "affinity", "nodeSelector")
_POD_STRINGS = ("serviceAccountName", "serviceAccount", "schedulerName", "restartPolicy")


@dataclasses.dataclass(frozen=True, slots=True)
class _Worded:
    """A spec, known by the text of all that is looked at here."""

    text: bytes
    spec: ComponentSpec = dataclasses.field(compare=False)


def validate_fragments(spec: ComponentSpec, path: str) -> tuple[str, ...]:
    """All problems of the fragments; what depends on right shapes is looked at only where the shapes are right.

    A change of a graph is that of one service, so what was found in the others is remembered by their wording.
    """
    mounts = [[mount.name, mount.mount_point] for mount in spec.volume_mounts]
    sides = (spec.resources.requests, spec.resources.limits) if spec.resources else ()
    amounts = [vars(side) if side else None for side in sides]
    others = [spec.component_type, has_shared_memory(spec.shared_memory)]
    looked_at = [*_fragments_of(spec).values(), mounts, amounts, others]
    try:
        return _remember(_Worded(orjson.dumps(looked_at), spec), path)
    except orjson.JSONEncodeError:  # a number that JSON does not know, which only YAML can bring here
        return tuple(_validate(spec, path))


@lru_cache(maxsize=1024)
def _remember(worded: _Worded, path: str) -> tuple[str, ...]:
    return tuple(_validate(worded.spec, path))


def _fragments_of(spec: ComponentSpec) -> dict[str, Json]:
    """What a user writes as Kubernetes JSON, by its field."""
    return {
        "extraPodSpec": spec.extra_pod_spec,
        "envs": spec.envs,
        "livenessProbe": spec.liveness_probe,
        "readinessProbe": spec.readiness_probe,
        "resources.claims": spec.resources.claims if spec.resources else (),
    }


def _validate(spec: ComponentSpec, path: str) -> Iterator[str]:
    yield from validate_resources(spec.resources, path)
    shapes = [*_shape_faults(spec, path)]
    yield from shapes
    yield from _unreadable(spec, path)
    if not shapes:
        yield from _container_names(spec, f"{path}.extraPodSpec")
        yield from _volume_names(spec, path)
        yield from _mount_paths(spec, path)
        yield from _probes_without_handler(spec, path)
        yield from validate_containers(spec, path)


def _shape_faults(spec: ComponentSpec, path: str) -> Iterator[str]:
    at = f"{path}.extraPodSpec"
    pod = spec.extra_pod_spec
    yield from _of_type(pod, _POD_OBJECTS, dict, at)
    yield from _of_type(pod, _POD_STRINGS, str, at)
    for field in ("volumes", "imagePullSecrets"):
        yield from _objects(pod.get(field), f"{at}.{field}", named=field == "volumes")
    for field in ("containers", "initContainers"):
        yield from _objects(pod.get(field), f"{at}.{field}", named=True)
        for index, container in enumerate(_items(pod.get(field))):
            yield from _container_shape(container, f"{at}.{field}[{index}]")
    if isinstance(pod.get("mainContainer"), dict):
        yield from _container_shape(pod["mainContainer"], f"{at}.mainContainer")
    yield from _env_shape(list(spec.envs), f"{path}.envs")


def _container_shape(container: Json, path: str) -> Iterator[str]:
    if not isinstance(container, dict):
        return
    yield from _of_type(container, _OBJECTS, dict, path)
    yield from _of_type(container, ("name", "image", "imagePullPolicy", "workingDir"), str, path)
    if isinstance(container.get("resources"), dict):
        yield from _of_type(container["resources"], ("limits", "requests"), dict, f"{path}.resources")
        yield from _objects(container["resources"].get("claims"), f"{path}.resources.claims", named=True)
    for field in _LISTS_OF_OBJECTS:
        yield from _objects(container.get(field), f"{path}.{field}", named=False)
    for field in _LISTS_OF_STRINGS:
        value = container.get(field)
        if value is not None and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            yield f"{path}.{field}: must be a list of strings"
    yield from _env_shape(container.get("env"), f"{path}.env")


def _env_shape(env: Json, path: str) -> Iterator[str]:
    yield from _objects(env, path, named=True)
    for index, entry in enumerate(_items(env)):
        if isinstance(entry, dict):
            yield from _of_type(entry, ("value",), str, f"{path}[{index}]")
            yield from _of_type(entry, ("valueFrom",), dict, f"{path}[{index}]")


def _of_type(holder: Mapping[str, Json], fields: Iterable[str], kind: type[Any], path: str) -> Iterator[str]:
    for field in fields:
        value = holder.get(field)
        if value is not None and not isinstance(value, kind):
            yield f"{path}.{field}: must be {'a string' if kind is str else 'an object'}"


def _objects(value: Json, path: str, *, named: bool) -> Iterator[str]:
    if value is not None and not isinstance(value, list):
        yield f"{path}: must be a list"
    for index, item in enumerate(_items(value)):
        if not isinstance(item, dict):
            yield f"{path}[{index}]: must be an object"
        elif named and not (isinstance(item.get("name"), str) and item["name"]):
            yield f"{path}[{index}].name: is required"


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _unreadable(spec: ComponentSpec, path: str) -> Iterator[str]:
    """Quantities and numbers that cannot be read; the search for their places is only made when there are any."""
    for name, fragment in _fragments_of(spec).items():
        try:
            canonical_fragment(fragment)
        except ValueError:
            yield from find_faults(fragment, f"{path}.{name}")


def _container_names(spec: ComponentSpec, path: str) -> Iterator[str]:
    main = str(spec.main_container.get("name") or contract.MAIN_CONTAINER)
    places = [("mainContainer", main)]
    for field in ("containers", "initContainers"):
        containers = _items(spec.extra_pod_spec.get(field))
        places += ((f"{field}[{index}]", container["name"]) for index, container in enumerate(containers))
    first: dict[str, str] = {}
    for place, name in places:
        taken = first.setdefault(name, place)
        if not is_dns_label(name):
            yield f"{path}.{place}.name: {name!r} is no name of a container; use at most 63 of a-z, 0-9 and -"
        elif taken != place:
            yield f"{path}.{place}.name: {name!r} is the name of {taken} already"


def _volume_names(spec: ComponentSpec, path: str) -> Iterator[str]:
    volumes = _items(spec.extra_pod_spec.get("volumes"))
    uses = Counter(volume["name"] for volume in volumes)
    for name in sorted(name for name, count in uses.items() if count > 1):
        yield f"{path}.extraPodSpec.volumes: {name!r} is the name of {uses[name]} volumes"
    sources = {volume["name"]: (volume.get("persistentVolumeClaim") or {}) for volume in volumes}
    for index, mount in enumerate(spec.volume_mounts):
        source = sources.get(claim_volume(mount.name))
        if source is not None and (not isinstance(source, dict) or source.get("claimName") != mount.name):
            yield f"{path}.volumeMounts[{index}].name: extraPodSpec.volumes has another volume named {mount.name!r}"


def _mount_paths(spec: ComponentSpec, path: str) -> Iterator[str]:
    paths = [mount.mount_point for mount in spec.volume_mounts if mount.mount_point]
    mounts = _items(spec.main_container.get("volumeMounts"))
    uses = Counter([*paths, *(str(mount.get("mountPath")) for mount in mounts)])
    for mount_path in sorted(mount_path for mount_path, count in uses.items() if count > 1):
        yield f"{path}.volumeMounts: {uses[mount_path]} volumes are mounted at {mount_path!r} of the main container"


def _probes_without_handler(spec: ComponentSpec, path: str) -> Iterator[str]:
    """A probe at the top level replaces ours whole, so it must say how to probe."""
    for field, probe in (("livenessProbe", spec.liveness_probe), ("readinessProbe", spec.readiness_probe)):
        if probe is not None and not has_handler(probe):
            yield f"{path}.{field}: must have one of exec, grpc, httpGet, tcpSocket"
