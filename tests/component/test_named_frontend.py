"""A container that v1beta1 names as the component's frontend, and that v1alpha1 cannot describe."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.versions import convert
from tests import make
from tests.component.render import answer, only
from tests.graph import world

MAIN = {
    "name": "main",
    "image": "r:1.6.1",
    "command": ["python3", "-m", "dynamo.vllm"],
    "volumeMounts": [{"name": "models", "mountPath": "/models"}],
}
DESCRIBED = {"name": "sidecar-frontend", "image": "f:1.6.1", "resources": {"limits": {"cpu": "2"}}}
OTHER_NAME = {"name": "gateway", "image": "f:1.6.1", "args": ["-m", "dynamo.frontend", "--router-mode", "kv"]}
VOLUMES = [{"name": "models", "emptyDir": {}}]


def component(container: dict[str, Any]) -> dict[str, Any]:
    pod = {"containers": [MAIN, container], "volumes": VOLUMES}
    return {"name": "Worker", "type": "decode", "frontendSidecar": container["name"], "podTemplate": {"spec": pod}}


def stored_graph(container: dict[str, Any]) -> Manifest:
    components = [component(container)]
    return convert(
        {**make.graph(), "apiVersion": "nvidia.com/v1beta1", "spec": {"components": components}}, contract.VERSION
    )


def pods_of_graph(graph: Manifest, installed: tuple[str, ...]) -> dict[str, Any]:
    children = world.ask(graph, installed=installed).children
    if installed:
        pod: dict[str, Any] = world.child(children, "PodCliqueSet", "g")["spec"]["template"]["cliques"][0]["spec"][
            "podSpec"
        ]
        return pod
    found = world.child(children, "DynamoComponentDeployment", "g-worker")
    owner = {"kind": "DynamoGraphDeployment", "name": "g", "apiVersion": "nvidia.com/v1alpha1", "uid": "u"}
    metadata = {**found["metadata"], "ownerReferences": [owner], "uid": "c", "generation": 1}
    return deployed({**found, "metadata": metadata})


def deployed(parent: Manifest) -> dict[str, Any]:
    pod: dict[str, Any] = only(answer(parent).children, "Deployment")["spec"]["template"]["spec"]
    return pod


def container_of(pod: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in pod["containers"] if one["name"] == name)


def assert_is_frontend(container: dict[str, Any]) -> None:
    assert container["command"] == ["python3"]
    assert container["ports"] == [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
    assert container["livenessProbe"]["httpGet"] == {"path": "/live", "port": "http"}
    assert "startupProbe" in container, "the tag of its own image counts"
    assert {"name": "DYN_COMPONENT", "value": "frontend"} in container["env"]
    assert container["volumeMounts"] == [{"name": "models", "mountPath": "/models"}]


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
@pytest.mark.parametrize("written", [DESCRIBED, OTHER_NAME], ids=["other fields", "other name"])
def test_named_container_of_a_graph_has_a_frontends_defaults(
    written: dict[str, Any], installed: tuple[str, ...]
) -> None:
    found = container_of(pods_of_graph(stored_graph(written), installed), written["name"])
    assert_is_frontend(found)
    assert found["args"] == written.get("args", ["-m", "dynamo.frontend"])
    assert found.get("resources") == written.get("resources")


def test_named_container_of_a_component_has_a_frontends_defaults() -> None:
    beta = {**make.component("w"), "apiVersion": "nvidia.com/v1beta1", "spec": component(OTHER_NAME)}
    assert_is_frontend(container_of(deployed(convert(beta, contract.VERSION)), "gateway"))


def test_users_own_fields_win() -> None:
    own = {
        **OTHER_NAME,
        "env": [{"name": "DYN_HTTP_PORT", "value": "8080"}],
        "livenessProbe": {"exec": {"command": ["true"]}},
        "volumeMounts": [{"name": "models", "mountPath": "/mine"}],
    }
    found = container_of(pods_of_graph(stored_graph(own), ()), "gateway")
    assert {"name": "DYN_HTTP_PORT", "value": "8080"} in found["env"]
    assert found["livenessProbe"] == own["livenessProbe"]
    assert found["volumeMounts"] == own["volumeMounts"]


def test_container_that_nobody_names_stays_as_it_is() -> None:
    graph = stored_graph(OTHER_NAME)
    unnamed = {**graph, "metadata": {**graph["metadata"], "annotations": {}}}
    assert container_of(pods_of_graph(unnamed, ()), "gateway") == OTHER_NAME
    child = world.child(world.ask(unnamed).children, "DynamoComponentDeployment", "g-worker")
    assert contract.ANNOTATION_FRONTEND_CONTAINER not in child["spec"]["annotations"]
