"""Finds ports that contradict each other: of one container in two places, and of two containers of a pod.

A container's fields must have the right types.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.component.image.runtime_version import find_runtime_container
from hooks.component.pod.defaults import ComponentDefaults, frontend, resolve_typical, runtime, written_of_main
from hooks.component.pod.defaults.base import BARE, Knob
from hooks.component.pod.defaults.listening import PortSource, Written, choose_number, find_said
from hooks.component.pod.sidecars import written_of_container, written_of_sidecar
from hooks.component.spec.subject import ComponentType
from hooks.ground.k8s.types import ContainerPort, EnvVar
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import ports as rules


@dataclass(frozen=True, slots=True, kw_only=True)
class PortedContainer:
    """A container of a pod that keeps running, what the user writes about it, and the defaults of what it runs."""

    written: Written
    defaults: ComponentDefaults
    said: Mapping[str, tuple[PortSource, ...]]

    @classmethod
    def of(cls, written: Written, defaults: ComponentDefaults) -> "PortedContainer":
        """The container, with what is said of each of its default ports, by name."""
        said = {port["name"]: find_said(defaults, port, written) for port in defaults.ports}
        return cls(written=written, defaults=defaults, said=said)

    def number(self, name: str) -> int | None:
        """The number of its default port of that name; None if it has none."""
        port = next((one for one in self.defaults.ports if one["name"] == name), None)
        return None if port is None else choose_number(self.said[name], port)


def list_containers(
    spec: ComponentSpec, at: FieldPath = SPEC, common: Sequence[EnvVar] = (), *, frontend_container: str = ""
) -> Iterator[PortedContainer]:
    """The containers of a spec at that path.

    `common` are the `envs` of its graph. `frontend_container` is the name of the user's container that runs a frontend.
    """
    yield PortedContainer.of(written_of_main(spec, at, common), resolve_typical(spec))
    if spec.frontend_sidecar is not None:
        written = written_of_sidecar(spec.frontend_sidecar, at)
        yield PortedContainer.of(written, frontend.DEFAULTS)
    pod = at / "extraPodSpec"
    for index, container in enumerate(spec.extra_pod_spec.get("containers") or ()):
        is_frontend = container["name"] == frontend_container
        written = written_of_container(container, pod / "containers" / index)
        yield PortedContainer.of(written, frontend.DEFAULTS if is_frontend else BARE)
    index_of_runtime = find_runtime_container(spec) if ComponentType.of(spec.component_type).is_worker else None
    for index, container in enumerate(spec.extra_pod_spec.get("initContainers") or ()):
        if container.get("restartPolicy") != "Always":
            continue
        is_runtime, path = index == index_of_runtime, pod / "initContainers" / index
        beneath = (*common, *spec.envs) if is_runtime else ()
        written = written_of_container(container, path, beneath=beneath, at=at)
        yield PortedContainer.of(written, runtime.DEFAULTS if is_runtime else BARE)


def find_number_of(
    spec: ComponentSpec, name: str, common: Sequence[EnvVar] = (), *, frontend_container: str = ""
) -> int | None:
    """The number of the port of that name that a program of Dynamo in the pods has; None if none has such a port."""
    containers = list_containers(spec, SPEC, common, frontend_container=frontend_container)
    return next((number for one in containers if (number := one.number(name)) is not None), None)


def find_port_problems(
    spec: ComponentSpec, path: FieldPath, common: Sequence[EnvVar] = (), *, frontend_container: str = ""
) -> Iterator[Problem]:
    """All contradictions; arguments as those of `list_containers`."""
    if not _has_ports(spec, common):
        return
    containers = tuple(list_containers(spec, path, common, frontend_container=frontend_container))
    for one in containers:
        for port in one.defaults.ports:
            yield from _find_contradiction(one.said[port["name"]])
    yield from _find_shared(containers)


def find_port_slips(
    spec: ComponentSpec, path: FieldPath, common: Sequence[EnvVar] = (), *, frontend_container: str = ""
) -> Iterator[Problem]:
    """Warnings about ports that cannot be followed; arguments as those of `list_containers`."""
    if not _has_ports(spec, common):
        return
    for one in list_containers(spec, path, common, frontend_container=frontend_container):
        for port in one.defaults.ports:
            yield from _find_unknown(one, port)


def _has_ports(spec: ComponentSpec, common: Sequence[EnvVar]) -> bool:
    """Whether a user may have written a port, or there is another container; most specs have neither.

    The names of all variables and flags of ports contain the word.
    """
    main, pod = spec.main_container, spec.extra_pod_spec
    if spec.frontend_sidecar or pod.get("containers") or pod.get("initContainers") or main.get("ports"):
        return True
    names = (entry["name"] for entries in (common, spec.envs, main.get("env") or ()) for entry in entries)
    words = (*names, *(main.get("command") or ()), *(main.get("args") or ()))
    return any("port" in word or "PORT" in word for word in words)


def _find_contradiction(said: Sequence[PortSource]) -> Iterator[Problem]:
    known = [(one, one.number) for one in said if one.number is not None]
    for one, number in known[1:]:
        first, first_number = known[0]
        if number != first_number:
            yield rules.PORTS_DIFFER.at(one.path, number=number, other=first.path, other_number=first_number)
            return


def _find_unknown(one: PortedContainer, port: ContainerPort) -> Iterator[Problem]:
    said = one.said[port["name"]]
    number = choose_number(said, port)
    for found in said:
        if found.number is None:
            yield rules.PORT_UNKNOWN.at(found.path, why=found.why, name=port["name"], number=number)
    most = one.defaults.knobs.get(port["name"], Knob()).most
    if said and number > most:
        known = next((found for found in said if found.number is not None), said[0])
        yield rules.PORT_TOO_HIGH.at(known.path, number=number, most=most)


def _find_shared(containers: Sequence[PortedContainer]) -> Iterator[Problem]:
    """Ports of one number in two containers; within one container, only those of which one is ours."""
    taken: dict[tuple[int, str], FieldPath] = {}
    for one in containers:
        own: dict[tuple[int, str], FieldPath] = {}
        for key, path in _list_ports(one):
            other = taken.get(key) or own.get(key)
            if other is not None and other != path:
                yield rules.PORT_SHARED.at(path, number=key[0], other=other)
            own.setdefault(key, path)
        taken = {**own, **taken}


def _list_ports(one: PortedContainer) -> Iterator[tuple[tuple[int, str], FieldPath]]:
    """Each port of a container, as number and protocol, with the field that decides the number."""
    users: Sequence[Mapping[str, object]] = one.written.container.get("ports") or ()
    for index, port in enumerate(users):
        number = port.get("containerPort")
        if isinstance(number, int | float):
            path = one.written.path / "ports" / index / "containerPort"
            yield (int(number), str(port.get("protocol") or "TCP")), path
    if users:
        return  # a user's list replaces ours
    for port in one.defaults.ports:
        said = next((found for found in one.said[port["name"]] if found.number is not None), None)
        yield (choose_number(one.said[port["name"]], port), port["protocol"]), said.path if said else one.written.path
