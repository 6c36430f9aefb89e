"""The shape of a type's defaults, and those of an unknown type."""

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
    """Defaults of a main container, its pod and its Service; `probes` by field (`livenessProbe`, …).

    `account` is the ServiceAccount that the type needs; empty leaves it to discovery.
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
    """Write a named TCP port of a container."""
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def http_get(path: str, port: str, **timings: int) -> Mapping[str, Json]:
    """Write a probe that asks for a path at a named port; timings are the probe's own fields, in seconds."""
    return {"httpGet": {"path": path, "port": port}, **timings}
