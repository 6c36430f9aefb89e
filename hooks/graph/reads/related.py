"""Which related objects a graph's sync needs.

Metacontroller caches the answer until the spec changes, so the answer must not depend on annotations. The name of the
PodCliqueSet may come from the status: it is the name that the spec gave it first, and stays the same.
"""

from collections.abc import Iterator

from hooks.component.spec.mpi_key import resolve_key_rule
from hooks.component.spec.subject import ComponentType
from hooks.graph.seen.grove_names import find_set_name
from hooks.graph.seen.observe import query_components
from hooks.graph.spec.mpi_key import needs_mpi_key
from hooks.graph.spec.namespace_prefix import resolve_neighbours
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.endpoint_slices import SERVICE_NAME
from hooks.ground.k8s.grove import LABEL_PART_OF
from hooks.ground.k8s.names import to_dns_label
from hooks.ground.k8s.types import ReadManifest
from hooks.ground.settings import Settings
from hooks.language.api.base import parse_parent
from hooks.language.api.graph import GraphDeployment
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule
from hooks.wire.policy.identity import component_name
from hooks.wire.policy.on_demand import has_go_finalizer

_ORCHESTRATORS = frozenset({kinds.POD_CLIQUE_SET, kinds.LEADER_WORKER_SET})


def resolve_related(request: CustomizeRequest, settings: Settings) -> list[RelatedRule]:
    """The namespace, claims by name, endpoints of frontends; under Grove its objects and registry Secrets; the SSH key.

    No rule names a kind that changes often: see `hooks.graph.reads.queries`. EndpointSlices change with pods that begin
    or end to be ready, and then a graph has to know.
    """
    parent = request.parent
    has_grove = kinds.POD_CLIQUE_SET in request.child_kinds
    rules = [
        RelatedRule.of(kinds.NAMESPACE, names=(parent["metadata"]["namespace"],)),
        *_claims(parent),
        *_neighbours(parent),
        *_left_behind(parent),
        *_endpoints(parent, settings),
    ]
    if has_grove:
        rules += _grove_parts(parent)
        rules += _registry_secrets(parent["metadata"]["namespace"], settings)
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


def _left_behind(parent: ReadManifest) -> Iterator[RelatedRule]:
    """The components of a graph that the Go operator may have begun, until it is taken over: a rare state."""
    if has_go_finalizer(parent):
        yield query_components(parent).to_rule()


def _endpoints(parent: ReadManifest, settings: Settings) -> Iterator[RelatedRule]:
    """The EndpointSlices of the Services of frontends."""
    graph = _read_graph(parent)
    if graph is None or settings.serving == "off":
        return
    for service, spec in sorted(graph.spec.services.items()):
        if spec.component_type == ComponentType.FRONTEND:
            name = to_dns_label(component_name(graph.metadata.name, service))
            yield RelatedRule.of(kinds.ENDPOINT_SLICE, graph.metadata.namespace, match_labels={SERVICE_NAME: name})


def _neighbours(parent: ReadManifest) -> Iterator[RelatedRule]:
    graph = _read_graph(parent)
    if graph is not None:
        yield from resolve_neighbours(graph)


def _grove_parts(parent: ReadManifest) -> list[RelatedRule]:
    labels = {LABEL_PART_OF: find_set_name(parent)}
    scaled = (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)
    return [RelatedRule.of(kind, parent["metadata"]["namespace"], match_labels=labels) for kind in scaled]


def _registry_secrets(namespace: str, settings: Settings) -> list[RelatedRule]:
    if settings.image_pull_secrets == "off":
        return []
    labels = {contract.LABEL_IMAGE_PULL: "true"} if settings.image_pull_secrets == "labelled" else {}
    return [RelatedRule.of(kinds.SECRET, namespace, match_labels=labels)]


def _needs_key(parent: ReadManifest) -> bool:
    graph = _read_graph(parent)
    return graph is not None and needs_mpi_key(graph)


def _read_graph(parent: ReadManifest) -> GraphDeployment | None:
    """The graph; None if its spec is invalid: sync reports the problems, and a new spec is a new call."""
    try:
        return parse_parent(GraphDeployment, parent)
    except InvalidSpec:
        return None
