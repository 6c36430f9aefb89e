"""How a component is reached from inside and outside."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from tests import make
from tests.component.render import answer, children, only

MODEL = {"name": "Qwen/Qwen3-0.6B"}
EPP = {"eppConfig": {"configMapRef": {"name": "c", "key": "k"}}}
NGINX = {"enabled": True, "host": "someservice", "ingressControllerClassName": "nginx"}
ISTIO = {
    "enabled": True,
    "host": "someservice",
    "useVirtualService": True,
    "virtualServiceGateway": "istio-system/ingress-alb",
}


def service(spec: dict[str, Any], *, name: str = "c", graph: str = "g", **settings: str) -> Manifest:
    return only(children(spec, name=name, graph=graph, **settings), "Service")


def kinds_of(spec: dict[str, Any], **settings: str) -> list[str]:
    return [child["kind"] for child in children(spec, **settings)]


PORTS = {
    "frontend": ("frontend", {}, {"name": "http", "port": 8000, "protocol": "TCP", "targetPort": "http"}),
    "worker": ("worker", {}, {"name": "system", "port": 9090, "protocol": "TCP", "targetPort": "system"}),
    "prefill": ("prefill", {}, {"name": "system", "port": 9090, "protocol": "TCP", "targetPort": "system"}),
    "planner": ("planner", {}, {"name": "metrics", "port": 9085, "protocol": "TCP", "targetPort": "metrics"}),
    "endpoint picker": (
        "epp",
        EPP,
        {"name": "grpc", "port": 9002, "protocol": "TCP", "targetPort": "grpc", "appProtocol": "http2"},
    ),
    "unknown": ("thing", {}, {"name": "system", "port": 9090, "protocol": "TCP", "targetPort": "system"}),
}


@pytest.mark.parametrize(("kind", "fields", "port"), PORTS.values(), ids=PORTS.keys())
def test_service_has_the_port_of_its_type(kind: str, fields: Any, port: Any) -> None:
    assert service({"componentType": kind, **fields})["spec"]["ports"] == [port]


WANTED = {
    ("frontend", "etcd"): True,
    ("epp", "etcd"): True,
    ("worker", "etcd"): False,
    ("planner", "etcd"): False,
    ("", "etcd"): False,
    ("worker", "kubernetes"): True,
    ("planner", "kubernetes"): True,
    ("", "kubernetes"): True,
}


@pytest.mark.parametrize(("case", "wanted"), WANTED.items(), ids=lambda v: "-".join(v) if isinstance(v, tuple) else "")
def test_service_exists_where_something_finds_it(case: tuple[str, str], wanted: bool) -> None:
    kind, discovery = case
    spec = {"componentType": kind, **(EPP if kind == "epp" else {})}
    assert ("Service" in kinds_of(spec, discovery_backend=discovery)) is wanted


def test_service_selects_one_component_of_one_graph() -> None:
    spec = {"componentType": "worker", "serviceName": "VllmWorker"}
    assert service(spec)["spec"]["selector"] == {
        "nvidia.com/dynamo-component": "VllmWorker",
        "nvidia.com/dynamo-component-type": "worker",
        "nvidia.com/dynamo-namespace": "default-g",
    }


def test_service_of_a_component_without_type_selects_no_type() -> None:
    assert "nvidia.com/dynamo-component-type" not in service({})["spec"]["selector"]


def test_service_of_a_dotted_component_has_a_name_that_a_service_may_have() -> None:
    found = children({"componentType": "frontend", "ingress": NGINX}, name="a.b")
    assert only(found, "Service")["metadata"]["name"] == "a-b"
    path = only(found, "Ingress")["spec"]["rules"][0]["http"]["paths"][0]
    assert path["backend"]["service"]["name"] == "a-b"


DISCOVERY = {
    "worker": ("worker", "kubernetes", {"nvidia.com/dynamo-discovery-backend", "nvidia.com/dynamo-discovery-enabled"}),
    "frontend": ("frontend", "kubernetes", {"nvidia.com/dynamo-discovery-backend"}),
    "etcd": ("frontend", "etcd", set[str]()),
}


@pytest.mark.parametrize(("kind", "discovery", "expected"), DISCOVERY.values(), ids=DISCOVERY.keys())
def test_service_says_by_labels_that_it_is_discovered(kind: str, discovery: str, expected: set[str]) -> None:
    labels = service({"componentType": kind}, discovery_backend=discovery)["metadata"].get("labels", {})
    assert {label for label in labels if "discovery" in label} == expected


def test_component_that_stands_alone_has_its_own_model_service() -> None:
    spec = {"componentType": "worker", "modelRef": MODEL}
    found = [child for child in children(spec, graph="") if child["spec"].get("clusterIP") == "None"]
    assert found == [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "c-model-fb68f5a6",
                "namespace": "default",
                "labels": {
                    "nvidia.com/dynamo-base-model-hash": "fb68f5a6",
                    "nvidia.com/managed-by": "dynamo-operator",
                },
                "annotations": {"nvidia.com/dynamo-base-model": "Qwen/Qwen3-0.6B"},
            },
            "spec": {
                "clusterIP": "None",
                "selector": {
                    "nvidia.com/dynamo-base-model-hash": "fb68f5a6",
                    "nvidia.com/dynamo-component": "c",
                    "nvidia.com/dynamo-component-type": "worker",
                    "nvidia.com/dynamo-namespace": "default-c",
                },
                "ports": [{"name": "system", "port": 9090, "protocol": "TCP", "targetPort": 9090}],
            },
        }
    ]


def test_model_service_of_a_graph_is_left_to_the_graph() -> None:
    assert kinds_of({"componentType": "worker", "modelRef": MODEL}) == ["Deployment", "Service"]


def test_ingress_sends_its_host_to_the_service() -> None:
    ingress = only(children({"componentType": "frontend", "ingress": NGINX}, name="service1"), "Ingress")
    assert ingress["metadata"]["name"] == "service1"
    assert ingress["spec"]["ingressClassName"] == "nginx"
    assert ingress["spec"]["rules"][0]["host"] == "someservice.local"
    path = ingress["spec"]["rules"][0]["http"]["paths"][0]
    assert (path["path"], path["pathType"]) == ("/", "Prefix")
    assert path["backend"] == {"service": {"name": "service1", "port": {"number": 8000}}}
    assert "tls" not in ingress["spec"]


def test_host_is_made_of_prefix_host_and_suffix() -> None:
    ingress = {**NGINX, "hostPrefix": "eu-", "hostSuffix": "example.com", "tls": {"secretName": "s"}}
    spec = only(children({"componentType": "frontend", "ingress": ingress}), "Ingress")["spec"]
    assert spec["rules"][0]["host"] == "eu-someservice.example.com"
    assert spec["tls"] == [{"hosts": ["eu-someservice.example.com"], "secretName": "s"}]


def test_labels_and_annotations_of_the_ingress_are_laid_over_the_components() -> None:
    spec = {
        "componentType": "frontend",
        "labels": {"team": "a", "tier": "x"},
        "ingress": {**NGINX, "labels": {"tier": "y"}, "annotations": {"nginx/x": "600"}},
    }
    found = children(spec)
    assert only(found, "Ingress")["metadata"]["labels"] == {"team": "a", "tier": "y"}
    assert only(found, "Ingress")["metadata"]["annotations"] == {"nginx/x": "600"}
    assert only(found, "Service")["metadata"]["labels"]["tier"] == "x"


NOT_WANTED = {
    "absent": None,
    "disabled": {**NGINX, "enabled": False},
    "no class": {"enabled": True, "host": "h"},
    "empty class": {**NGINX, "ingressControllerClassName": ""},
    "gateway without the switch": {**ISTIO, "useVirtualService": False},
    "switch without gateway": {"enabled": True, "host": "h", "useVirtualService": True},
}


@pytest.mark.parametrize("ingress", NOT_WANTED.values(), ids=NOT_WANTED.keys())
def test_nothing_is_exposed_without_need(ingress: Any) -> None:
    assert kinds_of({"componentType": "frontend", "ingress": ingress}) == ["Deployment", "Service"]


def test_component_that_is_no_frontend_gets_the_port_that_its_ingress_is_sent_to() -> None:
    found = children({"componentType": "processor", "ingress": NGINX}, discovery_backend="etcd")
    assert [(port["name"], port["port"]) for port in only(found, "Service")["spec"]["ports"]] == [
        ("system", 9090),
        ("http", 8000),
    ]


def test_virtual_service_routes_its_host_where_istio_is_installed() -> None:
    parent = make.component("service1", "g", componentType="frontend", ingress=ISTIO)
    virtual = only(answer(parent, installed=("istio",)).children, "VirtualService")
    assert virtual["metadata"]["name"] == "service1"
    assert (virtual["spec"]["hosts"], virtual["spec"]["gateways"]) == (
        ["someservice.local"],
        ["istio-system/ingress-alb"],
    )
    assert virtual["spec"]["http"][0]["route"] == [{"destination": {"host": "service1", "port": {"number": 8000}}}]


def test_virtual_service_without_istio_is_said_in_the_status() -> None:
    given = answer(make.component("c", "g", componentType="frontend", ingress=ISTIO))
    assert [child["kind"] for child in given.children] == ["Deployment", "Service"]
    assert given.status is not None
    assert "Istio" in given.status["conditions"][2]["message"]
    assert given.problems == ()


def test_long_dynamo_namespace_fits_into_a_label() -> None:
    found = children({"componentType": "worker"}, graph="g" * 60)
    selector = only(found, "Service")["spec"]["selector"]
    assert len(selector["nvidia.com/dynamo-namespace"]) <= 63
    labels = only(found, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items()
