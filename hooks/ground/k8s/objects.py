"""Builds Services, Ingresses and Istio VirtualServices; decides nothing.

It writes only decided fields, and values as the API server stores them: a value that the server rewrites would cause a
write at every sync.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, ObjectMeta, build_manifest


class ServicePort(TypedDict):
    """A port of a Service; `targetPort` is a container port's name or number."""

    name: str
    port: int
    protocol: str
    targetPort: int | str
    appProtocol: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpBackend:
    """The Service and the port number to which an Ingress or VirtualService sends requests."""

    service: str
    port: int


def build_service(
    metadata: ObjectMeta, *, selector: Mapping[str, str], ports: Sequence[ServicePort], headless: bool = False
) -> Manifest:
    """Build a Service; a headless one has no cluster IP, and clients read its EndpointSlices.

    No two ports may have the same number: Metacontroller merges ports by number and would lose one.
    """
    spec = {"selector": dict(sorted(selector.items())), "ports": list(ports)}
    return build_manifest(kinds.SERVICE, metadata, spec={"clusterIP": "None", **spec} if headless else spec)


def build_ingress(
    metadata: ObjectMeta, *, class_name: str, host: str, backend: HttpBackend, tls: Sequence[Mapping[str, object]] = ()
) -> Manifest:
    """Build an Ingress that sends all requests for one host to one Service.

    `tls` are whole entries: `{"hosts": [...], "secretName": ...}`.
    """
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": backend.service, "port": {"number": backend.port}}},
    }
    spec: dict[str, object] = {"ingressClassName": class_name, "rules": [{"host": host, "http": {"paths": [path]}}]}
    if tls:
        spec["tls"] = [dict(entry) for entry in tls]
    return build_manifest(kinds.INGRESS, metadata, spec=spec)


def build_virtual_service(metadata: ObjectMeta, *, gateway: str, host: str, backend: HttpBackend) -> Manifest:
    """Build an Istio VirtualService that sends all requests for one host at one gateway to one Service.

    Source: istio.io/v1beta1 VirtualService.
    """
    route = {
        "match": [{"uri": {"prefix": "/"}}],
        "route": [{"destination": {"host": backend.service, "port": {"number": backend.port}}}],
    }
    return build_manifest(
        kinds.VIRTUAL_SERVICE, metadata, spec={"hosts": [host], "gateways": [gateway], "http": [route]}
    )
