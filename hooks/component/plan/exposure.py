"""How a component is reached: its Service, the headless Service of its model, an Ingress, an Istio VirtualService.

Source: Dynamo operator, internal/dynamo/graph.go, GenerateComponentService, GenerateComponentIngress and
GenerateComponentVirtualService; internal/modelendpoint/headless_service.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.pod.defaults import ComponentDefaults
from hooks.component.pod.placement import Role
from hooks.component.spec.subject import ComponentType, Subject
from hooks.ground import contract
from hooks.ground.k8s.objects import HttpBackend, ServicePort, build_ingress, build_service, build_virtual_service
from hooks.ground.k8s.types import Manifest, ObjectMeta, build_metadata
from hooks.language.api.component_spec import Ingress
from hooks.wire.policy.identity import model_hash, model_service_name

_USUAL = {contract.SYSTEM_PORT_NAME: contract.SYSTEM_PORT, contract.HTTP_PORT_NAME: contract.HTTP_PORT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One host whose requests reach the component: through an ingress class, or through an Istio gateway.

    `tls_secret` is None for a host without TLS. It is empty if the ingress controller has its own certificate.
    """

    host: str
    class_name: str = ""
    gateway: str = ""
    tls_secret: str | None = None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """How a component is reached; `ports` are empty if it has no Service, `selector` selects the pods that serve.

    `system_port` is that of its system server.
    """

    ports: tuple[ServicePort, ...]
    system_port: int
    selector: Mapping[str, str]
    owns_model_service: bool
    ingress: Route | None
    virtual_service: Route | None


SERVED_TYPES = frozenset({ComponentType.FRONTEND, ComponentType.EPP})
"""Components that have a Service by any way of discovery."""


def plan_exposure(
    subject: Subject,
    defaults: ComponentDefaults,
    ingress: Ingress | None,
    *,
    is_multinode: bool,
    listening: Mapping[str, int] | None = None,
) -> Exposure:
    """Decide how a component is reached; `listening` has by name the numbers of ports that differ from the usual ones.

    A component has a Service under Kubernetes discovery, if it is a frontend or an endpoint picker, and if it has an
    Ingress or VirtualService. A graph makes one model Service for all its components; a component without a graph makes
    its own. In a replica over several nodes, only the leader is reached.
    """
    enabled = ingress if ingress and ingress.enabled else None
    by_class = _route(enabled, class_name=enabled.ingress_controller_class_name or "") if enabled else None
    by_gateway = _route(enabled, gateway=_gateway(enabled)) if enabled else None
    routes = [route for route in (by_class, by_gateway) if route and (route.class_name or route.gateway)]
    wants_service = subject.uses_kubernetes_discovery or subject.type in SERVED_TYPES
    role = {contract.LABEL_ROLE: Role.LEADER.value} if is_multinode else {}
    numbers = {**_USUAL, **(listening or {})}
    return Exposure(
        selector={**subject.selecting_labels(), **role},
        ports=_ports(defaults.service_port, numbers, exposed=bool(routes)) if wants_service or routes else (),
        system_port=numbers[contract.SYSTEM_PORT_NAME],
        owns_model_service=bool(subject.base_model) and not subject.graph,
        ingress=by_class if by_class in routes else None,
        virtual_service=by_gateway if by_gateway in routes else None,
    )


def ingress_host(ingress: Ingress) -> str:
    """The host of an ingress: `<prefix><host>.<suffix>`; the suffix is `local` if it is not set."""
    return f"{ingress.host_prefix or ''}{ingress.host}.{ingress.host_suffix or contract.DEFAULT_HOST_SUFFIX}"


def build_exposure(
    subject: Subject, exposure: Exposure, *, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> list[Manifest]:
    """Build the Services, the Ingress and the VirtualService; `labels` and `annotations` are the component's."""
    children: list[Manifest] = []
    if exposure.ports:
        children.append(_build_component_service(subject, exposure, labels, annotations))
    if exposure.owns_model_service:
        children.append(
            build_model_service(
                subject.name,
                subject.namespace,
                subject.base_model,
                selector=exposure.selector,
                port=exposure.system_port,
            )
        )
    for route in (exposure.ingress, exposure.virtual_service):
        if route:
            laid = {"labels": {**labels, **route.labels}, "annotations": {**annotations, **route.annotations}}
            metadata = build_metadata(subject.name, subject.namespace, **laid)
            children.append(_build_route(metadata, route, subject.service_object_name))
    return children


def build_model_service(
    owner: str, namespace: str, model: str, *, selector: Mapping[str, str], port: int | str
) -> Manifest:
    """Build the headless Service of one owner's pods that serve a base model; `port` is that of their system servers.

    `owner` is a graph, or a component without a graph. `selector` selects that owner's pods; the model's label is added
    to it. The Service's EndpointSlices have the label by which a DynamoModel finds its endpoints.
    """
    label = {contract.LABEL_MODEL_HASH: model_hash(model)}
    metadata = build_metadata(
        model_service_name(owner, model),
        namespace,
        labels={**label, contract.LABEL_MANAGED_BY: contract.MANAGER},
        annotations={contract.ANNOTATION_BASE_MODEL: model},
    )
    system = ServicePort(name=contract.SYSTEM_PORT_NAME, port=contract.SYSTEM_PORT, protocol="TCP", targetPort=port)
    return build_service(metadata, selector={**selector, **label}, ports=(system,), headless=True)


def _gateway(ingress: Ingress) -> str:
    return (ingress.virtual_service_gateway or "") if ingress.use_virtual_service else ""


def _route(ingress: Ingress, *, class_name: str = "", gateway: str = "") -> Route:
    return Route(
        host=ingress_host(ingress),
        class_name=class_name,
        gateway=gateway,
        tls_secret=ingress.tls.secret_name if ingress.tls else None,
        labels=ingress.labels,
        annotations=ingress.annotations,
    )


def _ports(own: ServicePort, numbers: Mapping[str, int], *, exposed: bool) -> tuple[ServicePort, ...]:
    """The component's own port and, if it is `exposed`, the port of Ingresses and VirtualServices.

    A Service's own port stays when its pods listen at another one: clients know it.

    Upstream's Ingress sends requests to port 8000 of every component, but only a frontend's Service has that port.
    """
    name = contract.HTTP_PORT_NAME
    http = ServicePort(name=name, port=contract.HTTP_PORT, protocol="TCP", targetPort=numbers[name])
    return (own, http) if exposed and own["port"] != contract.HTTP_PORT else (own,)


def _build_component_service(
    subject: Subject, exposure: Exposure, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Manifest:
    """Build the Service; a frontend's has no label for discovery, because no process looks for a frontend."""
    discovery = subject.discovery_labels()
    if subject.type is ComponentType.FRONTEND:
        discovery.pop(contract.LABEL_DISCOVERY_ENABLED, None)
    metadata = build_metadata(
        subject.service_object_name, subject.namespace, labels={**labels, **discovery}, annotations=annotations
    )
    return build_service(metadata, selector=exposure.selector, ports=exposure.ports)


def _build_route(metadata: ObjectMeta, route: Route, service: str) -> Manifest:
    backend = HttpBackend(service=service, port=contract.HTTP_PORT)
    if route.gateway:
        return build_virtual_service(metadata, gateway=route.gateway, host=route.host, backend=backend)
    tls: list[Mapping[str, object]] = []
    if route.tls_secret is not None:
        entry: dict[str, object] = {"hosts": [route.host]}
        tls = [{**entry, "secretName": route.tls_secret} if route.tls_secret else entry]
    return build_ingress(metadata, class_name=route.class_name, host=route.host, backend=backend, tls=tls)
