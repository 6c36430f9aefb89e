"""The class for a type's defaults, and the defaults of an unknown type."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks import contract
from hooks.k8s.objects import ServicePort
from hooks.k8s.types import ContainerPort, Json, VolumeMount

SHELL = ("/bin/sh", "-c")
GRACE_SECONDS = 60

SYSTEM_SERVICE_PORT = ServicePort(
    name=contract.SYSTEM_PORT_NAME,
    port=contract.SYSTEM_PORT,
    protocol="TCP",
    targetPort=contract.SYSTEM_PORT_NAME,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentDefaults:
    """The defaults of a main container, its pod and its Service; `probes` are by field (`livenessProbe`, …).

    `account` is the ServiceAccount that the type needs; empty if it needs none. `may_overlap`: in a rollout, old and
    new pods may run at the same time.
    """

    command: tuple[str, ...] = SHELL
    args: tuple[str, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
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
