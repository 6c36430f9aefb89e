"""Which fields of an existing graph are immutable, and who may change replicas that a scaling adapter manages.

The old object may have any shape, because another version may have stored it.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, whose order and texts are kept.
"""

from collections.abc import Iterator, Mapping

from hooks.component.rules.validate import read_backend, validate_change
from hooks.graph.plan.path import may_take_grove
from hooks.graph.seen.live_path import GraphPath, read_reported_path
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import SPEC, Key, Problem
from hooks.language.api.component_spec import ComponentSpec, Multinode
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import graph as rules
from hooks.language.rules import topology
from hooks.language.validation.judging import Findings
from hooks.language.validation.review import Requester, Review
from hooks.wire.policy import identity

_ACCOUNT = "system:serviceaccount"


def find_graph_changes(new: GraphDeployment, old: ReadManifest, review: Review) -> Findings:
    """Problems and warnings of the change."""
    engine, before = validate_change(new.spec.backend_framework, read_backend(old)), _read_services(old)
    problems = (
        *engine.problems,
        *_find_flipped_nodes(new.spec.services, before),
        *_find_changed_least(new.spec.services, before),
        *_find_changed_topology(review.new, old),
        *(_find_fixed_by_grove(new.spec.services, old) if may_take_grove(new.metadata.annotations) else ()),
    )
    if not may_change_replicas(review.user, new, review):
        problems = (*problems, *_find_changed_replicas(new.spec.services, before))
    return Findings(problems=problems, warnings=engine.warnings)


def may_change_replicas(user: Requester | None, graph: GraphDeployment, review: Review) -> bool:
    """Whether the user may scale: the graph's own planner, Metacontroller, the hooks, and users named in settings.

    Names must match exactly; a request without a user may not.
    """
    if user is None:
        return False
    metadata, settings = graph.metadata, review.settings
    planner = f"{_ACCOUNT}:{metadata.namespace}:{identity.planner_account(metadata.name)}"
    return user.name in {planner, *settings.replica_writers, *settings.controller_accounts}


def _find_flipped_nodes(new: Mapping[str, ComponentSpec], old: Mapping[str, Json]) -> Iterator[Problem]:
    for name, spec in sorted(new.items()):
        if name in old and spec.is_multinode != (_node_count(old[name]) > 1):
            yield rules.NODE_TOPOLOGY.at(SPEC / "services" / Key(name))


def _find_changed_least(new: Mapping[str, ComponentSpec], old: Mapping[str, Json]) -> Iterator[Problem]:
    """Services whose least number of replicas changes, which Grove never does."""
    for name, spec in sorted(new.items()):
        if name in old and (spec.min_available or 1) != _least(old[name]):
            yield rules.MIN_AVAILABLE_CHANGE.at(SPEC / "services" / Key(name) / "minAvailable")


def _find_changed_topology(new: ReadManifest, old: ReadManifest) -> Iterator[Problem]:
    """Grove cannot place pods again, so constraints are immutable; another rule is about added and removed services."""
    if _read_topology(new.get("spec")) != _read_topology(old.get("spec")):
        yield topology.TOPOLOGY_CHANGE.at(SPEC / "topologyConstraint")
    services, before = _read_services(new), _read_services(old)
    for name in sorted(services.keys() & before.keys()):
        if _read_topology(services[name]) != _read_topology(before[name]):
            yield topology.TOPOLOGY_CHANGE_OF_SERVICE.at(SPEC / "services" / Key(name) / "topologyConstraint")


def _find_fixed_by_grove(new: Mapping[str, ComponentSpec], old: ReadManifest) -> Iterator[Problem]:
    """What Grove keeps of a graph that runs under it, as the old status says.

    It never changes the cliques, nor their number of pods: all pods of a replica start together.
    """
    if read_reported_path(old.get("status")) is not GraphPath.GROVE:
        return
    before = _read_services(old)
    changes = (("added", new.keys() - before.keys()), ("removed", before.keys() - new.keys()))
    if said := [f"{change}: {', '.join(sorted(names))}" for change, names in changes if names]:
        yield rules.GROVE_SERVICES.at(SPEC / "services", changes="; ".join(said))
    for name in sorted(new.keys() & before.keys()):
        count, was = new[name].node_count, _node_count(before[name])
        if new[name].is_multinode and was > 1 and count != was:
            yield rules.GROVE_NODES.at(SPEC / "services" / Key(name) / "multinode.nodeCount", old=was, new=count)


def _find_changed_replicas(new: Mapping[str, ComponentSpec], old: Mapping[str, Json]) -> Iterator[Problem]:
    for name, spec in sorted(new.items()):
        is_managed = spec.scaling_adapter is not None and spec.scaling_adapter.enabled
        if is_managed and name in old and (1 if spec.replicas is None else spec.replicas) != _replicas(old[name]):
            yield rules.MANAGED_REPLICAS.at(SPEC / "services" / Key(name) / "replicas")


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


def _least(service: Json) -> int:
    least = service.get("minAvailable") if isinstance(service, Mapping) else None
    return least if isinstance(least, int) and least else 1


def _replicas(service: Json) -> Json:
    replicas = service.get("replicas") if isinstance(service, Mapping) else None
    return 1 if replicas is None else replicas
