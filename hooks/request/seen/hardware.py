"""The GPUs that a profiler of Dynamo 1.x searches for: what the request says, and what the cluster's nodes are.

Source: Dynamo operator 1.x, internal/gpu/discovery.go; its first source, the DCGM exporter, is not asked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json
from hooks.request.seen.gpu_discovery import LABEL_COUNT, LABEL_MEMORY, LABEL_PRESENT, LABEL_PRODUCT, GpuNode
from hooks.wire.metacontroller.protocol import ObjectQuery

NEEDED = ("gpuSku", "totalGpus", "numGpusPerNode")
"""The fields without which the profiler fails."""
FIELDS = (*NEEDED, "vramMb")
MOST_GPUS = 32
"""The most GPUs that are taken for a search that does not say how many; more would take hours."""

NODE_QUERIES = (
    ObjectQuery(kinds.NODE, "", labels=((LABEL_PRESENT, "true"),)),
    ObjectQuery(kinds.NODE, ""),
)
"""The nodes: those that say that they have a GPU, because a list is cut, and all others."""

_SXM, _PCIE = "_sxm", "_pcie"
_BY_FORM = ("H100", "A100", "V100")
_WHOLE = (
    ("GB200", "gb200_sxm"),
    ("GB10", "gb10"),
    ("B200", "b200_sxm"),
    ("H200", "h200_sxm"),
    ("L40S", "l40s"),
    ("L40", "l40"),
    ("L4", "l4"),
    ("A30", "a30"),
    ("T4", "t4"),
    ("MI300", "mi300"),
    ("MI200", "mi200"),
    ("MI250", "mi200"),
)
"""Part of a product's name, and the profiler's name for it; the first match counts."""


class NoHardware(Exception):
    """The nodes do not say what is missing; the message says why, as half a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The nodes with one GPU."""

    sku: str
    nodes: tuple[GpuNode, ...]

    @property
    def rank(self) -> tuple[int, int, str]:
        """The most nodes first, then the most memory."""
        return len(self.nodes), max(node.memory for node in self.nodes), self.sku


def is_complete(hardware: Mapping[str, Json]) -> bool:
    """Whether no node need be read."""
    return all(hardware.get(field) is not None for field in NEEDED)


def fill_hardware(hardware: Mapping[str, Json], nodes: Sequence[GpuNode]) -> dict[str, Json]:
    """The hardware with what the nodes say; what is written wins. A written `gpuSku` chooses the nodes.

    Raises:
        NoHardware: no node says what is missing.
    """
    group = _choose(str(hardware.get("gpuSku") or ""), nodes)
    found: dict[str, Json] = {
        "gpuSku": group.sku,
        "vramMb": max(node.memory for node in group.nodes),
        "numGpusPerNode": max(node.count for node in group.nodes),
        "totalGpus": min(MOST_GPUS, sum(node.count for node in group.nodes)),
    }
    return {**found, **{key: value for key, value in hardware.items() if value is not None}}


def _choose(wanted: str, nodes: Sequence[GpuNode]) -> _Group:
    labelled = [node for node in nodes if node.count > 0]
    if not labelled:
        labels = f"{LABEL_COUNT}, {LABEL_PRODUCT} and {LABEL_MEMORY}"
        raise NoHardware(f"no node has the labels {labels} of NVIDIA's GPU Feature Discovery")
    by_sku: dict[str, list[GpuNode]] = defaultdict(list)
    for node in labelled:
        by_sku[sku_of(node.product)].append(node)
    groups = [_Group(sku=sku, nodes=tuple(found)) for sku, found in by_sku.items() if sku and wanted in {"", sku}]
    if not groups:
        products = ", ".join(sorted({node.product for node in labelled}))
        raise NoHardware(f"the nodes have {products}, and none of them is {wanted or 'known to the profiler'}")
    return max(groups, key=lambda group: group.rank)


def sku_of(product: str) -> str:
    """The profiler's name of a product, such as `NVIDIA-H100-80GB-HBM3`; empty if it has none."""
    words = product.upper().replace("-", " ").split()
    name = "".join(words)
    for part in _BY_FORM:
        if part in name:
            return part.lower() + (_PCIE if "PCIE" in name or "NVL" in words else _SXM)
    return next((sku for part, sku in _WHOLE if any(word.startswith(part) for word in words)), "")
