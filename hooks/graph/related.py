"""Which related objects a graph's sync needs.

Metacontroller caches the answer until the spec changes, so the answer must not depend on annotations.
"""

from collections.abc import Iterator

from hooks import contract
from hooks.api.base import parse_parent
from hooks.api.graph import GraphDeployment
from hooks.component.mpi_key import resolve_key_rule
from hooks.errors import InvalidSpec
from hooks.graph.mpi_key import needs_mpi_key
from hooks.k8s import kinds
from hooks.k8s.grove import GROVE, LABEL_MANAGED_BY, LABEL_PART_OF
from hooks.k8s.types import ReadManifest
from hooks.metacontroller.protocol import CustomizeRequest, RelatedRule
from hooks.settings import Settings, Switch

_ORCHESTRATORS = frozenset({kinds.POD_CLIQUE_SET, kinds.LEADER_WORKER_SET})


def resolve_related(request: CustomizeRequest, settings: Settings) -> list[RelatedRule]:
    """Claims by name; under Grove also its objects with their pods, and registry Secrets; the SSH key if needed."""
    parent = request.parent
    rules = list(_claims(parent))
    if kinds.POD_CLIQUE_SET in request.child_kinds:
        rules += _grove_parts(parent)
        rules += _registry_secrets(parent["metadata"]["namespace"], settings)
        rules += _pods(parent) if settings.explain_pods is Switch.ON else []
    if request.child_kinds & _ORCHESTRATORS and _needs_key(parent):
        rules.append(resolve_key_rule(settings, parent["metadata"]["namespace"]))
    return rules


def _claims(parent: ReadManifest) -> Iterator[RelatedRule]:
    """The claims that the graph names, with any owner; entries without a name are left out."""
    found = (parent.get("spec") or {}).get("pvcs")
    entries = found if isinstance(found, list) else []
    names = {entry["name"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
    if names - {""}:
        yield RelatedRule.of(
            kinds.PERSISTENT_VOLUME_CLAIM, parent["metadata"]["namespace"], names=tuple(sorted(names - {""}))
        )


def _grove_parts(parent: ReadManifest) -> list[RelatedRule]:
    metadata = parent["metadata"]
    labels = {LABEL_PART_OF: metadata["name"]}
    scaled = (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)
    return [RelatedRule.of(kind, metadata["namespace"], match_labels=labels) for kind in scaled]


def _pods(parent: ReadManifest) -> list[RelatedRule]:
    """The graph's pods under Grove; pods of components are related to their component instead."""
    metadata = parent["metadata"]
    labels = {contract.LABEL_GRAPH: metadata["name"], LABEL_MANAGED_BY: GROVE}
    return [RelatedRule.of(kinds.POD, metadata["namespace"], match_labels=labels)]


def _registry_secrets(namespace: str, settings: Settings) -> list[RelatedRule]:
    if settings.image_pull_secrets == "off":
        return []
    labels = {contract.LABEL_IMAGE_PULL: "true"} if settings.image_pull_secrets == "labelled" else {}
    return [RelatedRule.of(kinds.SECRET, namespace, match_labels=labels)]


def _needs_key(parent: ReadManifest) -> bool:
    try:
        return needs_mpi_key(parse_parent(GraphDeployment, parent))
    except InvalidSpec:
        return False  # sync reports the problems; a new spec is a new call
