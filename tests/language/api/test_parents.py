"""Whole parents read into models."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hooks.ground.errors import InvalidSpec
from hooks.ground.problems import SPEC, Key, texts_of
from hooks.ground.settings import Settings, parse_settings
from hooks.language.api.base import ApiModel, parse_parent, read_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.graph_request import GraphRequest
from hooks.language.api.model import Model
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.server.admission.app import create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from hooks.server.app import create_app


def parent(spec: Any, status: Any = None, **metadata: Any) -> dict[str, Any]:
    whole = {
        "metadata": {"name": "example", "namespace": "team", "uid": "u-1", "generation": 3, **metadata},
        "spec": spec,
    }
    return whole if status is None else {**whole, "status": status}


READY = {
    "type": "Ready",
    "status": "True",
    "reason": "all_resources_are_ready",
    "message": "All resources are ready",
    "lastTransitionTime": "2026-01-31T09:30:00Z",
}
WORKER = {
    "componentType": "worker",
    "subComponentType": None,
    "replicas": 2,
    "envFromSecret": "hf-token-secret",
    "resources": {"limits": {"gpu": "1", "custom": {"rdma/ib": "1"}}, "claims": [{"name": "channel"}]},
    "sharedMemory": {"size": "16Gi"},
    "volumeMounts": [{"name": "cache", "useAsCompilationCache": True}],
    "multinode": {"nodeCount": 2},
    "scalingAdapter": {"enabled": True},
    "modelRef": {"name": "Qwen/Qwen3-0.6B"},
    "extraPodSpec": {"mainContainer": {"image": "registry.example/vllm:1", "args": ["-m", "dynamo.vllm"]}},
}
GRAPH = parent(
    {
        "backendFramework": "vllm",
        "pvcs": [{"name": "cache", "create": True, "size": "100Gi", "storageClass": "s", "volumeAccessMode": "m"}],
        "envs": [{"name": "A", "value": "1"}],
        "restart": {"id": "7", "strategy": {"order": ["decode"]}},
        "services": {"decode": WORKER},
    },
    {
        "state": "successful",
        "conditions": [READY],
        "services": {
            "decode": {"componentKind": "LeaderWorkerSet", "componentName": "d", "replicas": 2, "updatedReplicas": 1}
        },
        "restart": {"observedID": "6", "phase": "Completed", "inProgress": ["decode"]},
        "checkpoints": {"decode": {"checkpointName": "c", "ready": True}},
    },
)


def test_graph_is_read_with_all_its_parts() -> None:
    graph = parse_parent(GraphDeployment, GRAPH)
    service = graph.spec.services["decode"]
    assert (graph.metadata.name, graph.metadata.namespace, graph.metadata.generation) == ("example", "team", 3)
    assert graph.spec.backend_framework == "vllm"
    assert graph.spec.pvcs[0].volume_access_mode == "m"
    assert graph.spec.envs == ({"name": "A", "value": "1"},)
    assert graph.spec.restart is not None
    assert graph.spec.restart.strategy is not None
    assert (graph.spec.restart.strategy.type, graph.spec.restart.strategy.order) == ("Sequential", ("decode",))
    assert (service.replicas, service.node_count, service.is_multinode) == (2, 2, True)
    assert service.resources is not None
    assert service.resources.limits is not None
    assert service.resources.limits.custom == {"rdma/ib": "1"}
    assert service.resources.claims == ({"name": "channel"},)
    assert service.main_container["args"] == ["-m", "dynamo.vllm"]
    assert service.volume_mounts[0].use_as_compilation_cache is True


def test_graph_is_read_with_its_status() -> None:
    status = parse_parent(GraphDeployment, GRAPH).status
    assert status.conditions == (READY,)
    assert status.restart is not None
    assert (status.restart.observed_id, status.restart.in_progress) == ("6", ("decode",))
    assert (status.services["decode"].updated_replicas, status.services["decode"].ready_replicas) == (1, None)
    assert status.checkpoints["decode"].ready is True


def test_component_knows_its_graph() -> None:
    owners = [{"kind": "ReplicaSet", "name": "r"}, {"kind": "DynamoGraphDeployment", "name": "g"}]
    component = parse_parent(ComponentDeployment, parent({"backendFramework": "sglang"}, ownerReferences=owners))
    assert component.graph_name == "g"
    assert component.spec.backend_framework == "sglang"
    assert parse_parent(ComponentDeployment, parent({})).graph_name == ""


@pytest.mark.parametrize(
    ("owners", "controller_label", "expected"),
    [
        ((), {"controller-uid": "u"}, "g"),
        ((), {}, ""),  # a user's own component with this label
        (({"kind": "Other", "name": "o", "controller": True},), {"controller-uid": "u"}, ""),
        (({"kind": "Other", "name": "o"},), {"controller-uid": "u"}, "g"),
        (({"kind": "DynamoGraphDeployment", "name": "h"},), {"controller-uid": "u"}, "h"),
    ],
)
def test_component_without_owner_is_of_the_graph_that_made_it(
    owners: tuple[dict[str, Any], ...], controller_label: dict[str, str], expected: str
) -> None:
    labels = {"nvidia.com/dynamo-graph-deployment-name": "g", **controller_label}
    component = parse_parent(ComponentDeployment, parent({}, ownerReferences=list(owners), labels=labels))
    assert component.graph_name == expected


@pytest.mark.parametrize(
    ("model_type", "expected"), [("lora", True), ("LoRA", True), ("base", False), ("adapter", False)]
)
def test_model_is_lora_whatever_the_case(model_type: str, expected: bool) -> None:
    spec = {"modelName": "a", "baseModelName": "b", "modelType": model_type}
    assert parse_parent(Model, parent(spec)).is_lora is expected


def test_model_is_read_with_its_endpoints() -> None:
    endpoint = {"address": "http://10.0.1.5:9090", "ready": True, "phase": "Loaded", "attempts": 2, "lastError": "x"}
    status = {"endpoints": [endpoint], "readyEndpoints": 1, "totalEndpoints": 1}
    model = parse_parent(Model, parent({"modelName": "a", "baseModelName": "b", "source": {"uri": "s3://a"}}, status))
    assert model.spec.source is not None
    assert model.spec.source.uri == "s3://a"
    assert (model.status.endpoints[0].attempts, model.status.endpoints[0].last_error) == (2, "x")


def test_request_is_read_with_upper_case_names() -> None:
    spec = {
        "model": "m",
        "backend": "vllm",
        "profilingConfig": {"profilerImage": "i", "outputPVC": "p", "configMapRef": {"name": "c"}},
    }
    request = parse_parent(GraphRequest, parent(spec, {"generatedDeployment": {"kind": "DynamoGraphDeployment"}}))
    assert request.spec.profiling_config.output_pvc == "p"
    assert request.spec.profiling_config.config_map_ref is not None
    assert request.spec.profiling_config.config_map_ref.key == "disagg.yaml"
    assert request.status.generated_deployment == {"kind": "DynamoGraphDeployment"}


def test_scaling_adapter_is_read() -> None:
    spec = {"replicas": 0, "dgdRef": {"name": "g", "serviceName": "Decode"}}
    adapter = parse_parent(GraphScalingAdapter, parent(spec, {"replicas": 2, "lastScaleTime": "t"}))
    assert (adapter.spec.replicas, adapter.spec.dgd_ref.name, adapter.spec.dgd_ref.service_name) == (0, "g", "Decode")
    assert (adapter.status.replicas, adapter.status.last_scale_time) == (2, "t")


BARE: list[tuple[type[ApiModel], Any]] = [
    (GraphDeployment, {}),
    (ComponentDeployment, {}),
    (Model, {"modelName": "a", "baseModelName": "b"}),
    (GraphRequest, {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i"}}),
    (GraphScalingAdapter, {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "s"}}),
]


@pytest.mark.parametrize(("model", "spec"), BARE, ids=[model.__name__ for model, _ in BARE])
def test_null_reads_as_absent_in_every_field(model: type[ApiModel], spec: dict[str, Any]) -> None:
    fields = model.model_fields["spec"].annotation
    assert isinstance(fields, type)
    assert issubclass(fields, ApiModel)
    nulls = {field.alias: None for field in fields.model_fields.values()}
    assert parse_parent(model, parent({**nulls, **spec}, {"conditions": None})) == parse_parent(model, parent(spec))


@pytest.mark.parametrize(("model", "spec"), BARE, ids=[model.__name__ for model, _ in BARE])
def test_unknown_fields_are_ignored(model: type[ApiModel], spec: dict[str, Any]) -> None:
    assert parse_parent(model, parent({**spec, "zzz": 1}, {"zzz": 1})) == parse_parent(model, parent(spec))


def test_limits_are_left_to_admission() -> None:
    spec = {
        "backendFramework": "other",
        "pvcs": [{"create": True}],
        "services": {"a": {"replicas": -1, "multinode": {"nodeCount": 1}}},
    }
    graph = parse_parent(GraphDeployment, parent(spec))
    assert (graph.spec.services["a"].replicas, graph.spec.pvcs[0].name) == (-1, "")


def test_every_field_that_does_not_fit_is_named() -> None:
    with pytest.raises(InvalidSpec) as raised:
        parse_parent(GraphDeployment, parent({"services": {"a": {"replicas": "x"}, "b": []}, "envs": "y"}))
    services = SPEC / "services"
    paths = [problem.path for problem in raised.value.problems]
    assert paths == [SPEC / "envs", services / Key("a") / "replicas", services / Key("b")]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"services": {"a": []}}, "spec.services[a]: is an array, should be an object"),
        ({"services": 1}, "spec.services: is the integer 1, should be an object"),
        ({"envs": "y"}, "spec.envs: is a string, should be an array"),
        ({"backendFramework": True}, 'spec.backendFramework: is the boolean true, should be a string: write "true"'),
        ({"services": {"a": {"replicas": "x"}}}, 'spec.services[a].replicas: is the string "x", should be an integer'),
        (
            {"services": {"a": {"replicas": 1.5}}},
            "spec.services[a].replicas: is the number 1.5, should be an integer",
        ),
        ({"pvcs": [{"create": {}}]}, "spec.pvcs[0].create: is an object, should be a boolean"),
        ({"pvcs": [{"size": {}}]}, "spec.pvcs[0].size: is an object, should be an integer or a string"),
        (
            {"services": {"a": {"labels": {"x/y": 1}}}},
            'spec.services[a].labels[x/y]: is the integer 1, should be a string: write "1"',
        ),
        ({"services": {"a": {"modelRef": {}}}}, "spec.services[a].modelRef.name: is missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_field_that_does_not_fit_is_told_in_the_words_of_its_json(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidSpec) as raised:
        parse_parent(GraphDeployment, parent(spec))
    assert texts_of(raised.value.problems) == (problem,)


@pytest.mark.parametrize(
    ("spec", "repaired"),
    [
        ({"backendFramework": 1}, {"backendFramework": "1"}),
        ({"backendFramework": {}}, {}),
        ({"services": {"a": [], "b": {}}}, {"services": {"a": {}, "b": {}}}),
        (
            {"services": {"a": {"labels": {"x/y": True, "z": None}}}},
            {"services": {"a": {"labels": {"x/y": "true", "z": ""}}}},
        ),
        ({"services": {"a": {"modelRef": {}}}}, {"services": {"a": {"modelRef": {"name": ""}}}}),
        ({"services": {"a": {"modelRef": {"name": []}}}}, {"services": {"a": {"modelRef": {"name": ""}}}}),
        ({"services": {"a": {"multinode": 2}}}, {"services": {"a": {}}}),
        ({"pvcs": [5, {"name": "b"}]}, {"pvcs": [{}, {"name": "b"}]}),
        ({"restart": {"strategy": {"order": ["a", 1, {}]}}}, {"restart": {"strategy": {"order": ["a", "1", ""]}}}),
        ([], {}),
    ],
    ids=str,
)
def test_object_that_does_not_fit_is_read_as_far_as_it_does(spec: Any, repaired: dict[str, Any]) -> None:
    graph, problems = read_parent(GraphDeployment, parent(spec))
    assert graph == parse_parent(GraphDeployment, parent(repaired))
    with pytest.raises(InvalidSpec) as raised:
        parse_parent(GraphDeployment, parent(spec))
    assert problems == raised.value.problems


def test_object_that_fits_is_read_without_problems() -> None:
    assert read_parent(GraphDeployment, GRAPH) == (parse_parent(GraphDeployment, GRAPH), ())


def test_object_without_metadata_is_read_too() -> None:
    graph, problems = read_parent(GraphDeployment, {"metadata": []})
    assert (graph.metadata.name, texts_of(problems)) == ("", ("metadata: is an array, should be an object",))


@pytest.mark.parametrize(
    "create",
    [
        lambda settings: create_app(settings, lambda: datetime.now(UTC)),
        lambda settings: create_admission_app(settings, RULES, DEFAULTS),
    ],
    ids=["hooks", "admission"],
)
def test_servers_build_all_models_before_a_thread_needs_one(create: Callable[[Settings], object]) -> None:
    class Outer(ApiModel):
        number: int = 0

    class Inner(Outer):
        pass

    def are_built() -> list[bool]:
        return [model.__pydantic_complete__ for model in (Outer, Inner)]

    assert are_built() == [False, False]
    create(parse_settings({}))
    assert are_built() == [True, True]
