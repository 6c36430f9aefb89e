"""Whether frontends of a graph get the bare prefix of its Dynamo namespace: only if no other graph's begins with it.

It is decided when the graph's first such frontend is created or changes, by the graphs that the Kubernetes namespace
has then, and is kept. So frontends see the workers of a graph that comes later, with a longer name; pickers always do.
A graph is known by its ServiceAccount for discovery, which changes less often than the graph. The account of a graph
that sees others names them in an annotation, because only this graph knows what its frontends have.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from hooks.component.image.runtime_version import (
    RuntimeVersion,
    has_bare_prefix,
    resolve_runtime_version,
    resolve_sidecar_version,
)
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, ReadManifest, annotations_of, gvk_of, name_of
from hooks.ground.settings import Settings
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.protocol import RelatedRule, SyncRequest
from hooks.wire.policy import identity

TAKEN, WITHHELD = "true", "false"
_MOST_SEEN = 500
"""Graphs that an account names; more would not fit into an annotation."""
_SEES = contract.ANNOTATION_SEES_WORKERS_OF


def has_deciding_frontend(spec: ComponentSpec) -> bool:
    """Whether a container of the service may be such a frontend; fragments may have any type."""
    return any(map(has_bare_prefix, _versions_of_frontends(spec)))


def resolve_neighbours(graph: GraphDeployment) -> Iterator[RelatedRule]:
    """The ServiceAccounts for discovery of graphs whose workers this one may see, or that may see this one's.

    The first may have any name that begins with this graph's, so all accounts of the hooks are asked for.
    """
    name, namespace = graph.metadata.name, graph.metadata.namespace
    if may_see_others(graph):
        labels = {contract.LABEL_APP_MANAGED_BY: contract.MANAGER}
        yield RelatedRule.of(kinds.SERVICE_ACCOUNT, namespace, match_labels=labels)
    elif shorter := [start for end in range(1, len(name)) if (start := name[:end])[-1].isalnum()]:
        names = tuple(map(identity.discovery_account, shorter))
        yield RelatedRule.of(kinds.SERVICE_ACCOUNT, namespace, names=names)


def observe_prefix(request: SyncRequest, longer: Collection[str]) -> str:
    """What was decided before, otherwise what follows from the graphs with longer names that are there."""
    kept = _read_decisions(request.children.all())
    return min(kept, default=WITHHELD if longer else TAKEN)  # nothing writes two


def observe_longer(request: SyncRequest) -> tuple[str, ...]:
    """The other graphs whose Dynamo namespace begins with that of this one."""
    accounts = map(name_of, request.related.of(kinds.SERVICE_ACCOUNT))
    return tuple(other for other in _graphs_of(accounts) if extends(other, name_of(request.parent)))


def observe_seeing(request: SyncRequest) -> tuple[str, ...]:
    """The other graphs whose accounts say that they see the workers of this one."""
    name, accounts = name_of(request.parent), request.related.of(kinds.SERVICE_ACCOUNT)
    found = (one for one in accounts if name in str(annotations_of(one).get(_SEES) or "").split(","))
    return tuple(other for other in _graphs_of(map(name_of, found)) if extends(name, other))


def find_looking(graph: GraphDeployment, children: Collection[ReadManifest]) -> tuple[str, ...]:
    """The services whose frontends or pickers look for workers by the bare prefix, with these children of the graph.

    () without an account: then the graph finds workers otherwise than through the API server.
    """
    takes, name = TAKEN in _read_decisions(children), graph.metadata.name
    return tuple(
        service
        for service, spec in sorted(graph.spec.services.items())
        if not spec.global_dynamo_namespace
        and ((takes and has_deciding_frontend(spec)) or _is_picker_by_prefix(spec))
        and any(_is_account(child, name) for child in children)
    )


def name_seen(children: Children, graph: str, others: Iterable[str]) -> Children:
    """The children of the graph, whose account names the other graphs whose workers it sees."""
    names = ",".join(islice(others, _MOST_SEEN))
    return Children(_annotate(child, names) if _is_account(child, graph) else child for child in children)


def _is_account(child: ReadManifest, graph: str) -> bool:
    return gvk_of(child) == kinds.SERVICE_ACCOUNT and name_of(child) == identity.discovery_account(graph)


def _annotate(account: Manifest, names: str) -> Manifest:
    annotations = {**annotations_of(account), _SEES: names}
    return {**account, "metadata": {**account["metadata"], "annotations": dict(sorted(annotations.items()))}}


def _read_decisions(workloads: Iterable[ReadManifest]) -> set[str]:
    """What the components or the PodCliqueSet keep of the decision."""
    return {
        value
        for child in workloads
        if child["kind"] in {contract.COMPONENT.kind, kinds.POD_CLIQUE_SET.kind}
        for annotations in (annotations_of(child), (child.get("spec") or {}).get("annotations") or {})
        if (value := annotations.get(contract.ANNOTATION_NAMESPACE_PREFIX)) in {TAKEN, WITHHELD}
    }


def extends(other: str, name: str) -> bool:
    """Whether the Dynamo namespace of another graph in the same Kubernetes namespace begins with that of this one."""
    longer, shorter = (identity.dynamo_namespace("", graph) for graph in (other, name))
    return longer != shorter and longer.startswith(shorter)


def sees_workers_of(graph: GraphDeployment, other: str) -> bool:
    """Whether a frontend or picker of the graph may see workers of another graph in the same Kubernetes namespace."""
    return extends(other, graph.metadata.name) and may_see_others(graph)


def may_see_others(graph: GraphDeployment) -> bool:
    """Whether a frontend or picker of the graph looks for workers by the bare prefix."""
    return has_picker_by_prefix(graph) or any(map(has_deciding_frontend, graph.spec.services.values()))


def has_picker_by_prefix(graph: GraphDeployment) -> bool:
    """Whether an endpoint picker of the graph looks for workers by the bare prefix, which pickers always get."""
    return any(map(_is_picker_by_prefix, graph.spec.services.values()))


def decide_prefix(graph: GraphDeployment, observed: str, settings: Settings) -> str:
    """The value of the annotation; under etcd nothing shows the graphs of other namespaces, which it shares."""
    backend = identity.discovery_backend(graph.metadata.annotations, settings.discovery_backend)
    return observed if backend == contract.DISCOVERY_KUBERNETES else WITHHELD


def _graphs_of(accounts: Iterator[str]) -> Iterator[str]:
    suffix = identity.discovery_account("")
    return (account.removesuffix(suffix) for account in accounts if account.endswith(suffix))


def _is_picker_by_prefix(spec: ComponentSpec) -> bool:
    is_native = spec.component_type == ComponentType.EPP and spec.epp_config is None
    return is_native and has_bare_prefix(resolve_runtime_version(spec))


def _versions_of_frontends(spec: ComponentSpec) -> Iterator[RuntimeVersion | None]:
    version = resolve_runtime_version(spec)
    if spec.component_type == ComponentType.FRONTEND:
        yield version
    if spec.frontend_sidecar is not None:
        yield resolve_sidecar_version(spec.frontend_sidecar.image, version)
    containers = spec.extra_pod_spec.get("containers")
    for container in containers if isinstance(containers, list | tuple) else ():
        image = container.get("image") if isinstance(container, dict) else None  # most run no frontend
        yield resolve_sidecar_version(image, None)
