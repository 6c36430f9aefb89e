"""The GPUs of the cluster, from the labels that NVIDIA's GPU Feature Discovery puts on Nodes.

Source: Dynamo operator, internal/gpu/discovery.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hooks.ground.k8s.types import Json, ReadManifest, labels_of, name_of

LABEL_COUNT = "nvidia.com/gpu.count"
LABEL_PRODUCT = "nvidia.com/gpu.product"
LABEL_MEMORY = "nvidia.com/gpu.memory"
LABEL_PRESENT = "nvidia.com/gpu.present"

_SYSTEMS = (
    ("GB200", "gb200_sxm"),
    ("H200", "h200_sxm"),
    ("H100", "h100_sxm"),
    ("B200", "b200_sxm"),
    ("A100", "a100_sxm"),
    ("L40S", "l40s"),
)
"""Part of a product's name, and the profiler's name for that system; the first match counts."""

_BY_HAND = (
    ("gpuModel", "gpu_model"),
    ("gpuVramMib", "gpu_vram_mib"),
    ("numGpusPerNode", "num_gpus_per_node"),
)
_RANGE = (("minNumGpusPerEngine", "min_num_gpus_per_engine"), ("maxNumGpusPerEngine", "max_num_gpus_per_engine"))


class NoGpusDiscovered(Exception):
    """No Node has labels about its GPUs; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuNode:
    """The GPUs of a Node; `count` is 0 if a label is missing or malformed. `memory` is that of one GPU in MiB."""

    name: str
    count: int
    product: str
    memory: int


def observe_nodes(nodes: Iterable[ReadManifest]) -> tuple[GpuNode, ...]:
    """Read the labels of Nodes."""
    return tuple(_observe_node(node) for node in nodes)


def discover_hardware(nodes: Sequence[GpuNode]) -> dict[str, Json]:
    """The hardware of the Node with most GPUs; if several have as many, of the one with most memory.

    Raises:
        NoGpusDiscovered: there is no Node, or no Node has labels about its GPUs.
    """
    if not nodes:
        raise NoGpusDiscovered("no nodes found in cluster")
    labelled = [node for node in nodes if node.count > 0]
    if not labelled:
        raise NoGpusDiscovered(
            f"no nodes with NVIDIA GPU Feature Discovery labels found (checked {len(nodes)} nodes). Ensure GPU nodes "
            f"have labels: {LABEL_COUNT}, {LABEL_PRODUCT}, {LABEL_MEMORY}"
        )
    best = max(sorted(labelled, key=lambda node: node.name), key=lambda node: (node.count, node.memory))
    system = _system_of(best.product)
    facts: dict[str, Json] = {
        "gpuModel": best.product,
        "gpuVramMib": best.memory,
        "numGpusPerNode": best.count,
    }
    return {**facts, **({"system": system} if system else {})}


def has_hardware_by_hand(config: Json) -> bool:
    """Whether the profiler's configuration describes the hardware: by one of its fields, or by both ends of a range."""
    hardware, engine = _part(config, "hardware"), _part(config, "engine")
    if any(hardware.get(key) is not None for names in _BY_HAND for key in names):
        return True
    return all(any(_positive(part.get(key)) for part in (engine, hardware) for key in names) for names in _RANGE)


def _observe_node(node: ReadManifest) -> GpuNode:
    labels = labels_of(node)
    count, memory = _to_count(labels.get(LABEL_COUNT)), _to_count(labels.get(LABEL_MEMORY))
    product = labels.get(LABEL_PRODUCT, "")
    is_labelled = count > 0 and memory > 0 and bool(product)
    return GpuNode(name=name_of(node), count=count if is_labelled else 0, product=product, memory=memory)


def _to_count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0


def _system_of(product: str) -> str:
    name = product.upper().replace("-", "").replace(" ", "")
    return next((system for part, system in _SYSTEMS if part in name), "")


def _part(config: Json, key: str) -> Mapping[str, Json]:
    found = config.get(key) if isinstance(config, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _positive(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
