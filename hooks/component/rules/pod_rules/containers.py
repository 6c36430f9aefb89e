"""Problems of one container of a pod; those of its image, name and environment are found elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.component.pod.volumes import is_shared_memory
from hooks.component.rules.pod_rules.handlers import PROBES, find_lifecycle_problems, find_probe_problems
from hooks.component.rules.pod_rules.mounts import find_device_problems, find_mount_problems, find_repeated_mounts
from hooks.component.rules.pod_rules.security import find_context_problems
from hooks.component.rules.pod_rules.sources import find_env_from_problems
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedContainer:
    """A container and its path in the spec."""

    path: FieldPath
    container: Mapping[str, Json]

    @property
    def is_main(self) -> bool:
        """Whether this is the main container."""
        return self.path.parts[-1] == "mainContainer"

    @property
    def is_init(self) -> bool:
        """Whether it is an init container that must end before the others start."""
        return "initContainers" in self.path.parts and self.container.get("restartPolicy") != "Always"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodContext:
    """The parts of the pod that the rules about a container read; `volumes` are the user's, by name.

    `mounted` are the paths at which claims and shared memory are mounted in the main container.
    `replaces_shared_memory`: our mount of shared memory replaces one of the main container.
    """

    volumes: Mapping[str, Mapping[str, Json]]
    mounted: tuple[str, ...]
    replaces_shared_memory: bool
    host_users: bool
    grace_seconds: int


def find_container_problems(one: LocatedContainer, pod: PodContext) -> Iterator[Problem]:
    """All of these problems of a container; the main container's probes and repeated mounts are found elsewhere."""
    container, path = one.container, one.path
    yield from find_env_from_problems(container.get("envFrom", ()), path / "envFrom")
    has_ours = one.is_main and pod.replaces_shared_memory
    yield from find_mount_problems(container, path, is_replaced=lambda mount: has_ours and is_shared_memory(mount))
    yield from find_device_problems(container, pod.volumes, path, mounted=pod.mounted if one.is_main else ())
    context = container.get("securityContext", {})
    yield from find_context_problems(context, path / "securityContext", host_users=pod.host_users)
    yield from _find_port_problems(container, path / "ports")
    yield from _find_file_variable_problems(container, pod, path / "env")
    yield from _find_restart_problems(one)
    if one.is_init:
        for field in (*PROBES, "lifecycle"):
            if field in container:
                yield rules.ONLY_WITH.at(path / field, other=path / "restartPolicy", value="Always")
        return
    if not one.is_main:
        yield from find_repeated_mounts(container, path)
        for field in PROBES:
            if field in container:
                yield from find_probe_problems(field, container[field], path / field, has_default=False)
    lifecycle = container.get("lifecycle", {})
    yield from find_lifecycle_problems(lifecycle, path / "lifecycle", grace_seconds=pod.grace_seconds)


def _find_port_problems(container: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Ports of the same number; Metacontroller's merge loses one, even if their protocols differ."""
    seen: dict[int, FieldPath] = {}
    for index, port in enumerate(container.get("ports", ())):
        number = port.get("containerPort", 0)
        other = seen.setdefault(number, path / index)
        if number and other != path / index:
            yield rules.PORT_TWICE.at(path / index / "containerPort", other=other, number=number)


def _find_file_variable_problems(container: Mapping[str, Json], pod: PodContext, path: FieldPath) -> Iterator[Problem]:
    """Variables from a file whose volume is no emptyDir of the pod."""
    for index, entry in enumerate(container.get("env", ())):
        reference = entry.get("valueFrom", {}).get("fileKeyRef")
        if reference and "emptyDir" not in pod.volumes.get(reference.get("volumeName", ""), {}):
            at = path / index / "valueFrom.fileKeyRef.volumeName"
            yield rules.FIXED.at(
                at, found=repr(reference.get("volumeName", "")), wanted="the name of an emptyDir volume"
            )


def _find_restart_problems(one: LocatedContainer) -> Iterator[Problem]:
    container, path = one.container, one.path
    if container.get("restartPolicyRules") and "restartPolicy" not in container:
        yield rules.NEEDED.at(path / "restartPolicy", other=path / "restartPolicyRules", value="set")
    for index, rule in enumerate(container.get("restartPolicyRules", ())):
        if "exitCodes" not in rule:
            yield rules.EMPTY.at(path / "restartPolicyRules" / index / "exitCodes")
    seen: dict[str, FieldPath] = {}
    for index, policy in enumerate(container.get("resizePolicy", ())):
        at, name = path / "resizePolicy" / index, policy.get("resourceName", "")
        if name and seen.setdefault(name, at) is not at:
            yield rules.REPEATED.at(at / "resourceName", found=repr(name), other=seen[name])
        if one.is_init and policy.get("restartPolicy") == "RestartContainer":
            yield rules.ONLY_WITH.at(at / "restartPolicy", other=path / "restartPolicy", value="Always")
