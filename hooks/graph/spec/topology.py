"""Topology constraints: which pods must run close together, in the form that the installed Grove knows.

Only Grove places pods by topology, so a graph with constraints on the other path is refused.

Source: Dynamo operator 1.5, internal/webhook/validation/dynamographdeployment.go, whose texts are kept, and
internal/dynamo/grove.go; Grove, operator/api/core/v1alpha1, TopologyConstraint of alpha.6 to alpha.12.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.grove import DOMAINS, Topology, TopologyForm, is_domain
from hooks.ground.problems import SPEC, FieldPath, Joined, Key, Problem
from hooks.ground.settings import Settings
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import topology as rules

WHOLE_GRAPH = ""
_WHOLE = SPEC / "topologyConstraint"
_MOST_LEVELS = 20
"""Domains of a binding that a message names."""


def has_topology(graph: GraphDeployment) -> bool:
    """Whether a graph asks for any topology."""
    return graph.spec.topology_constraint is not None or any(
        service.topology_constraint is not None for service in graph.spec.services.values()
    )


def validate_topology(graph: GraphDeployment, *, takes_grove: bool) -> Iterator[Problem]:
    """Problems of a graph's constraints that do not depend on the version of Grove."""
    if not has_topology(graph):
        return
    if not takes_grove:
        yield rules.TOPOLOGY_GROVE.at(_WHOLE)
    whole = graph.spec.topology_constraint
    if whole is None:
        yield rules.TOPOLOGY.at(_WHOLE)
    elif not whole.topology_profile:
        yield rules.TOPOLOGY_PROFILE.at(_WHOLE / "topologyProfile")
    asked = {name: found for name, one in graph.spec.services.items() if (found := one.topology_constraint) is not None}
    if whole is not None and not whole.pack_domain and graph.spec.services and not asked:
        yield rules.TOPOLOGY_ANYWHERE.at(_WHOLE / "packDomain")
    for name, constraint in sorted(asked.items()):
        if not constraint.pack_domain:
            yield rules.TOPOLOGY_DOMAIN.at(_path(name) / "packDomain")


def find_refused(graph: GraphDeployment, levels: Sequence[str] | None = None) -> Iterator[Problem]:
    """Problems for which Grove does not create the graph's set.

    `levels` are the domains of the binding that the graph names, the widest first, and () if there is no such binding;
    None if it was not read. Then only those of the fixed list are compared.

    Source: Grove, operator/internal/webhook/admission/pcs/validation, topologyconstraints.go.
    """
    whole = graph.spec.topology_constraint
    if whole is None:
        return
    if levels == ():
        yield rules.TOPOLOGY_BINDING_LACKS.at(_WHOLE / "topologyProfile", name=whole.topology_profile)
        return
    asked = {name: spec.topology_constraint for name, spec in sorted(graph.spec.services.items())}
    order, named = levels or DOMAINS, ", ".join((levels or DOMAINS)[:_MOST_LEVELS])
    for name, constraint in {WHOLE_GRAPH: whole, **asked}.items():
        domain, path = constraint.pack_domain if constraint else "", _path(name) / "packDomain"
        if domain and levels and domain not in levels:
            yield rules.TOPOLOGY_DOMAIN_LACKS.at(path, name=whole.topology_profile, domain=domain, levels=named)
        elif {domain, whole.pack_domain} <= {*order} and order.index(domain) < order.index(whole.pack_domain):
            at = Joined.of([_WHOLE / "packDomain"])
            yield rules.TOPOLOGY_WIDER.at(path, domain=domain, whole=whole.pack_domain, at=at, levels=named)


def plan_topology(
    graph: GraphDeployment, settings: Settings, live_path: TopologyForm | None = None
) -> Mapping[str, Topology]:
    """The constraints by service, that of the whole graph under `WHOLE_GRAPH`; {} if there are none.

    `live_path` is the form in which the graph's set has them; it counts where no setting says a form.

    Raises:
        InvalidSpec: the installed Grove does not support them.
    """
    whole = graph.spec.topology_constraint
    if whole is None:
        return {}
    form = live_path if settings.grove_topology == "off" else TopologyForm(settings.grove_topology)
    if form is None:
        raise InvalidSpec(rules.TOPOLOGY_FORM_UNKNOWN.at(_WHOLE))
    asked = {name: spec.topology_constraint for name, spec in graph.spec.services.items()}
    found = {
        name: Topology(form=form, name=whole.topology_profile, domain=constraint.pack_domain)
        for name, constraint in sorted({WHOLE_GRAPH: whole, **asked}.items())
        if constraint is not None and constraint.pack_domain
    }
    problems = tuple(p for name, topology in found.items() for p in _find_domain_problems(topology, _path(name)))
    if problems:
        raise InvalidSpec(problems)
    return found


def _find_domain_problems(topology: Topology, path: FieldPath) -> Iterator[Problem]:
    domain = topology.domain
    if topology.form is TopologyForm.PACK_DOMAIN and domain not in DOMAINS:
        yield rules.TOPOLOGY_DOMAIN_KNOWN.at(path / "packDomain", domain=domain, known=", ".join(DOMAINS))
    elif not is_domain(domain):
        yield rules.TOPOLOGY_DOMAIN_FORM.at(path / "packDomain", domain=domain)


def _path(service: str) -> FieldPath:
    return SPEC / "services" / Key(service) / "topologyConstraint" if service else _WHOLE
