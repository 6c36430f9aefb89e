"""The ClusterTopologyBinding that a graph names: it is read on demand until Grove has created the graph's set.

Grove judges constraints when it creates a set, and never later. What was not read is not refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hooks.graph.spec.topology import find_refused
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import TopologyForm
from hooks.ground.problems import Problem
from hooks.ground.settings import Settings, Switch
from hooks.ground.settings.facts import Facts
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules.topology import TOPOLOGY_BINDING_LACKS, TOPOLOGY_DOMAIN_LACKS, TOPOLOGY_WIDER
from hooks.wire.metacontroller.protocol import ObjectQuery, SyncRequest
from hooks.wire.policy.on_demand import PlannedReads, plan_next_read

_NAMING_FORMS = frozenset({TopologyForm.TOPOLOGY_NAME, TopologyForm.PACK})
_BY_BINDING = frozenset({TOPOLOGY_BINDING_LACKS, TOPOLOGY_DOMAIN_LACKS, TOPOLOGY_WIDER})


def check_topology(request: SyncRequest, graph: GraphDeployment, settings: Settings) -> None:
    """Look at the constraints of a graph that has no set yet.

    Raises:
        InvalidSpec: Grove would not create the set.
    """
    if not _is_to_come(request):
        return
    query = _query_binding(request, settings)
    levels = _read_levels(request, query) if query is not None and request.answered.get(query) == "" else None
    if problems := tuple(find_refused(graph, levels)):
        raise InvalidSpec(problems)


def add_binding(
    reads: PlannedReads, request: SyncRequest, facts: Facts, refused: Iterable[Problem] = ()
) -> PlannedReads:
    """What is read, and the graph's binding; a graph that is refused for that is looked at again after some time."""
    if (query := _query_binding(request, facts.settings)) is None:
        return reads
    waits = any(problem.rule in _BY_BINDING for problem in refused)
    seconds = [one for one in (reads.seconds, plan_next_read(request.status, facts.now).seconds if waits else 0) if one]
    return replace(reads, queries=(query, *reads.queries), waits=True, seconds=min(seconds, default=0))


def _query_binding(request: SyncRequest, settings: Settings) -> ObjectQuery | None:
    """The query for the binding; None if there is none to read, or it decides nothing any more."""
    if settings.explain_pods is Switch.OFF or settings.grove_topology not in _NAMING_FORMS or not _is_to_come(request):
        return None
    constraint = (request.parent.get("spec") or {}).get("topologyConstraint")
    name = constraint.get("topologyProfile") if isinstance(constraint, Mapping) else None
    return ObjectQuery(kinds.CLUSTER_TOPOLOGY_BINDING, "", name) if name and isinstance(name, str) else None


def _is_to_come(request: SyncRequest) -> bool:
    """Whether the graph may get a set, and has none."""
    return request.children.has_kind(kinds.POD_CLIQUE_SET) and not request.children.of(kinds.POD_CLIQUE_SET)


def _read_levels(request: SyncRequest, query: ObjectQuery) -> tuple[str, ...] | None:
    """The domains of the binding that was read, () if there is none; None if it has none that can be read."""
    if (found := request.related.get(query.kind, query.name)) is None:
        return ()
    levels = (found.get("spec") or {}).get("levels")
    named = levels if isinstance(levels, list) else ()
    return tuple(str(one.get("domain")) for one in named if isinstance(one, Mapping)) or None
