"""What the live workloads of a graph say in those labels of workers that selectors use, and that therefore stay."""

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum, auto

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, ReadManifest, is_deleting, labels_of
from hooks.wire.metacontroller.last_applied import read_applied_spec
from hooks.wire.metacontroller.protocol import Objects, SyncRequest
from hooks.wire.policy import identity


class LivePool(StrEnum):
    """How the live InferencePool of a graph finds workers."""

    NONE = auto()
    BY_TYPE = auto()
    BY_CLASS = auto()


def observe_pool(request: SyncRequest) -> LivePool:
    """The graph's pool as it was last applied; one that is being deleted does not count."""
    metadata = request.parent["metadata"]
    pool = request.children.get(kinds.INFERENCE_POOL, identity.epp_pool(metadata["name"]), metadata["namespace"])
    if pool is None or is_deleting(pool):
        return LivePool.NONE
    selector = (read_applied_spec(pool) or pool.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels") or {}
    return LivePool.BY_CLASS if contract.LABEL_COMPONENT_CLASS in labels else LivePool.BY_TYPE


def find_untyped(children: Objects) -> frozenset[str]:
    """The services whose component, or clique, has the type `worker`."""
    components = (
        str(labels_of(child).get(contract.LABEL_COMPONENT) or "")
        for child in children.of(contract.COMPONENT)
        if (child.get("spec") or {}).get("componentType") == ComponentType.WORKER
    )
    cliques = (
        str(labels.get(contract.LABEL_COMPONENT) or "")
        for child in children.of(kinds.POD_CLIQUE_SET)
        for labels in _labels_of_cliques(child)
        if labels.get(contract.LABEL_COMPONENT_TYPE) == ComponentType.WORKER
    )
    return frozenset((*components, *cliques)) - {""}


def has_class_in_all_cliques(spec: Mapping[str, Json], services: Collection[str]) -> bool:
    """Whether all cliques of these services have the class in their pods' labels; `spec` is that of a PodCliqueSet."""
    return all(
        contract.LABEL_COMPONENT_CLASS in labels
        for labels in _labels_of_cliques({"spec": spec})
        if labels.get(contract.LABEL_COMPONENT) in services
    )


def _labels_of_cliques(pod_clique_set: ReadManifest) -> Iterator[Mapping[str, Json]]:
    template = (pod_clique_set.get("spec") or {}).get("template") or {}
    for clique in template.get("cliques") or ():
        yield clique.get("labels") or {}
