"""Where the pods of a graph must lie close together: topology constraints, in the form that the installed Grove knows.

Only Grove places pods by topology, so a graph that takes another path is refused rather than spread.

Source: Dynamo operator 1.0, internal/webhook/validation/dynamographdeployment.go, whose texts are kept, and
internal/dynamo/grove.go; Grove, operator/api/core/v1alpha1, TopologyConstraint of alpha.6 to alpha.12.
"""

from collections.abc import Iterator, Mapping

from hooks.api.graph import GraphDeployment
from hooks.errors import InvalidSpec
from hooks.k8s.grove import Topology, TopologyForm
from hooks.settings import Settings

WHOLE_GRAPH = ""
_PROFILE = (
    "spec.topologyConstraint with topologyProfile is required when any topology constraint is set (at spec or service "
    "level)"
)
_NOT_TOLD = (
    "spec.topologyConstraint cannot be rendered: versions of Grove write it differently, and the setting "
    "grove_topology, which says how the installed one does, is off"
)
_NEEDS_GROVE = "spec.topologyConstraint needs Grove, and this graph does not run under it"


def has_topology(graph: GraphDeployment) -> bool:
    """Whether a graph asks for any topology."""
    return graph.spec.topology_constraint is not None or any(
        service.topology_constraint is not None for service in graph.spec.services.values()
    )


def validate_topology(graph: GraphDeployment, *, takes_grove: bool) -> Iterator[str]:
    """What is wrong with a graph's constraints, whatever version of Grove is installed."""
    if not has_topology(graph):
        return
    if not takes_grove:
        yield _NEEDS_GROVE
    whole = graph.spec.topology_constraint
    if whole is None:
        yield _PROFILE
    elif not whole.topology_profile:
        yield "spec.topologyConstraint.topologyProfile is required when any topology constraint is set"
    for name, service in sorted(graph.spec.services.items()):
        path = _path(name)
        if service.topology_constraint is not None and not service.topology_constraint.pack_domain:
            yield f"{path}.packDomain is required"
        elif service.topology_constraint is None and whole is not None and not whole.pack_domain:
            yield f"{path} is required, as spec.topologyConstraint.packDomain is not set"


def plan_topology(graph: GraphDeployment, settings: Settings) -> Mapping[str, Topology]:
    """The constraints by service, that of the whole graph under `WHOLE_GRAPH`; {} where there are none.

    Raises:
        InvalidSpec: the installed Grove could not take them.
    """
    whole = graph.spec.topology_constraint
    if whole is None:
        return {}
    if settings.grove_topology == "off":
        raise InvalidSpec(_NOT_TOLD)
    asked = {name: spec.topology_constraint for name, spec in graph.spec.services.items()}
    form = TopologyForm(settings.grove_topology)
    found = {
        name: Topology(form=form, name=whole.topology_profile, domain=constraint.pack_domain)
        for name, constraint in sorted({WHOLE_GRAPH: whole, **asked}.items())
        if constraint is not None and constraint.pack_domain
    }
    faults = {_path(name): topology.find_fault() for name, topology in found.items()}
    if problems := tuple(f"{path}.packDomain {fault}" for path, fault in faults.items() if fault):
        raise InvalidSpec(problems)
    return found


def _path(service: str) -> str:
    return f"spec.services[{service}].topologyConstraint" if service else "spec.topologyConstraint"
