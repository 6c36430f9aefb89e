"""The default ingress of a frontend, from the installation's settings."""

from hooks.ground.k8s.types import Json
from hooks.ground.settings import Settings


def default_ingress(graph: str, settings: Settings) -> dict[str, Json]:
    """Build `spec.ingress` of a frontend: its host is the graph's name; {} if neither gateway nor class is set.

    Source: Dynamo operator, internal/dynamo/graph.go, GenerateDefaultIngressSpec.
    """
    if not settings.ingress_gateway and not settings.ingress_class:
        return {}
    ingress: dict[str, Json] = {"enabled": True, "host": graph}
    if settings.ingress_gateway:
        ingress |= {"useVirtualService": True, "virtualServiceGateway": settings.ingress_gateway}
    if settings.ingress_class:
        ingress["ingressControllerClassName"] = settings.ingress_class
    if settings.ingress_host_suffix:
        ingress["hostSuffix"] = settings.ingress_host_suffix
    if settings.ingress_tls_secret:
        ingress["tls"] = {"secretName": settings.ingress_tls_secret}
    return ingress
