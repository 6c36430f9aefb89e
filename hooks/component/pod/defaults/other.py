"""Defaults of a component of no known type: nothing but a Service, at the port at which its container serves."""

from collections.abc import Mapping
from dataclasses import replace

from hooks.component.image.command_line import CommandLine
from hooks.component.image.flags import FRONTEND
from hooks.component.image.programs import read_runs
from hooks.component.pod.defaults import frontend
from hooks.component.pod.defaults.base import BARE, ComponentDefaults
from hooks.component.pod.defaults.listening import Written, find_served
from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.objects import ServicePort
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC
from hooks.language.api.component_spec import ComponentSpec


def resolve_defaults(spec: ComponentSpec) -> ComponentDefaults:
    """The defaults; the Service has the container's port, or that of a frontend, as far as the spec shows one."""
    main = canonical_fragment(spec.main_container)
    port = _find_declared(main) or _find_frontend(main, spec)
    return BARE if port is None else replace(BARE, service_port=port)


def _find_declared(main: Mapping[str, Json]) -> ServicePort | None:
    """The container's port `http`, otherwise its first one."""
    ports = [port for port in main.get("ports") or () if port.get("protocol", "TCP") == "TCP"]
    chosen = next((port for port in ports if port.get("name") == contract.HTTP_PORT_NAME), next(iter(ports), None))
    if chosen is None:
        return None
    number, name = chosen["containerPort"], chosen.get("name")
    return ServicePort(name=name or contract.HTTP_PORT_NAME, port=number, protocol="TCP", targetPort=name or number)


def _find_frontend(main: Mapping[str, Json], spec: ComponentSpec) -> ServicePort | None:
    if all(run.module != FRONTEND for run in read_runs(CommandLine.of(main))):
        return None
    variables = ((SPEC, main.get("env") or ()), (SPEC, canonical_fragment(spec.envs)))
    found = find_served(frontend.DEFAULTS, contract.HTTP_PORT_NAME, Written(SPEC, main, variables))
    port = (found and found.number) or contract.HTTP_PORT
    return ServicePort(name=contract.HTTP_PORT_NAME, port=contract.HTTP_PORT, protocol="TCP", targetPort=port)
