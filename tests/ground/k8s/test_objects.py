"""Shapes of Services, Ingresses and VirtualServices."""

from hooks.ground.k8s.objects import HttpBackend, ServicePort, build_ingress, build_service, build_virtual_service
from hooks.ground.k8s.types import build_metadata

METADATA = build_metadata("a", "ns", labels={"l": "1"})
PORT = ServicePort(name="http", port=8000, protocol="TCP", targetPort="http")
BACKEND = HttpBackend(service="a", port=8000)


def test_service_leaves_its_type_and_address_to_the_server() -> None:
    assert build_service(METADATA, selector={"z": "1", "b": "2"}, ports=[PORT]) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "namespace": "ns", "labels": {"l": "1"}},
        "spec": {
            "selector": {"b": "2", "z": "1"},
            "ports": [{"name": "http", "port": 8000, "protocol": "TCP", "targetPort": "http"}],
        },
    }


def test_headless_service_has_no_address() -> None:
    assert build_service(METADATA, selector={"b": "2"}, ports=[PORT], headless=True)["spec"]["clusterIP"] == "None"


def test_ingress_sends_a_host_to_a_service() -> None:
    ingress = build_ingress(METADATA, class_name="nginx", host="a.local", backend=BACKEND)
    assert (ingress["apiVersion"], ingress["kind"]) == ("networking.k8s.io/v1", "Ingress")
    assert ingress["spec"] == {
        "ingressClassName": "nginx",
        "rules": [
            {
                "host": "a.local",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "a", "port": {"number": 8000}}},
                        }
                    ]
                },
            }
        ],
    }


def test_ingress_carries_its_tls_entries() -> None:
    tls = [{"hosts": ["a.local"], "secretName": "s"}]
    assert build_ingress(METADATA, class_name="nginx", host="a.local", backend=BACKEND, tls=tls)["spec"]["tls"] == tls


def test_virtual_service_routes_a_host_of_a_gateway() -> None:
    virtual = build_virtual_service(METADATA, gateway="istio-system/ingress-alb", host="a.local", backend=BACKEND)
    assert (virtual["apiVersion"], virtual["kind"]) == ("networking.istio.io/v1beta1", "VirtualService")
    assert virtual["spec"] == {
        "hosts": ["a.local"],
        "gateways": ["istio-system/ingress-alb"],
        "http": [
            {
                "match": [{"uri": {"prefix": "/"}}],
                "route": [{"destination": {"host": "a", "port": {"number": 8000}}}],
            }
        ],
    }
