"""What may not change in a graph once it exists, and who may change replicas that a scaling adapter manages.

The old object is read as it is: one that was stored by another version may be of any shape.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, whose order and texts are kept.
"""

from collections.abc import Iterator, Mapping

from hooks import contract, identity
from hooks.api.component_spec import ComponentSpec, Multinode
from hooks.api.graph import GraphDeployment
from hooks.component.validate import read_backend, validate_change
from hooks.graph.path import may_take_grove
from hooks.k8s import kinds
from hooks.k8s.types import Json, ReadManifest
from hooks.validation.judging import Findings
from hooks.validation.review import Review, User

_ACCOUNT = "system:serviceaccount"
_FIXED_TOPOLOGY = (
    "topologyConstraint is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
    "DynamoGraphDeployment to change topology constraints"
)


def find_graph_changes(new: GraphDeployment, old: ReadManifest, review: Review) -> Findings:
    """All that the change does and must not do."""
    engine, before = validate_change(new.spec.backend_framework, read_backend(old)), _read_services(old)
    problems = (
        *engine.problems,
        *_find_flipped_nodes(new.spec.services, before),
        *_find_changed_services(new.spec.services, before),
        *_find_changed_topology(review.new, old),
        *(_find_fixed_nodes(new.spec.services, old) if may_take_grove(new.metadata.annotations) else ()),
    )
    if not may_change_replicas(review.user, new, review):
        problems = (*problems, *_find_changed_replicas(new.spec.services, before))
    return Findings.of(problems, engine.warnings)


def may_change_replicas(user: User | None, graph: GraphDeployment, review: Review) -> bool:
    """Whether the user is one of those who scale; an exact name counts, nobody is known without one.

    They are the graph's own planner, Metacontroller and the hooks themselves, and those whom the settings name.
    """
    if user is None:
        return False
    metadata, settings = graph.metadata, review.settings
    planner = f"{_ACCOUNT}:{metadata.namespace}:{identity.planner_account(metadata.name)}"
    return user.name in {planner, *settings.replica_writers, *settings.controller_accounts}


def _find_flipped_nodes(new: Mapping[str, ComponentSpec], old: Mapping[str, Json]) -> Iterator[str]:
    for name, spec in sorted(new.items()):
        if name in old and spec.is_multinode != (_node_count(old[name]) > 1):
            yield (
                f"spec.services[{name}] cannot change node topology (between single-node and multi-node) after creation"
            )


def _find_changed_services(new: Mapping[str, Json], old: Mapping[str, Json]) -> Iterator[str]:
    changes = (("added", new.keys() - old.keys()), ("removed", old.keys() - new.keys()))
    told = [f"services {what}: [{' '.join(sorted(names))}]" for what, names in changes if names]
    if told:
        yield f"service topology is immutable and cannot be modified after creation: {', '.join(told)}"


def _find_changed_topology(new: ReadManifest, old: ReadManifest) -> Iterator[str]:
    """Grove refuses to place pods anew; the constraint of a service that comes or goes is no change of its own."""
    if _read_topology(new.get("spec")) != _read_topology(old.get("spec")):
        yield f"spec.{_FIXED_TOPOLOGY}"
    services, before = _read_services(new), _read_services(old)
    for name in sorted(services.keys() & before.keys()):
        if _read_topology(services[name]) != _read_topology(before[name]):
            yield f"spec.services[{name}].{_FIXED_TOPOLOGY}"


def _find_fixed_nodes(new: Mapping[str, ComponentSpec], old: ReadManifest) -> Iterator[str]:
    """Services that the old status shows under Grove, and whose replicas are to span another number of nodes.

    All pods of a replica run together, and Grove never changes how many those are.
    """
    status, before = old.get("status"), _read_services(old)
    running = status.get("services") if isinstance(status, Mapping) else None
    for name, service in sorted(running.items()) if isinstance(running, Mapping) else ():
        is_under_grove = (
            isinstance(service, Mapping) and service.get("componentKind") == kinds.POD_CLIQUE_SCALING_GROUP.kind
        )
        if not is_under_grove or name not in new or name not in before or not new[name].is_multinode:
            continue
        count, was = new[name].node_count, _node_count(before[name])
        if was > 1 and count != was:
            yield (
                f"spec.services[{name}].multinode.nodeCount cannot change from {was} to {count}: Grove keeps it for as "
                "long as the PodCliqueSet exists; delete the graph and create it anew, or switch Grove off by the "
                f"graph's annotation {contract.ANNOTATION_ENABLE_GROVE}"
            )


def _find_changed_replicas(new: Mapping[str, ComponentSpec], old: Mapping[str, Json]) -> Iterator[str]:
    for name, spec in sorted(new.items()):
        is_managed = spec.scaling_adapter is not None and spec.scaling_adapter.enabled
        if is_managed and name in old and (1 if spec.replicas is None else spec.replicas) != _replicas(old[name]):
            yield (
                f"spec.services[{name}].replicas cannot be modified directly when scaling adapter is enabled; scale or "
                f"update the related {contract.SCALING_ADAPTER.kind} instead"
            )


def _read_services(manifest: ReadManifest) -> Mapping[str, Json]:
    spec = manifest.get("spec")
    services = spec.get("services") if isinstance(spec, Mapping) else None
    return services if isinstance(services, Mapping) else {}


def _read_topology(spec: Json) -> Json:
    return spec.get("topologyConstraint") if isinstance(spec, Mapping) else None


def _node_count(service: Json) -> int:
    multinode = service.get("multinode") if isinstance(service, Mapping) else None
    if not isinstance(multinode, Mapping):
        return 1
    count = multinode.get("nodeCount", Multinode().node_count)
    return count if isinstance(count, int) else 1


def _replicas(service: Json) -> Json:
    replicas = service.get("replicas") if isinstance(service, Mapping) else None
    return 1 if replicas is None else replicas
