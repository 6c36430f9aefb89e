"""Where a field of a v1alpha1 service stands in the v1beta1 component that the user wrote."""

from collections.abc import Callable, Mapping, Sequence

from hooks.ground.k8s.types import Json
from hooks.ground.problems import Key
from hooks.language.conversion.json_values import name_of_item, same
from hooks.language.v1beta1.conversion.mounts import find_cache
from hooks.language.v1beta1.conversion.resources import resource_name
from hooks.language.v1beta1.conversion.shapes import find_main
from hooks.language.v1beta1.conversion.sidecars import SIDECAR, SIDECAR_FIELDS

Parts = tuple[str | int, ...]
Fields = Mapping[str, Json]
_Writer = Callable[[Parts, Fields, Fields], Parts]

ONE_VERSION = frozenset({"annotations", "labels", "dynamoNamespace", "autoscaling", "ingress"})
"""Fields of a service that no component has."""

_TEMPLATE: Parts = ("podTemplate", "spec")
_CONTAINERS: Parts = (*_TEMPLATE, "containers")
_MOUNT_NAMES = {"mountPoint": "mountPath"}
_CACHE_NAMES = {"name": "pvcName", "mountPoint": "mountPath"}


def written_in_component(parts: Parts, component: Fields, service: Fields) -> Parts:
    """The path within the component of a field of the service that it is converted to."""
    if not parts:
        return ()
    first, rest = parts[0], parts[1:]
    if isinstance(first, int):
        return parts
    if first in _RENAMED:
        return _RENAMED[first]
    writer = _WRITERS.get(first)
    return writer(rest, component, service) if writer else parts


def _main(component: Fields, *parts: str | int) -> Parts:
    """A field of the main container; the list of containers if there is none."""
    at = find_main(_containers(component))
    return _CONTAINERS if at is None else (*_CONTAINERS, at, *parts)


def _containers(component: Fields) -> list[Json]:
    template = component.get("podTemplate")
    pod = template.get("spec") if isinstance(template, dict) else None
    containers = pod.get("containers") if isinstance(pod, dict) else None
    return containers if isinstance(containers, list) else []


def _main_list(component: Fields, field: str) -> list[Json]:
    """A list of the main container, as it was written."""
    containers = _containers(component)
    at = find_main(containers)
    items = containers[at].get(field) if at is not None else None
    return items if isinstance(items, list) else []


def _of_main(field: str) -> _Writer:
    return lambda rest, component, _service: _main(component, field, *rest)


def _metadata(rest: Parts, _component: Fields, _service: Fields) -> Parts:
    return ("podTemplate", "metadata", *rest)


def _feature(name: str) -> _Writer:
    return lambda rest, _component, _service: ("experimental", name, *(() if rest[:1] == ("enabled",) else rest))


def _envs(rest: Parts, component: Fields, service: Fields) -> Parts:
    return _variable(rest, component, service.get("envs"))


def _variable(rest: Parts, component: Fields, envs: Json) -> Parts:
    """A variable at the place where the main container has one with its name."""
    if not rest or not isinstance(rest[0], int):
        return _main(component, "env", *rest)
    item = _item(envs, rest[0])
    names = [name_of_item(entry) for entry in _main_list(component, "env")]
    name = name_of_item(item)
    at = names.index(name) if name is not None and names.count(name) == 1 else rest[0]
    return _main(component, "env", at, *rest[1:])


def _env_secret(_rest: Parts, component: Fields, service: Fields) -> Parts:
    source = {"secretRef": {"name": service.get("envFromSecret")}}
    at = next((i for i, one in enumerate(_main_list(component, "envFrom")) if same(one, source)), None)
    return _main(component, "envFrom") if at is None else _main(component, "envFrom", at, "secretRef", "name")


def _resources(rest: Parts, component: Fields, service: Fields) -> Parts:
    """An amount by the name of its resource."""
    match rest:
        case (("limits" | "requests") as side, "custom", str(name), *below):
            return _main(component, "resources", side, Key(name), *below)
        case (("limits" | "requests") as side, "custom"):
            return _main(component, "resources", side)
        case (("limits" | "requests") as side, str(name), *below):
            resources = service.get("resources")
            item = resources.get(side) if isinstance(resources, dict) else None
            written = resource_name(item, "gpu" if name == "gpuType" else name)
            return _main(component, "resources", side, Key(written), *below)
    return _main(component, "resources", *rest)


def _claim_mounts(rest: Parts, component: Fields, service: Fields) -> Parts:
    if not rest or not isinstance(rest[0], int):
        return _main(component, "volumeMounts", *rest)
    mounts, below = service.get("volumeMounts"), rest[1:]
    if "compilationCache" in component and find_cache(mounts) == rest[0]:
        return ("compilationCache", *_renamed(below, _CACHE_NAMES))
    mount = _item(mounts, rest[0])
    shown = mount if isinstance(mount, dict) else {}
    wanted = {"name": shown.get("name"), "mountPath": shown.get("mountPoint")}
    return _mount(wanted, _renamed(below, _MOUNT_NAMES), component)


def _mount(wanted: Json, below: Parts, component: Fields) -> Parts:
    at = next((i for i, one in enumerate(_main_list(component, "volumeMounts")) if same(one, wanted)), None)
    return _main(component, "volumeMounts") if at is None else _main(component, "volumeMounts", at, *below)


def _sidecar(rest: Parts, component: Fields, _service: Fields) -> Parts:
    at = next((i for i, one in enumerate(_containers(component)) if name_of_item(one) == SIDECAR), None)
    match rest:
        case ("envFromSecret", *_) if at is not None:
            return (*_CONTAINERS, at, "envFrom", 0, "secretRef", "name")
        case (str(), *_) if at is not None:
            return (*_CONTAINERS, at, *_renamed(rest, SIDECAR_FIELDS))
    return ("frontendSidecar",)


def _pod(rest: Parts, component: Fields, service: Fields) -> Parts:
    pod = service.get("extraPodSpec")
    shown = pod if isinstance(pod, dict) else {}
    match rest:
        case ("mainContainer", *below):
            return _main_container(tuple(below), component, shown.get("mainContainer"))
        case ("containers", int(at), *below):
            wanted = _item(shown.get("containers"), at)
            found = next((i for i, one in enumerate(_containers(component)) if same(one, wanted)), None)
            return _CONTAINERS if found is None else (*_CONTAINERS, found, *below)
    return (*_TEMPLATE, *rest)


def _main_container(rest: Parts, component: Fields, container: Json) -> Parts:
    shown = container if isinstance(container, dict) else {}
    match rest:
        case ("env", *below):
            return _variable(tuple(below), component, shown.get("env"))
        case ("volumeMounts", int(at), *below):
            return _mount(_item(shown.get("volumeMounts"), at), tuple(below), component)
    return _main(component, *rest)


def _adapter(rest: Parts, component: Fields, _service: Fields) -> Parts:
    """The field `enabled` where the user wrote it; it may be absent in v1beta1."""
    adapter = component.get("scalingAdapter")
    is_written = isinstance(adapter, dict) and rest[:1] == ("enabled",) and "enabled" in adapter
    return ("scalingAdapter", *(rest if is_written else ()))


def _renamed(parts: Sequence[str | int], names: Mapping[str, str]) -> Parts:
    """The parts with another name of the first one."""
    if not parts or not isinstance(parts[0], str):
        return tuple(parts)
    return (names.get(parts[0], parts[0]), *parts[1:])


def _item(items: Json, at: int) -> Json:
    return items[at] if isinstance(items, list) and 0 <= at < len(items) else None


_RENAMED: Mapping[str, Parts] = {
    "componentType": ("type",),
    "subComponentType": ("type",),
    "serviceName": ("name",),
    "sharedMemory": ("sharedMemorySize",),
}
"""Fields that have one path with all that is below them."""

_WRITERS: Mapping[str, _Writer] = {
    "extraPodSpec": _pod,
    "extraPodMetadata": _metadata,
    "envs": _envs,
    "envFromSecret": _env_secret,
    "resources": _resources,
    "volumeMounts": _claim_mounts,
    "livenessProbe": _of_main("livenessProbe"),
    "readinessProbe": _of_main("readinessProbe"),
    "frontendSidecar": _sidecar,
    "scalingAdapter": _adapter,
    "gpuMemoryService": _feature("gpuMemoryService"),
    "failover": _feature("failover"),
    "checkpoint": lambda rest, _component, _service: ("experimental", "checkpoint", *rest),
}
