"""The node with GPUs of a simulated cluster, for requests whose profiler must be told which GPUs there are."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of
from hooks.request.seen.gpu_discovery import LABEL_COUNT, LABEL_MEMORY, LABEL_PRESENT, LABEL_PRODUCT
from hooks.request.seen.hardware import is_complete
from hooks.tools.offline.manifests.document import WHOLE, Document
from hooks.tools.offline.manifests.loaded import Loaded

NODE_NOTE = "the simulated cluster has a node with 8 GPUs of type H100, because a request does not say its hardware"


def add_gpu_node(loaded: Loaded) -> Loaded:
    """The input, with a node if one of its requests needs it."""
    if not needs_node(loaded.documents):
        return loaded
    node = Document("the simulated cluster", build_gpu_node(), {(): WHOLE})
    return replace(loaded, documents=(node, *loaded.documents))


def needs_node(documents: Iterable[Document]) -> bool:
    """Whether a request has no hardware, and the documents no node from which it could be read."""
    found = list(documents)
    if any(gvk_of(document.object) == kinds.NODE for document in found):
        return False
    return any(document.beta is not None and _lacks_hardware(document.beta) for document in found)


def build_gpu_node() -> Manifest:
    """A node as NVIDIA's GPU Feature Discovery labels it."""
    labels = {LABEL_COUNT: "8", LABEL_PRODUCT: "NVIDIA-H100-80GB-HBM3", LABEL_MEMORY: "81559", LABEL_PRESENT: "true"}
    metadata = {"name": "gpu-0", "labels": labels}
    return {"apiVersion": kinds.NODE.api_version, "kind": kinds.NODE.kind, "metadata": metadata}


def _lacks_hardware(manifest: ReadManifest) -> bool:
    spec = manifest.get("spec")
    if manifest.get("kind") != contract.GRAPH_REQUEST.kind or not isinstance(spec, Mapping):
        return False
    hardware = spec.get("hardware")
    return not is_complete(hardware if isinstance(hardware, Mapping) else {})
