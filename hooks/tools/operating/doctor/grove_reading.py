"""Reads what the check of Grove needs: its definitions, its operator, its topologies, and what it could not make."""

from collections.abc import Iterable, Iterator
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import TopologyForm
from hooks.ground.k8s.grove_parts import find_cause, read_scalable
from hooks.ground.k8s.types import ReadManifest, plural_of
from hooks.tools.operating.doctor.facts import SET_CRD, FailedPart, GroveFacts, containers_of
from hooks.tools.operating.doctor.finding import describe
from hooks.tools.operating.live_reader import LiveReader

KAI_CRD = "queues.scheduling.run.ai"
VOLCANO_CRD = "podgroups.scheduling.volcano.sh"
BINDING_CRD = f"{plural_of(kinds.CLUSTER_TOPOLOGY_BINDING)}.{kinds.CLUSTER_TOPOLOGY_BINDING.group}"
OPERATOR = "grove-operator"


def read_grove(reader: LiveReader, crds: Iterable[ReadManifest], deployments: Iterable[ReadManifest]) -> GroveFacts:
    """What the cluster has of Grove."""
    wanted = {SET_CRD, BINDING_CRD, KAI_CRD, VOLCANO_CRD}
    found = {name: crd for crd in crds if (name := str(crd["metadata"]["name"])) in wanted}
    if SET_CRD not in found:
        return GroveFacts(crds=frozenset(found))
    bindings: tuple[str, ...] | None = None
    if BINDING_CRD in found:
        bindings = reader.attempt(plural_of(kinds.CLUSTER_TOPOLOGY_BINDING), lambda: _name_bindings(reader), None)
    return GroveFacts(
        crds=frozenset(found),
        form=find_form(found[SET_CRD]),
        tag=next(_find_tags(deployments), ""),
        bindings=bindings,
        failed=tuple(_read_failed(reader)),
    )


def find_form(crd: ReadManifest) -> TopologyForm | None:
    """How a definition of PodCliqueSets has topology constraints: the newest form; None if it has none."""
    found: set[str] = set()
    for version in crd["spec"].get("versions") or ():
        schema: Any = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for field in ("spec", "template", "topologyConstraint"):
            schema = (schema.get("properties") or {}).get(field) or {}
        found |= {*(schema.get("properties") or {})}
    return next((form for form in reversed(TopologyForm) if form in found), None)


def _name_bindings(reader: LiveReader) -> tuple[str, ...]:
    return tuple(str(one["metadata"]["name"]) for one in reader.cluster.read_all(kinds.CLUSTER_TOPOLOGY_BINDING))


def _find_tags(deployments: Iterable[ReadManifest]) -> Iterator[str]:
    for container in (one for deployment in deployments for one in containers_of(deployment)):
        name, _, tag = str(container.get("image") or "").partition("@")[0].rpartition("/")[2].partition(":")
        if name == OPERATOR and tag:
            yield tag


def _read_failed(reader: LiveReader) -> Iterator[FailedPart]:
    """Only the PodCliques of graphs: other sets are not ours."""
    for part in reader.read_all(plural_of(kinds.POD_CLIQUE), kinds.POD_CLIQUE, labelSelector=contract.LABEL_GRAPH):
        # Grove may keep errors that are over, but not where pods are missing.
        if errors := read_scalable(part).errors:
            cause = " ".join(find_cause(errors[-1]).split())
            namespace, name = str(part["metadata"]["namespace"]), str(part["metadata"]["name"])
            yield FailedPart(title=describe(part), namespace=namespace, name=name, cause=cause)
