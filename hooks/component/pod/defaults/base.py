"""The class for a type's defaults, and the defaults of an unknown type."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.ground import contract
from hooks.ground.k8s.objects import ServicePort
from hooks.ground.k8s.types import ContainerPort, Json, VolumeMount

SHELL = ("/bin/sh", "-c")
GRACE_SECONDS = 60

SYSTEM_SERVICE_PORT = ServicePort(
    name=contract.SYSTEM_PORT_NAME,
    port=contract.SYSTEM_PORT,
    protocol="TCP",
    targetPort=contract.SYSTEM_PORT_NAME,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """Where a program reads at which port it listens: a variable and a flag, whose value wins; either may be empty.

    A flag without dashes is a key of a planner's configuration. `most` is the highest number that the program can read.
    """

    variable: str = ""
    flag: str = ""
    most: int = 65_535


SYSTEM_KNOB = Knob(variable="DYN_SYSTEM_PORT", most=32_767)
"""Of the system server; its number has 16 bits and a sign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentDefaults:
    """The defaults of a main container, its pod and its Service; `probes` are by field (`livenessProbe`, …).

    `knobs` are by the name of a port; a port without one has the same number always.
    `account` is the ServiceAccount that the type needs; empty if it needs none. `may_overlap`: in a rollout, old and
    new pods may run at the same time.
    """

    command: tuple[str, ...] = SHELL
    args: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    probes: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    volumes: tuple[Mapping[str, Json], ...] = ()
    mounts: tuple[VolumeMount, ...] = ()
    grace_seconds: int = GRACE_SECONDS
    account: str = ""
    service_port: ServicePort = field(default_factory=lambda: SYSTEM_SERVICE_PORT)
    may_overlap: bool = True


BARE = ComponentDefaults()


def tcp_port(name: str, number: int) -> ContainerPort:
    """Build a named TCP port of a container."""
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def http_get(path: str, port: str | int, **timings: int) -> Mapping[str, Json]:
    """Build a probe that requests a path at a port, by its name or number; `timings` are the probe's own fields."""
    return {"httpGet": {"path": path, "port": port}, **timings}
