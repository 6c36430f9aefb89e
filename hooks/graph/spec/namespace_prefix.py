"""Whether frontends of a graph get the bare prefix of its Dynamo namespace: only if no other graph's begins with it.

It is decided when the graph's first such frontend is created or changes, by the graphs that the Kubernetes namespace
has then, and is kept. A graph is known by its ServiceAccount for discovery, which changes less often than the graph.
"""

from collections.abc import Iterator

from hooks.component.image.runtime_version import (
    RuntimeVersion,
    has_bare_prefix,
    resolve_runtime_version,
    resolve_sidecar_version,
)
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import annotations_of, name_of
from hooks.ground.settings import Settings
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.wire.metacontroller.protocol import RelatedRule, SyncRequest
from hooks.wire.policy import identity

TAKEN, WITHHELD = "true", "false"


def needs_decision(graph: GraphDeployment) -> bool:
    """Whether some service has a frontend of a release that knows the bare prefix alone."""
    return any(map(has_deciding_frontend, graph.spec.services.values()))


def has_deciding_frontend(spec: ComponentSpec) -> bool:
    """Whether a container of the service may be such a frontend; fragments may have any type."""
    return any(map(has_bare_prefix, _versions_of_frontends(spec)))


def neighbours_rule(namespace: str) -> RelatedRule:
    """The ServiceAccounts for discovery of all graphs in a Kubernetes namespace, among other accounts of theirs."""
    return RelatedRule.of(
        kinds.SERVICE_ACCOUNT, namespace, match_labels={contract.LABEL_APP_MANAGED_BY: contract.MANAGER}
    )


def observe_prefix(request: SyncRequest) -> str:
    """What was decided before, otherwise what follows from the graphs that are there."""
    kept = {
        value
        for child in request.children.all()
        if child["kind"] in {contract.COMPONENT.kind, kinds.POD_CLIQUE_SET.kind}
        for annotations in (annotations_of(child), (child.get("spec") or {}).get("annotations") or {})
        if (value := annotations.get(contract.ANNOTATION_NAMESPACE_PREFIX)) in {TAKEN, WITHHELD}
    }
    if kept:
        return min(kept)  # nothing writes two
    name = request.parent["metadata"]["name"]
    accounts = map(name_of, request.related.of(kinds.SERVICE_ACCOUNT))
    return WITHHELD if any(extends(other, name) for other in _graphs_of(accounts)) else TAKEN


def extends(other: str, name: str) -> bool:
    """Whether the Dynamo namespace of another graph in the same Kubernetes namespace begins with that of this one."""
    longer, shorter = (identity.dynamo_namespace("", graph) for graph in (other, name))
    return longer != shorter and longer.startswith(shorter)


def sees_workers_of(graph: GraphDeployment, other: str) -> bool:
    """Whether a frontend or picker of the graph may see workers of another graph in the same Kubernetes namespace."""
    return extends(other, graph.metadata.name) and may_see_others(graph)


def may_see_others(graph: GraphDeployment) -> bool:
    """Whether a frontend or picker of the graph looks for workers by the bare prefix."""
    return any(has_deciding_frontend(spec) or _is_picker_by_prefix(spec) for spec in graph.spec.services.values())


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
