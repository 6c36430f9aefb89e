"""Which related objects a graph's sync needs.

Metacontroller caches the answer until the spec changes, so the answer must not depend on annotations. The name of the
PodCliqueSet may come from the status: it is the name that the spec gave it first, and stays the same.
"""

from collections.abc import Iterator

from hooks import contract
from hooks.api.base import parse_parent
from hooks.api.graph import GraphDeployment
from hooks.component.mpi_key import resolve_key_rule
from hooks.errors import InvalidSpec
from hooks.graph.grove.names import find_set_name, may_be_cut
from hooks.graph.model_services import plan_model_services
from hooks.graph.mpi_key import needs_mpi_key
from hooks.graph.namespace_prefix import needs_decision, neighbours_rule
from hooks.k8s import kinds
from hooks.k8s.grove import GROVE, LABEL_MANAGED_BY, LABEL_PART_OF
from hooks.k8s.names import to_dns_label
from hooks.k8s.types import ReadManifest
from hooks.metacontroller.protocol import CustomizeRequest, RelatedRule
from hooks.policy.identity import component_name, model_service_name
from hooks.settings import Settings, Switch

_ORCHESTRATORS = frozenset({kinds.POD_CLIQUE_SET, kinds.LEADER_WORKER_SET})


def resolve_related(request: CustomizeRequest, settings: Settings) -> list[RelatedRule]:
    """Claims and rivals by name; under Grove also its objects with their pods, and registry Secrets; the SSH key."""
    parent = request.parent
    has_grove = kinds.POD_CLIQUE_SET in request.child_kinds
    rules = [*_claims(parent), *_rivals(parent, has_grove=has_grove), *_neighbours(parent)]
    if has_grove:
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


def _rivals(parent: ReadManifest, *, has_grove: bool) -> Iterator[RelatedRule]:
    """Objects of the names that the graph's children get: two graphs can want one name, `a-b-c` for example.

    The graph's own children are among them. Services of components are asked for by the components themselves.
    """
    graph = _read_graph(parent)
    if graph is None or not graph.spec.services:
        return
    name, namespace = graph.metadata.name, graph.metadata.namespace
    components = sorted(component_name(name, service) for service in graph.spec.services)
    yield RelatedRule.of(contract.COMPONENT, namespace, names=tuple(components))
    # A Go operator may have left components with other names, beside which none may be created.
    yield RelatedRule.of(contract.COMPONENT, namespace, match_labels={contract.LABEL_GRAPH: name})
    exposed = map(to_dns_label, components) if has_grove else ()
    of_models = (model_service_name(name, plan.model) for plan in plan_model_services(graph))
    if has_grove:
        yield _rival_sets(parent)
    if services := sorted({*exposed, *of_models}):
        yield RelatedRule.of(kinds.SERVICE, namespace, names=tuple(services))


def _neighbours(parent: ReadManifest) -> Iterator[RelatedRule]:
    graph = _read_graph(parent)
    if graph is not None and needs_decision(graph):
        yield neighbours_rule(parent["metadata"]["namespace"])


def _rival_sets(parent: ReadManifest) -> RelatedRule:
    """PodCliqueSets that can have the name of the graph's own.

    By name, the graph's own one is in every request twice. So it is asked for only where another graph's can have this
    name, because one of the two is cut. Otherwise only a set of nobody's can have it for long.
    """
    namespace, name = parent["metadata"]["namespace"], find_set_name(parent)
    if may_be_cut(name):
        return RelatedRule.of(kinds.POD_CLIQUE_SET, namespace, names=(name,))
    return RelatedRule.of(kinds.POD_CLIQUE_SET, namespace, without_label=contract.LABEL_CONTROLLER_UID)


def _grove_parts(parent: ReadManifest) -> list[RelatedRule]:
    labels = {LABEL_PART_OF: find_set_name(parent)}
    scaled = (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP)
    return [RelatedRule.of(kind, parent["metadata"]["namespace"], match_labels=labels) for kind in scaled]


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
    graph = _read_graph(parent)
    return graph is not None and needs_mpi_key(graph)


def _read_graph(parent: ReadManifest) -> GraphDeployment | None:
    """The graph; None if its spec is invalid: sync reports the problems, and a new spec is a new call."""
    try:
        return parse_parent(GraphDeployment, parent)
    except InvalidSpec:
        return None
