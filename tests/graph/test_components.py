"""A service of a graph as a component: upstream's cases and the rules behind them."""

import json
from typing import Any

import pytest

from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.pods import merge_env
from hooks.wire.world.merge import is_stable
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

NAME = "test-dynamographdeployment"
CONFIG = '{"service1":{"port":8080,"ServiceArgs":{"Workers":2,"Resources":{"CPU":"2","Memory":"2Gi","GPU":"2"}}}}'
REWRITTEN = '{"service1":{"ServiceArgs":{"Resources":{"CPU":"2","GPU":"2","Memory":"2Gi"},"Workers":2},"port":8000}}'
LABELS = "nvidia.com/dynamo-component", "nvidia.com/dynamo-namespace", "nvidia.com/dynamo-graph-deployment-name"
NAMESPACE = "default-test-dynamographdeployment"


def env(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def two(service1: dict[str, Any] | None = None, service2: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The graph of upstream's cases: a frontend `service1` and `service2` of no type."""
    services = {
        "service1": {"componentType": "frontend", "replicas": 3, **(service1 or {})},
        "service2": service2 or {},
    }
    return make.graph(services, name=NAME, **spec)


def test_each_service_becomes_a_component_with_three_labels() -> None:
    graph = two({"dynamoNamespace": "default", "resources": {"limits": {"cpu": "1"}}}, {"dynamoNamespace": "default"})
    answer = world.ask(graph)
    assert world.names(answer.children, "DynamoComponentDeployment") == [f"{NAME}-service1", f"{NAME}-service2"]
    for service in ("service1", "service2"):
        child = world.child(answer.children, "DynamoComponentDeployment", f"{NAME}-{service}")
        expected = dict(zip(LABELS, (service, NAMESPACE, NAME), strict=True))
        assert child["metadata"]["labels"] == child["spec"]["labels"] == expected
        assert child["spec"]["dynamoNamespace"] == NAMESPACE
        assert child["spec"]["serviceName"] == service


def test_name_is_lower_case_and_the_service_keeps_its_own() -> None:
    children = world.ask(make.graph({"VllmWorker": {}})).children
    child = world.child(children, "DynamoComponentDeployment", "g-vllmworker")
    assert child["spec"]["serviceName"] == child["metadata"]["labels"]["nvidia.com/dynamo-component"] == "VllmWorker"


def test_global_namespace_holds_for_the_service_that_asks() -> None:
    graph = two({"globalDynamoNamespace": True})
    assert world.component(graph, "service1")["dynamoNamespace"] == "dynamo"
    assert world.component(graph, "service1")["labels"]["nvidia.com/dynamo-namespace"] == "dynamo"
    assert world.component(graph, "service2")["dynamoNamespace"] == NAMESPACE


def test_dots_of_the_graphs_name_become_dashes_in_the_namespace() -> None:
    spec = world.component(make.graph({"a": {}}, name="g.1"), "a")
    assert spec["dynamoNamespace"] == "default-g-1"


def test_long_namespace_is_cut_in_the_label_only() -> None:
    graph = make.graph({"a": {}}, name="g" * 60)
    spec = world.component(graph, "a")
    assert spec["dynamoNamespace"] == "default-" + "g" * 60
    assert len(spec["labels"]["nvidia.com/dynamo-namespace"]) == 63


def test_graphs_variables_are_merged_into_every_service() -> None:
    graph = two({"envs": [env("Z", "1"), env("TEST_ENV", "own")]}, envs=[env("TEST_ENV", "test_value")])
    assert world.component(graph, "service1")["envs"] == [env("TEST_ENV", "own"), env("Z", "1")]
    assert world.component(graph, "service2")["envs"] == [env("TEST_ENV", "test_value")]


def test_without_graphs_variables_the_users_order_stays() -> None:
    graph = two({"envs": [env("Z", "1"), env("A", "2"), env("Z", "3")]})
    assert world.component(graph, "service1")["envs"] == [env("Z", "3"), env("A", "2")]


@pytest.mark.parametrize(
    ("common", "specific", "merged"),
    [
        pytest.param([env("B", "1")], [env("A", "2")], [env("A", "2"), env("B", "1")], id="disjoint"),
        pytest.param([env("A", "1")], [env("A", "2")], [env("A", "2")], id="specific wins"),
        pytest.param([], [env("A", "2")], [env("A", "2")], id="empty common"),
        pytest.param([env("A", "1")], [], [env("A", "1")], id="empty specific"),
        pytest.param([env("A", "1"), env("A", "2")], [], [env("A", "2")], id="last duplicate wins"),
        pytest.param(
            [env("a", "1"), env("_", "1")], [env("B", "1"), env("1", "1")],
            [env("1", "1"), env("B", "1"), env("_", "1"), env("a", "1")], id="byte order",
        ),
        pytest.param(
            [env("A", "1")], [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}], id="the whole entry wins",
        ),
    ],
)  # fmt: skip
def test_variables_merge_by_name(common: list[Any], specific: list[Any], merged: list[Any]) -> None:
    assert merge_env(common, specific) == merged


def test_deployment_config_of_a_frontend() -> None:
    spec = world.component(two({"envs": [env("DYN_DEPLOYMENT_CONFIG", CONFIG)]}), "service1")
    assert spec["envs"] == [env("DYN_DEPLOYMENT_CONFIG", REWRITTEN)]
    quantities = {"cpu": "2", "memory": "2Gi", "gpu": "2"}
    assert spec["resources"] == {"requests": quantities, "limits": quantities}
    assert spec["replicas"] == 3


def test_deployment_config_of_another_service_changes_nothing() -> None:
    graph = two(service2={"envs": [env("DYN_DEPLOYMENT_CONFIG", CONFIG)], "resources": {"limits": {"gpu": "1"}}})
    spec = world.component(graph, "service2")
    assert spec["envs"] == [env("DYN_DEPLOYMENT_CONFIG", CONFIG)]
    assert spec["resources"] == {"limits": {"gpu": "1"}}
    assert spec["replicas"] == 1


def test_deployment_config_of_the_graph_reaches_its_service() -> None:
    text = '{"service2":{"ServiceArgs":{"Workers":3,"Resources":{"GPU":"2"}}}}'
    given = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    spec = world.component(two(service2=given, envs=[env("DYN_DEPLOYMENT_CONFIG", text)]), "service2")
    assert spec["replicas"] == 3
    assert spec["resources"]["requests"] == {"cpu": "1", "memory": "1Gi", "gpu": "2"}
    assert spec["resources"]["limits"] == {"gpu": "2"}


def test_custom_resources_of_the_config_replace_the_map() -> None:
    text = '{"service2":{"ServiceArgs":{"Resources":{"custom":{"b/c":"1"}}}}}'
    given = {"resources": {"limits": {"custom": {"a/b": "1"}}}, "envs": [env("DYN_DEPLOYMENT_CONFIG", text)]}
    limits = world.component(two(service2=given), "service2")["resources"]["limits"]
    assert limits == {"custom": {"b/c": "1"}}


def test_only_the_first_config_counts() -> None:
    first, second = '{"service2":{"ServiceArgs":{"workers":2}}}', '{"service2":{"ServiceArgs":{"workers":9}}}'
    envs = [env("DYN_DEPLOYMENT_CONFIG", first), env("DYN_DEPLOYMENT_CONFIG", second)]
    assert world.component(two(service2={"envs": envs}), "service2")["replicas"] == 2


ENABLE_METRICS, DISCOVERY = "nvidia.com/enable-metrics", "nvidia.com/dynamo-discovery-backend"
OLDEST = {"nvidia.com/dynamo-operator-origin-version": "0.9.0"}


def test_two_annotations_of_the_graph_are_handed_down() -> None:
    graph = two(annotations={ENABLE_METRICS: "false", DISCOVERY: "test", "mine": "x"})
    for service in ("service1", "service2"):
        found = world.component(graph, service)["annotations"]
        assert found == {DISCOVERY: "test", ENABLE_METRICS: "false", **OLDEST}


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/dynamo-kube-discovery-mode",
        "nvidia.com/dynamo-operator-origin-version",
        "nvidia.com/vllm-distributed-executor-backend",
    ],
)
def test_newer_annotations_are_handed_down_too(key: str) -> None:
    assert world.component(two(annotations={key: "x"}), "service2")["annotations"] == {**OLDEST, key: "x"}


def test_services_own_annotation_wins() -> None:
    graph = two(service2={"annotations": {ENABLE_METRICS: "true", "a": "b"}}, annotations={ENABLE_METRICS: "false"})
    assert world.component(graph, "service2")["annotations"] == {ENABLE_METRICS: "true", "a": "b", **OLDEST}


def test_services_labels_stay_under_the_operators() -> None:
    labels = {"team": "x", "nvidia.com/dynamo-component": "stolen", "controller-uid": "copied"}
    spec = world.component(two(service2={"labels": labels}), "service2")
    assert spec["labels"] == {"team": "x", **dict(zip(LABELS, ("service2", NAMESPACE, NAME), strict=True))}


def test_labels_of_the_graph_are_not_copied() -> None:
    graph = two()
    graph["metadata"]["labels"] = {"controller-uid": "u", "x": "y"}
    assert "x" not in world.component(graph, "service1")["labels"]


@pytest.mark.parametrize("framework", ["vllm", "sglang"])
def test_backend_framework_is_copied(framework: str) -> None:
    assert world.component(two(backendFramework=framework), "service1")["backendFramework"] == framework


def test_backend_framework_that_nobody_gives_is_left_out() -> None:
    assert "backendFramework" not in world.component(two(), "service1")


@pytest.mark.parametrize(("kind", "account"), [("planner", "g-planner"), ("epp", "g-epp"), ("worker", None)])
def test_account_of_a_type(kind: str, account: str | None) -> None:
    graph = make.graph({"a": make.service(kind, eppConfig={"config": {"plugins": []}})})
    children = world.ask(graph, installed=["inference-pool"]).children
    pod = world.child(children, "DynamoComponentDeployment", "g-a")["spec"]["extraPodSpec"]
    assert pod.get("serviceAccountName") == account
    assert pod["mainContainer"] == {"image": "img:1"}


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
def test_users_own_account_of_a_planner_stays(field: str) -> None:
    graph = make.graph({"a": make.service("planner", extraPodSpec={field: "mine"})})
    pod = world.component(graph, "a")["extraPodSpec"]
    assert pod[field] == "mine"
    assert pod.get("serviceAccountName", "mine") == "mine"


CLASS = {"ingress_class": "nginx"}
GATEWAY = {"ingress_gateway": "istio-system/gw", "ingress_tls_secret": "tls", "ingress_host_suffix": "example.com"}


@pytest.mark.parametrize(
    ("settings", "ingress"),
    [
        pytest.param({}, None, id="nothing configured"),
        pytest.param(
            CLASS,
            {"enabled": True, "host": NAME, "ingressControllerClassName": "nginx", "hostSuffix": "local"},
            id="class",
        ),
        pytest.param(
            GATEWAY,
            {
                "enabled": True,
                "host": NAME,
                "useVirtualService": True,
                "virtualServiceGateway": "istio-system/gw",
                "hostSuffix": "example.com",
                "tls": {"secretName": "tls"},
            },
            id="gateway",
        ),
    ],
)
def test_default_ingress_is_the_frontends_only(settings: dict[str, str], ingress: dict[str, Any] | None) -> None:
    assert world.component(two(), "service1", settings).get("ingress") == ingress
    assert "ingress" not in world.component(two(), "service2", settings)


def test_explicit_ingress_is_left_alone_even_when_disabled() -> None:
    graph = two({"ingress": {"enabled": False}})
    assert world.component(graph, "service1", CLASS)["ingress"] == {"enabled": False}


def test_replicas_default_to_one_and_zero_is_kept() -> None:
    assert world.component(two(service2={"replicas": 0}), "service2")["replicas"] == 0
    assert world.component(two(service2={}), "service2")["replicas"] == 1


def test_inline_picker_configuration_is_replaced_by_its_config_map() -> None:
    graph = make.graph({"E": make.service("epp", eppConfig={"config": {"weight": 0.5}})})
    children = world.ask(graph, installed=["inference-pool"]).children
    spec = world.child(children, "DynamoComponentDeployment", "g-e")["spec"]
    assert spec["eppConfig"] == {"configMapRef": {"name": "g-epp-config", "key": "epp-config-dynamo.yaml"}}


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ({"a": None, "b": [1, None, {"c": None}]}, {"b": [1, {}]}),
        (2.0, 2),
        (0.5, "500m"),
        (2.0**64, "18446744073709552e3"),
        ("", ""),
        ([], []),
        (False, False),
    ],
)
def test_nulls_and_floats_are_cleaned_and_nothing_else(value: Any, cleaned: Any) -> None:
    assert json.dumps(clean_json(value)) == json.dumps(cleaned)


TWICE: Any = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
LISTS: dict[str, dict[str, Any]] = {
    "envs": {"envs": TWICE},
    "main container": {"extraPodSpec": {"mainContainer": {"image": "i:1", "env": TWICE}}},
    "others": {
        "extraPodSpec": {
            "containers": [{"name": "s", "image": "s:1", "env": TWICE}],
            "initContainers": [{"name": "t", "image": "t:1", "env": TWICE}],
        }
    },
    "frontend beside it": {"frontendSidecar": {"image": "f:1", "envs": TWICE}},
}


@pytest.mark.parametrize("written", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("installed", [(), grove.GROVE], ids=["components", "Grove"])
def test_variable_written_twice_is_rendered_once_so_that_metacontroller_applies_what_is_wanted(
    written: dict[str, Any], installed: Any
) -> None:
    parent = make.graph({"w": {**make.service("worker"), **written}})
    children = world.ask(parent, installed=installed).children
    workloads = [one for one in children if one["kind"] in {"DynamoComponentDeployment", "PodCliqueSet"}]
    assert len(workloads) == 1
    assert all(map(is_stable, workloads))
    assert '"value": "3"' in json.dumps(workloads)
    assert '"value": "1"' not in json.dumps(workloads)
