"""GPU facts from Node labels."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.request.seen.gpu_discovery import NoGpusDiscovered, discover_hardware, has_hardware_by_hand, observe_nodes
from tests.request.world import node

UNLABELLED = {**node("x"), "metadata": {"name": "x"}}


def discover(*nodes: Manifest) -> dict[str, Any]:
    return discover_hardware(observe_nodes(nodes))


def test_facts_of_a_node() -> None:
    assert discover(UNLABELLED, node("n")) == {
        "gpuModel": "NVIDIA-H100-80GB-HBM3",
        "gpuVramMib": 81559,
        "numGpusPerNode": 8,
        "system": "h100_sxm",
    }


@pytest.mark.parametrize(
    ("nodes", "count", "memory"),
    [
        ([node("a", "4", memory="9000"), node("b", "8", memory="1000")], 8, 1000),
        ([node("a", "8", memory="1000"), node("b", "8", memory="9000")], 8, 9000),
        ([node("b", "0"), node("a", "1", memory="5")], 1, 5),
    ],
    ids=["most GPUs", "then most memory", "a node without GPUs"],
)
def test_best_node_is_chosen(nodes: list[Manifest], count: int, memory: int) -> None:
    facts = discover(*nodes)
    assert (facts["numGpusPerNode"], facts["gpuVramMib"]) == (count, memory)
    assert discover(*reversed(nodes)) == facts


def test_of_equal_nodes_the_first_name_counts() -> None:
    nodes = [node("b", product="H200"), node("a", product="H100")]
    assert discover(*nodes) == discover(*reversed(nodes))


@pytest.mark.parametrize(
    ("product", "system"),
    [
        ("NVIDIA-GB200", "gb200_sxm"),
        ("NVIDIA-B200", "b200_sxm"),
        ("NVIDIA-H200", "h200_sxm"),
        ("nvidia h100 nvl", "h100_sxm"),
        ("NVIDIA-A100-SXM4-80GB", "a100_sxm"),
        ("NVIDIA-L40S", "l40s"),
        ("NVIDIA-L40", None),
    ],
)
def test_system_follows_from_the_product(product: str, system: str | None) -> None:
    assert discover(node("n", product=product)).get("system") == system


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "no nodes found in cluster"),
        ([UNLABELLED, UNLABELLED], "no nodes with NVIDIA GPU Feature Discovery labels found (checked 2 nodes)."),
        ([node("n", count="-1")], "no nodes with NVIDIA GPU Feature Discovery labels found (checked 1 nodes)."),
        ([node("n", memory="much")], "no nodes with NVIDIA GPU Feature Discovery labels found (checked 1 nodes)."),
        ([node("n", product="")], "no nodes with NVIDIA GPU Feature Discovery labels found (checked 1 nodes)."),
    ],
)
def test_missing_gpu_labels_are_named(nodes: list[Manifest], message: str) -> None:
    with pytest.raises(NoGpusDiscovered) as nothing:
        discover(*nodes)
    assert str(nothing.value).startswith(message)


@pytest.mark.parametrize(
    ("config", "known"),
    [
        (None, False),
        ([], False),
        ({}, False),
        ({"hardware": {"system": "h100_sxm"}}, False),
        ({"hardware": {"gpuModel": "H100"}}, True),
        ({"hardware": {"num_gpus_per_node": 8}}, True),
        ({"engine": {"minNumGpusPerEngine": 1}}, False),
        ({"engine": {"minNumGpusPerEngine": 1, "maxNumGpusPerEngine": 8}}, True),
        ({"engine": {"minNumGpusPerEngine": 0, "maxNumGpusPerEngine": 8}}, False),
        ({"hardware": {"min_num_gpus_per_engine": 1, "max_num_gpus_per_engine": 8}}, True),
        ({"hardware": "H100"}, False),
    ],
)
def test_hardware_by_hand(config: Any, known: bool) -> None:
    assert has_hardware_by_hand(config) is known
