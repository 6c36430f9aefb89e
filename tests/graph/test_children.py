"""What a graph's services share: adapters, claims, accounts, the endpoint picker, model Services."""

from typing import Any

import pytest
import yaml

from hooks.graph.sync import customize
from hooks.wire.metacontroller.protocol import CustomizeRequest
from tests import make
from tests.graph import world

ADAPTER, CLAIM = "DynamoGraphDeploymentScalingAdapter", "PersistentVolumeClaim"
ENTRY = {
    "name": "cache", "create": True, "size": "2048Mi", "storageClass": "std", "volumeAccessMode": "ReadWriteMany"
}  # fmt: skip
ETCD = {"discovery_backend": "etcd"}


def scaled(replicas: int | None = None, *, enabled: bool = True) -> dict[str, Any]:
    service = make.service("worker", scalingAdapter={"enabled": enabled})
    return {**service, **({} if replicas is None else {"replicas": replicas})}


def claim(name: str, owner: str = "", **spec: Any) -> dict[str, Any]:
    """A claim of the cluster; `owner` is the uid of its controller."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
    return {"apiVersion": "v1", "kind": CLAIM, "metadata": metadata, "spec": spec}


# Scaling adapters


def test_only_services_that_enable_it_get_an_adapter() -> None:
    graph = make.graph({"MyService": scaled(), "b": scaled(enabled=False), "c": make.service()})
    children = world.ask(graph).children
    assert world.names(children, ADAPTER) == ["g-myservice"]
    adapter = world.child(children, ADAPTER, "g-myservice")
    assert adapter["spec"] == {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "MyService"}}
    assert adapter["metadata"]["labels"] == {
        "nvidia.com/dynamo-component": "MyService",
        "nvidia.com/dynamo-graph-deployment-name": "g",
    }


@pytest.mark.parametrize(("own", "expected"), [(None, 1), (0, 0), (4, 4)])
def test_adapter_begins_with_the_graphs_replicas(own: int | None, expected: int) -> None:
    assert (
        world.child(world.ask(make.graph({"a": scaled(own)})).children, ADAPTER, "g-a")["spec"]["replicas"] == expected
    )


def test_scaled_adapter_is_the_truth_until_it_is_disabled() -> None:
    graph = make.graph({"a": scaled(2)})
    children = world.apply([], world.ask(graph).children)
    adapter = world.child(children, ADAPTER, "g-a")
    others = [c for c in children if c is not adapter]
    adapter = {**adapter, "spec": {**adapter["spec"], "replicas": 7}}
    answer = world.ask(graph, [*others, adapter])
    assert world.child(answer.children, "DynamoComponentDeployment", "g-a")["spec"]["replicas"] == 7
    assert "a: 7 replicas, the adapter's" in answer.notes
    off = world.ask(make.graph({"a": scaled(2, enabled=False)}), [*others, adapter])
    assert world.names(off.children, ADAPTER) == []
    assert world.child(off.children, "DynamoComponentDeployment", "g-a")["spec"]["replicas"] == 2


def test_adapter_scaled_to_zero_counts() -> None:
    graph = make.graph({"a": scaled(2)})
    adapter = make.observed(world.child(world.ask(graph).children, ADAPTER, "g-a"))
    adapter["spec"]["replicas"] = 0
    spec = world.child(world.ask(graph, [adapter]).children, "DynamoComponentDeployment", "g-a")["spec"]
    assert spec["replicas"] == 0


# Claims


def test_claim_is_created_in_canonical_form() -> None:
    assert world.child(world.ask(make.graph(pvcs=[ENTRY])).children, CLAIM, "cache") == {
        "apiVersion": "v1",
        "kind": CLAIM,
        "metadata": {"name": "cache", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "2Gi"}},
            "storageClassName": "std",
        },
    }


def test_existing_claim_of_somebody_else_is_used_as_it_is() -> None:
    answer = world.ask(make.graph(pvcs=[ENTRY]), related=[claim("cache")])
    assert world.names(answer.children, CLAIM) == []


def test_claim_that_nobody_makes_is_named_and_the_rest_goes_on() -> None:
    graph = make.graph(pvcs=[{"name": "models"}])
    children = world.run(world.apply([], world.ask(graph).children))
    answer = world.ask(graph, children)
    assert answer.status is not None
    assert answer.status["state"] == "pending"
    message = (
        "PersistentVolumeClaim models: WaitingForDependency: it does not exist - "
        "create it, or set create in its entry of spec.pvcs"
    )
    assert world.ready(answer)["message"] == message
    assert world.names(answer.children, "DynamoComponentDeployment") == ["g-frontend", "g-worker"]
    found = world.ask(graph, children, related=[claim("models")])
    assert world.ready(found)["status"] == "True"


@pytest.mark.parametrize("owner", ["", "u-g"], ids=["of somebody else", "of the graph"])
def test_claim_whose_volume_is_gone_is_named_and_the_rest_goes_on(owner: str) -> None:
    graph = make.graph(pvcs=[{**ENTRY, "create": bool(owner)}])
    found = claim("cache", owner=owner) if owner else claim("cache")
    lost = {**found, "status": {"phase": "Lost"}}
    children = world.run(world.apply([], world.ask(graph, related=[found]).children))
    assert world.ready(world.ask(graph, children, related=[found]))["status"] == "True"
    answer = world.ask(
        graph,
        [*(one for one in children if one["kind"] != CLAIM), *([lost] if owner else [])],
        related=[] if owner else [lost],
    )
    assert answer.status is not None
    assert answer.status["notReadyReason"] == "WaitingForDependency"
    assert world.ready(answer)["message"] == (
        "PersistentVolumeClaim cache: WaitingForDependency: it is Lost, because its volume is gone - "
        "restore its PersistentVolume, or delete the claim and create it again without its data"
    )
    assert world.names(answer.children, "DynamoComponentDeployment") == ["g-frontend", "g-worker"]


def test_claim_of_a_deleted_graph_that_is_being_deleted_is_named_with_what_holds_it() -> None:
    graph = make.graph(pvcs=[{**ENTRY, "create": True}])
    found = claim("cache", owner="u-before")
    going = {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    held = {**found, "metadata": {**found["metadata"], **going}}
    children = world.apply([], world.ask(graph, related=[held]).children)
    answer = world.ask(graph, children, related=[held])
    assert answer.status is not None
    assert answer.status["notReadyReason"] == "WaitingForDependency"
    assert (
        "PersistentVolumeClaim cache: WaitingForDependency: it is being deleted, held by finalizer "
        "kubernetes.io/pvc-protection - wait until what depends on it, or uses it, is gone"
    ) in world.ready(answer)["message"]
    # Pods that run hold the claim themselves: it goes when they go, and until then nothing lacks.
    assert world.ready(world.ask(graph, world.run(children), related=[held]))["status"] == "True"


def test_claim_stays_for_ever_once_created() -> None:
    children = world.apply([], world.ask(make.graph(pvcs=[ENTRY])).children)
    for pvcs in ([], [{**ENTRY, "create": False}], [ENTRY]):
        answer = world.ask(make.graph(pvcs=pvcs), children)
        stub = {"apiVersion": "v1", "kind": CLAIM, "metadata": {"name": "cache", "namespace": "default"}}
        assert world.child(answer.children, CLAIM, "cache") == stub


def test_own_claim_that_only_related_shows_yet_is_not_made_again() -> None:
    answer = world.ask(make.graph(pvcs=[ENTRY]), related=[claim("cache", owner="u-g")])
    assert "spec" not in world.child(answer.children, CLAIM, "cache")


def test_changed_entry_is_reported_and_the_claim_is_kept() -> None:
    graph = make.graph(pvcs=[{**ENTRY, "size": "4Gi"}])
    children = world.run(world.apply([], world.ask(make.graph(pvcs=[ENTRY])).children))
    answer = world.ask(graph, children)
    assert world.ready(answer)["status"] == "True"
    assert world.ready(answer)["message"] == (
        "All resources are ready; PersistentVolumeClaim cache keeps size 2Gi, 4Gi needs a new claim"
    )


def test_first_of_two_entries_of_a_name_counts() -> None:
    children = world.ask(make.graph(pvcs=[ENTRY, {**ENTRY, "size": "9Gi"}])).children
    assert world.child(children, CLAIM, "cache")["spec"]["resources"]["requests"]["storage"] == "2Gi"


@pytest.mark.parametrize("pvcs", [None, [], [{}], [None], [{"name": ""}], [{"name": 3}]])
def test_graph_without_named_claims_asks_for_none(pvcs: Any) -> None:
    parent = make.graph(pvcs=pvcs)
    rules = customize(CustomizeRequest(parent=parent), make.facts())
    assert "persistentvolumeclaims" not in [rule.resource for rule in rules]


def test_named_claims_are_asked_for_by_name_in_the_namespace() -> None:
    _, rule, *_ = customize(CustomizeRequest(parent=make.graph(pvcs=[{"name": "b"}, ENTRY])), make.facts())
    assert rule.to_json() == {
        "apiVersion": "v1",
        "resource": "persistentvolumeclaims",
        "namespace": "default",
        "names": ["b", "cache"],
    }


# Accounts


@pytest.mark.parametrize(
    ("annotation", "setting", "wanted"),
    [
        (None, "kubernetes", True),
        (None, "etcd", False),
        ("etcd", "kubernetes", False),
        ("kubernetes", "etcd", True),
        ("", "kubernetes", True),
        ("test", "kubernetes", False),
    ],
)
def test_discovery_rights_exist_under_kubernetes_discovery(annotation: str | None, setting: str, wanted: bool) -> None:
    annotations = {} if annotation is None else {"nvidia.com/dynamo-discovery-backend": annotation}
    answer = world.ask(make.graph(annotations=annotations), settings={"discovery_backend": setting})
    base = "g-k8s-service-discovery"
    assert world.names(answer.children, "ServiceAccount") == ([base] if wanted else [])
    assert world.names(answer.children, "Role") == ([f"{base}-role"] if wanted else [])
    assert world.names(answer.children, "RoleBinding") == ([f"{base}-binding"] if wanted else [])


def test_service_that_alone_discovers_through_kubernetes_gets_the_rights_too() -> None:
    own = make.service(annotations={"nvidia.com/dynamo-discovery-backend": "kubernetes"})
    answer = world.ask(make.graph({"a": own}), settings=ETCD)
    assert world.names(answer.children, "ServiceAccount") == ["g-k8s-service-discovery"]


def test_discovery_role_lets_workers_create_their_metadata() -> None:
    role = world.child(world.ask(make.graph()).children, "Role", "g-k8s-service-discovery-role")
    (rule,) = [r for r in role["rules"] if r["apiGroups"] == ["nvidia.com"]]
    assert rule["resources"] == ["dynamoworkermetadatas"]
    assert {"create", "patch", "list", "watch"} <= set(rule["verbs"])


def test_account_label_of_a_long_name_is_cut() -> None:
    answer = world.ask(make.graph({"a": {}}, name="g" * 55))
    (account,) = [c for c in answer.children if c["kind"] == "ServiceAccount"]
    assert account["metadata"]["name"] == "g" * 55 + "-k8s-service-discovery"
    assert len(account["metadata"]["labels"]["app.kubernetes.io/name"]) == 63


@pytest.mark.parametrize(("kind", "account"), [("planner", "g-planner"), ("epp", "g-epp")])
def test_type_with_rights_of_its_own_gets_an_account_and_a_binding(kind: str, account: str) -> None:
    graph = make.graph({"a": make.service(kind, eppConfig={"configMapRef": {"name": "c", "key": "k"}})})
    settings = {**ETCD, f"{kind}_cluster_role": "my-role"}
    answer = world.ask(graph, installed=["inference-pool"], settings=settings)
    assert world.names(answer.children, "ServiceAccount") == [account]
    binding = world.child(answer.children, "RoleBinding", f"{account}-binding")
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "my-role"}
    assert binding["roleRef"] == reference
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "default"}]
    assert binding["metadata"]["labels"] == {
        "app.kubernetes.io/component": "rbac",
        "app.kubernetes.io/managed-by": "dynamo-operator",
        "app.kubernetes.io/name": account,
    }


def test_planner_under_the_users_account_gets_no_rights_from_us() -> None:
    graph = make.graph({"a": make.service("planner", extraPodSpec={"serviceAccountName": "mine"})})
    assert world.names(world.ask(graph, settings=ETCD).children, "ServiceAccount") == []


def test_planner_that_names_our_account_still_finds_it() -> None:
    graph = make.graph({"a": make.service("planner", extraPodSpec={"serviceAccountName": "g-planner"})})
    assert world.names(world.ask(graph, settings=ETCD).children, "ServiceAccount") == ["g-planner"]


def test_binding_whose_role_changed_is_left_out_once() -> None:
    graph = make.graph({"a": make.service("planner")})
    children = world.apply([], world.ask(graph, settings=ETCD).children)
    other = {**ETCD, "planner_cluster_role": "other"}
    answer = world.ask(graph, children, settings=other)
    assert world.names(answer.children, "RoleBinding") == []
    assert "RoleBinding g-planner-binding is removed once: its role changed" in answer.notes
    again = world.ask(graph, world.apply(children, answer.children), settings=other)
    assert world.child(again.children, "RoleBinding", "g-planner-binding")["roleRef"]["name"] == "other"


# Endpoint picker


def picker(epp_config: Any = None, **spec: Any) -> dict[str, Any]:
    plugin = {"type": "queue-scorer", "weight": 0.5, "parameters": {"a": 1, "b": None}}
    config = {"config": {"kind": None, "plugins": [plugin]}}
    return make.service("epp", eppConfig=epp_config or config, **spec)


def test_picker_gets_a_pool_of_the_graphs_workers() -> None:
    children = world.ask(make.graph({"Epp": picker()}, name="g.1"), installed=["inference-pool"]).children
    pool = world.child(children, "InferencePool", "g.1-pool")
    assert pool["apiVersion"] == "inference.networking.k8s.io/v1"
    assert pool["spec"] == {
        "targetPorts": [{"number": 8000}],
        "selector": {
            "matchLabels": {
                "nvidia.com/dynamo-component-class": "worker",
                "nvidia.com/dynamo-namespace": "default-g-1",
            }
        },
        "endpointPickerRef": {"kind": "Service", "name": "g-1-epp", "port": {"number": 9002}},
    }
    assert pool["metadata"]["labels"] == {
        "nvidia.com/dynamo-component": "Epp",
        "nvidia.com/dynamo-component-type": "epp",
        "nvidia.com/dynamo-graph-deployment-name": "g.1",
    }


def test_inline_configuration_becomes_a_config_map_nulls_of_parameters_included() -> None:
    children = world.ask(make.graph({"Epp": picker()}), installed=["inference-pool"]).children
    data = world.child(children, "ConfigMap", "g-epp-config")["data"]
    assert yaml.safe_load(data["epp-config-dynamo.yaml"]) == {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "queue-scorer", "weight": 0.5, "parameters": {"a": 1, "b": None}}],
    }


def test_users_config_map_is_used_and_none_is_made() -> None:
    reference = {"configMapRef": {"name": "mine", "key": "k"}}
    children = world.ask(make.graph({"Epp": picker(reference)}), installed=["inference-pool"]).children
    assert world.names(children, "ConfigMap") == []
    assert world.child(children, "DynamoComponentDeployment", "g-epp")["spec"]["eppConfig"] == reference
    assert world.names(children, "InferencePool") == ["g-pool"]


def test_pool_points_to_the_first_of_two_pickers() -> None:
    children = world.ask(make.graph({"b": picker(), "a": picker()}), installed=["inference-pool"]).children
    assert world.child(children, "InferencePool", "g-pool")["spec"]["endpointPickerRef"]["name"] == "g-a"


# Model Services


def test_one_headless_service_per_model_selects_the_graphs_pods() -> None:
    model = make.service(modelRef={"name": "Qwen/Qwen3-0.6B"})
    other = make.service(modelRef={"name": "deepseek-ai/DeepSeek-R1", "revision": "x"})
    graph = make.graph({"a": model, "b": model, "c": other})
    children = world.ask(graph).children
    assert world.names(children, "Service") == ["g-model-4ecad6d3", "g-model-fb68f5a6"]
    service = world.child(children, "Service", "g-model-fb68f5a6")
    assert service["metadata"]["annotations"] == {"nvidia.com/dynamo-base-model": "Qwen/Qwen3-0.6B"}
    assert service["metadata"]["labels"] == {
        "nvidia.com/dynamo-base-model-hash": "fb68f5a6",
        "nvidia.com/managed-by": "dynamo-operator",
    }
    assert service["spec"] == {
        "clusterIP": "None",
        "ports": [{"name": "system", "port": 9090, "protocol": "TCP", "targetPort": 9090}],
        "selector": {
            "nvidia.com/dynamo-base-model-hash": "fb68f5a6",
            "nvidia.com/dynamo-graph-deployment-name": "g",
        },
    }


def test_no_child_is_of_a_kind_that_only_components_make() -> None:
    made = {c["kind"] for c in world.ask(make.graph()).children}
    assert made == {"DynamoComponentDeployment", "Role", "RoleBinding", "ServiceAccount"}
