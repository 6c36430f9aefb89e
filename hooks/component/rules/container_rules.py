"""Finds what the API server would refuse in the containers of a pod template, before anything is applied.

A field that another field replaces in our pod is not checked. Each rule was tried on kube-apiserver 1.36.

Source: Kubernetes, pkg/apis/core/validation/validation.go.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.component.pod.defaults.epp import CACHE_VOLUME, CONFIG_VOLUME
from hooks.component.pod.volumes import claim_volume, is_shared_memory
from hooks.component.rules.fragment_schema import find_wrong_types
from hooks.component.rules.pod_fields import PodFields
from hooks.component.rules.pod_rules.sources import find_source_problems
from hooks.component.rules.resources import find_resource_problems
from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment, find_unreadable
from hooks.ground.k8s.names import is_port_name
from hooks.ground.k8s.quantities import is_negative
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.api.schema import ENV_SOURCE
from hooks.language.rules import pod as rules
from hooks.wire.policy.identity import MPI_SECRET_SUFFIX

_ENV_NAME = re.compile(r"[ -<>-~]+")
_MAX_PORT = 65535
_POD = SPEC / "extraPodSpec"


@dataclass(frozen=True, slots=True)
class _Located:
    """A container and its path in the spec."""

    path: FieldPath
    container: Mapping[str, Json]


def find_container_problems(fields: PodFields) -> Iterator[Problem]:
    """All problems of containers and volumes; the fields must have the right types."""
    pod = fields.extra_pod_spec
    main = _Located(_POD / "mainContainer", fields.main_container)
    others = [
        _Located(_POD / field / index, container)
        for field in ("containers", "initContainers")
        for index, container in enumerate(pod.get(field) or ())
    ]
    volumes = _volume_names(fields)
    for one in (main, *others):
        if not one.container.get("image"):
            yield rules.IMAGE.at(one.path / "image")
        yield from _find_port_problems(one)
        yield from _find_mount_problems(one, volumes, is_replaced=one is main and fields.has_shared_memory)
    env = {main.path / "env": main.container.get("env"), SPEC / "envs": fields.envs}
    yield from find_env_problems(_last_ones(env))
    yield from find_resource_problems(main.container, main.path, over=fields.resources, path=SPEC)
    for one in others:
        yield from find_env_problems(_entries(one.container.get("env"), one.path / "env"))
        yield from find_resource_problems(one.container, one.path)
    yield from find_resource_problems(pod, _POD)
    yield from _find_volume_sizes(pod.get("volumes") or ())


def find_env_problems(entries: Iterable[tuple[FieldPath, int, Json]]) -> Iterator[Problem]:
    """Problems of environment variables; an entry is the path of its list, its index in the list, and the variable."""
    for env, index, entry in entries:
        name, source = entry["name"], entry.get("valueFrom")
        if _ENV_NAME.fullmatch(name) is None:
            yield rules.ENV_NAME.at(env / index / "name", name=name)
        if source is None:
            continue
        if entry.get("value"):
            yield rules.ENV_VALUE_TWICE.at(env / index / "valueFrom", name=name)
        elif sum(part is not None for part in source.values()) != 1:
            yield rules.ENV_SOURCE.at(env / index / "valueFrom")
        types = tuple(find_wrong_types(source, ENV_SOURCE, env / index / "valueFrom"))
        yield from types or _find_in_source(source, env / index / "valueFrom")


def _find_in_source(source: Json, path: FieldPath) -> Iterator[Problem]:
    try:
        yield from find_source_problems(canonical_fragment(source), path)
    except ValueError:
        yield from (rules.QUANTITY.at(at, why=why) for at, why in find_unreadable(source, path))


def find_repeated_names(named: Iterable[tuple[FieldPath, str]]) -> Iterator[Problem]:
    """One problem for each item (container, volume, port) with the same name as an earlier one."""
    first: dict[str, FieldPath] = {}
    for path, name in named:
        other = first.setdefault(name, path)
        if other is not path:
            yield rules.NAME_TAKEN.at(path / "name", name=name, other=other)


def _entries(env: Iterable[Json] | None, path: FieldPath) -> list[tuple[FieldPath, int, Json]]:
    return [(path, index, entry) for index, entry in enumerate(env or ())]


def _last_ones(lists: Mapping[FieldPath, Iterable[Json] | None]) -> list[tuple[FieldPath, int, Json]]:
    """The entries that count: of several with one name, the last entry of the last list."""
    found = [located for path, env in lists.items() for located in _entries(env, path)]
    return list({located[2]["name"]: located for located in found}.values())


def _find_port_problems(one: _Located) -> Iterator[Problem]:
    named: list[tuple[FieldPath, str]] = []
    for index, port in enumerate(one.container.get("ports") or ()):
        path, name = one.path / "ports" / index, port.get("name")
        if not _is_port(port.get("containerPort")):
            yield rules.PORT_NUMBER.at(path / "containerPort", most=_MAX_PORT)
        if port.get("hostPort") and not _is_port(port["hostPort"]):
            yield rules.PORT_NUMBER.at(path / "hostPort", most=_MAX_PORT)
        if isinstance(name, str) and name:
            named.append((path, name))
            if not is_port_name(name):
                yield rules.PORT_NAME.at(path / "name", name=name)
    yield from find_repeated_names(named)


def _is_port(number: Json) -> bool:
    return isinstance(number, int | float) and 0 < number <= _MAX_PORT


def _volume_names(fields: PodFields) -> frozenset[str]:
    """Names of the pod's volumes, without those that the engine's launch rules add."""
    users = (volume["name"] for volume in fields.extra_pod_spec.get("volumes") or ())
    claims = (claim_volume(mount.name) for mount in fields.volume_mounts)
    shared = [contract.SHARED_MEMORY_VOLUME] if fields.has_shared_memory else []
    config = [CONFIG_VOLUME, CACHE_VOLUME] if fields.is_picker else []
    return frozenset((*users, *claims, *shared, *config))


def _find_mount_problems(one: _Located, volumes: frozenset[str], *, is_replaced: bool) -> Iterator[Problem]:
    """Mounts whose volume does not exist; `is_replaced`: our mount of shared memory replaces the container's."""
    for index, mount in enumerate(one.container.get("volumeMounts") or ()):
        name = str(mount.get("name") or "")
        if (is_replaced and is_shared_memory(mount)) or name.endswith(MPI_SECRET_SUFFIX):
            continue  # the launch rules of TensorRT-LLM add a volume whose name ends like this
        if name not in volumes:
            yield rules.MOUNT_WITHOUT_VOLUME.at(one.path / "volumeMounts" / index / "name", name=name)


def _find_volume_sizes(volumes: Iterable[Json]) -> Iterator[Problem]:
    for index, volume in enumerate(volumes):
        source = volume.get("emptyDir")
        if isinstance(source, dict) and is_negative(source.get("sizeLimit")):
            path = _POD / "volumes" / index / "emptyDir.sizeLimit"
            yield rules.NEGATIVE.at(path, amount=str(source["sizeLimit"]))
