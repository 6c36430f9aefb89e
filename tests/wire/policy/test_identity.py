"""Names that graph, component and model must agree on."""

import pytest

from hooks.ground.k8s.names import is_dns_label
from hooks.wire.policy import identity


@pytest.mark.parametrize(
    ("graph", "is_global", "expected"),
    [("g", False, "ns-g"), ("my.graph", False, "ns-my-graph"), ("g", True, "dynamo")],
)
def test_dynamo_namespace(graph: str, is_global: bool, expected: str) -> None:
    assert identity.dynamo_namespace("ns", graph, is_global=is_global) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, "kubernetes"),
        ({"nvidia.com/dynamo-discovery-backend": "etcd"}, "etcd"),
        ({"nvidia.com/dynamo-discovery-backend": ""}, "kubernetes"),
    ],
    ids=["absent", "etcd", "empty"],
)
def test_discovery_backend_is_the_annotation_or_the_setting(annotations: dict[str, str], expected: str) -> None:
    assert identity.discovery_backend(annotations, "kubernetes") == expected


@pytest.mark.parametrize(
    ("model", "digits"),
    [
        ("Qwen/Qwen3-0.6B", "fb68f5a6"),
        ("meta-llama/Llama-3.1-8B-Instruct", "08a20b29"),
        ("deepseek-ai/DeepSeek-R1", "4ecad6d3"),
    ],
)
def test_model_hash_is_upstreams(model: str, digits: str) -> None:
    assert identity.model_hash(model) == digits


def test_component_is_named_after_graph_and_service() -> None:
    assert identity.component_name("g", "VllmDecodeWorker") == "g-vllmdecodeworker"


@pytest.mark.parametrize("graph", ["g", "a" * 63, "with.dots.in.it", "0", "0" * 63])
def test_model_service_name_always_fits(graph: str) -> None:
    name = identity.model_service_name(graph, "Qwen/Qwen3-0.6B")
    assert is_dns_label(name)
    assert name[0].isalpha()
