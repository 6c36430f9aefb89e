"""Finds what makes a pod invalid in a user's Kubernetes fragments (`extraPodSpec`, `envs`, probes) and resources.

The CRD's schema refuses wrong types too, but `render` has no API server and needs these rules.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from hooks.component.rules.container_rules import find_container_problems, find_repeated_names
from hooks.component.rules.fragment_schema import find_schema_problems
from hooks.component.rules.pod_fields import PodFields, read_pod_fields, select_pod_fields, write_pod_fields
from hooks.component.rules.pod_rules.pod import find_pod_problems
from hooks.component.rules.resources import find_unreadable_amounts
from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment, find_unreadable
from hooks.ground.k8s.names import is_dns_label
from hooks.ground.k8s.overlay import has_handler
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Problem, Rule
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import pod as rules
from hooks.language.rules import pod_values

MAIN_CONTAINER = SPEC / "extraPodSpec.mainContainer"

_POD = SPEC / "extraPodSpec"
_SAME_AS: Mapping[Rule, Rule] = {
    pod_values.EMPTY: rules.FIELD_REQUIRED,
    pod_values.RANGE: rules.PORT_NUMBER,
    rules.QUANTITY: rules.FIELD_TYPE,
    rules.PROBE_HANDLER: pod_values.ONE_OF,
}
"""Rules that say the same as another one, of the same field."""
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_OBJECTS = ("resources", "lifecycle", "securityContext", *_PROBES)
_LISTS_OF_OBJECTS = ("ports", "envFrom", "volumeMounts", "volumeDevices")
_LISTS_OF_STRINGS = ("command", "args")
_POD_OBJECTS = ("mainContainer", "securityContext", "affinity", "nodeSelector")
_CONTAINERS = ("containers", "initContainers")
_POD_STRINGS = ("serviceAccountName", "serviceAccount", "schedulerName", "restartPolicy")


def validate_fragments(spec: ComponentSpec) -> tuple[Problem, ...]:
    """All problems of the fragments; if a type is wrong, the rules that need right types are left out.

    The result is cached: a change of a graph usually changes one service, and the others are the same as before.
    """
    fields = select_pod_fields(spec)
    try:
        text = write_pod_fields(fields)
    except orjson.JSONEncodeError:
        return _find_all(fields)
    return _validate_written(text)


@lru_cache(maxsize=1024)
def _validate_written(text: bytes) -> tuple[Problem, ...]:
    return _find_all(read_pod_fields(text))


def _find_all(fields: PodFields) -> tuple[Problem, ...]:
    """Each problem once: two rules may find that the same value is missing."""
    first: dict[tuple[FieldPath, str], Problem] = {}
    for problem in _find_problems(fields):
        first.setdefault((problem.path, _SAME_AS.get(problem.rule, problem.rule).name), problem)
    return tuple(first.values())


def _find_problems(fields: PodFields) -> Iterator[Problem]:
    yield from find_unreadable_amounts(fields.resources, SPEC)
    types = [*_find_wrong_types(fields)]
    yield from types
    by_schema = [one for one in find_schema_problems(fields) if not any(_is_same(one, other) for other in types)]
    yield from by_schema
    yield from _find_unreadable(fields)
    broken = frozenset(problem.path for problem in (*types, *by_schema) if problem.rule is rules.FIELD_TYPE)
    yield from find_pod_problems(fields, broken)
    if not types:
        yield from _find_container_names(fields)
        yield from _find_volume_names(fields)
        yield from _find_mount_paths(fields)
        yield from _find_probes_without_handler(fields)
        yield from find_container_problems(fields)


def _is_same(problem: Problem, other: Problem) -> bool:
    """Whether both say that a value has the wrong type; the other may say it of the whole list."""
    return problem.rule is rules.FIELD_TYPE and problem.path.is_within(other.path)


def _find_wrong_types(fields: PodFields) -> Iterator[Problem]:
    pod = fields.extra_pod_spec
    yield from _of_type(pod, _POD_OBJECTS, dict, _POD)
    yield from _of_type(pod, _POD_STRINGS, str, _POD)
    for field in ("volumes", "imagePullSecrets"):
        yield from _objects(pod.get(field), _POD / field, named=field == "volumes")
    for field in _CONTAINERS:
        yield from _objects(pod.get(field), _POD / field, named=True)
        for index, container in enumerate(_items(pod.get(field))):
            yield from _types_in_container(container, _POD / field / index)
    yield from _types_in_container(pod.get("mainContainer"), MAIN_CONTAINER)
    yield from _types_in_env(list(fields.envs), SPEC / "envs")


def _types_in_container(container: Json, path: FieldPath) -> Iterator[Problem]:
    if not isinstance(container, dict):
        return
    yield from _of_type(container, _OBJECTS, dict, path)
    yield from _of_type(container, ("name", "image", "imagePullPolicy", "workingDir"), str, path)
    if isinstance(container.get("resources"), dict):
        yield from _of_type(container["resources"], ("limits", "requests"), dict, path / "resources")
        yield from _objects(container["resources"].get("claims"), path / "resources.claims", named=True)
    for field in _LISTS_OF_OBJECTS:
        if field in container:
            yield from _objects(container[field], path / field, named=False)
    for field in _LISTS_OF_STRINGS:
        value = container.get(field)
        if value is not None and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            yield rules.FIELD_TYPE.at(path / field, wanted="an array of strings")
    yield from _types_in_env(container.get("env"), path / "env")


def _types_in_env(env: Json, path: FieldPath) -> Iterator[Problem]:
    yield from _objects(env, path, named=True)
    for index, entry in enumerate(_items(env)):
        if isinstance(entry, dict) and not (type(entry.get("value")) is str and "valueFrom" not in entry):
            yield from _of_type(entry, ("value",), str, path / index)
            yield from _of_type(entry, ("valueFrom",), dict, path / index)


def _of_type(holder: Mapping[str, Json], fields: Iterable[str], kind: type[Any], path: FieldPath) -> Iterator[Problem]:
    for field in fields:
        value = holder.get(field)
        if value is not None and not isinstance(value, kind):
            yield rules.FIELD_TYPE.at(path / field, wanted="a string" if kind is str else "an object")


def _objects(value: Json, path: FieldPath, *, named: bool) -> Iterator[Problem]:
    if value is not None and not isinstance(value, list):
        yield rules.FIELD_TYPE.at(path, wanted="an array")
    for index, item in enumerate(_items(value)):
        if not isinstance(item, dict):
            yield rules.FIELD_TYPE.at(path / index, wanted="an object")
        elif named and not (isinstance(item.get("name"), str) and item["name"]):
            yield rules.FIELD_REQUIRED.at(path / index / "name")


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _find_unreadable(fields: PodFields) -> Iterator[Problem]:
    """Quantities and numbers that cannot be read; the slower search for their paths runs only if there are any."""
    claims = fields.resources.claims if fields.resources else ()
    for path, fragment in (
        (_POD, fields.extra_pod_spec),
        (SPEC / "envs", fields.envs),
        (SPEC / "livenessProbe", fields.liveness_probe),
        (SPEC / "readinessProbe", fields.readiness_probe),
        (SPEC / "resources.claims", claims),
    ):
        try:
            canonical_fragment(fragment)
        except ValueError:
            for at, why in find_unreadable(fragment, path):
                yield rules.QUANTITY.at(at, why=why)


def _find_container_names(fields: PodFields) -> Iterator[Problem]:
    names = [(MAIN_CONTAINER, str(fields.main_container.get("name") or contract.MAIN_CONTAINER))]
    for field in _CONTAINERS:
        containers = _items(fields.extra_pod_spec.get(field))
        names += ((_POD / field / index, container["name"]) for index, container in enumerate(containers))
    for path, name in names:
        if not is_dns_label(name):
            yield rules.CONTAINER_NAME.at(path / "name", name=name)
    yield from find_repeated_names((path, name) for path, name in names if is_dns_label(name))


def _find_volume_names(fields: PodFields) -> Iterator[Problem]:
    volumes = _items(fields.extra_pod_spec.get("volumes"))
    yield from find_repeated_names((_POD / "volumes" / i, volume["name"]) for i, volume in enumerate(volumes))


def _find_mount_paths(fields: PodFields) -> Iterator[Problem]:
    """Mounts of the main container with the path of an earlier one; claims come after the container's own mounts."""
    own = [
        (MAIN_CONTAINER / "volumeMounts" / index / "mountPath", str(mount.get("mountPath")))
        for index, mount in enumerate(_items(fields.main_container.get("volumeMounts")))
    ]
    claims = [
        (SPEC / "volumeMounts" / index / "mountPoint", mount.mount_point)
        for index, mount in enumerate(fields.volume_mounts)
        if mount.mount_point
    ]
    first: dict[str, FieldPath] = {}
    for path, mount_path in (*own, *claims):
        other = first.setdefault(mount_path, path)
        if other is not path:
            yield rules.MOUNT_PATH_TAKEN.at(path, other=FieldPath(other.parts[:-1]), mount_path=mount_path)


def _find_probes_without_handler(fields: PodFields) -> Iterator[Problem]:
    """Probes without a handler; a probe of the spec replaces our whole probe, so it needs a handler."""
    for field, probe in (("livenessProbe", fields.liveness_probe), ("readinessProbe", fields.readiness_probe)):
        if probe is not None and not has_handler(probe):
            yield rules.PROBE_HANDLER.at(SPEC / field)
