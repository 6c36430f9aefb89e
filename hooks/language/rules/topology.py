"""Rules about topology constraints.

Source: Dynamo operator 1.0, internal/webhook/validation/dynamographdeployment.go; its texts are kept.
"""

from hooks.ground.problems import Place, Reason, Rule

_FIXED = (
    "{path} is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
    "DynamoGraphDeployment to change topology constraints"
)

TOPOLOGY = Rule(
    name="topology",
    text=("{path} with topologyProfile is required when any topology constraint is set (at spec or service level)"),
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
TOPOLOGY_PROFILE = Rule(
    name="topology-profile",
    text="{path} is required when any topology constraint is set",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
TOPOLOGY_DOMAIN = Rule(name="topology-domain", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
TOPOLOGY_ANYWHERE = Rule(
    name="topology-anywhere",
    text="{path} is required, as no service has a topologyConstraint",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
TOPOLOGY_GROVE = Rule(
    name="topology-grove",
    text="{path}: needs Grove, and this graph does not run under it",
    reason=Reason.NOT_INSTALLED,
    place=Place.WEBHOOK,
    why="CEL does not see metadata.annotations",
)
TOPOLOGY_CHANGE = Rule(name="topology-change", text=_FIXED, reason=Reason.IMMUTABLE, place=Place.CEL)
TOPOLOGY_CHANGE_OF_SERVICE = Rule(
    name="topology-change-of-service", text=_FIXED, reason=Reason.IMMUTABLE, place=Place.CEL
)
COMPONENT_TOPOLOGY = Rule(
    name="component-topology", text="{path}: needs Grove, under which only services of a graph can run", place=Place.CEL
)
TOPOLOGY_FORM_UNKNOWN = Rule(
    name="topology-form-unknown",
    text=(
        "{path}: cannot be rendered: versions of Grove write it differently; set grove_topology to the form that the "
        "installed version knows"
    ),
    reason=Reason.NOT_INSTALLED,
)
TOPOLOGY_DOMAIN_KNOWN = Rule(name="topology-domain-known", text="{path}: {domain!r} must be one of {known}")
TOPOLOGY_DOMAIN_FORM = Rule(
    name="topology-domain-form",
    text="{path}: {domain!r} must begin with a letter and have at most 63 lower case letters, digits and '-'",
)
TOPOLOGY_WIDER = Rule(
    name="topology-wider",
    text=(
        "{path}: {domain!r} is wider than {whole!r} in {at}, and Grove places no part of a graph wider than the whole; "
        "choose {whole!r} or what stands behind it in {levels}"
    ),
)
TOPOLOGY_DOMAIN_LACKS = Rule(
    name="topology-domain-lacks",
    text="{path}: the ClusterTopologyBinding {name} has no domain {domain!r}; Grove finds there {levels}",
)
TOPOLOGY_BINDING_LACKS = Rule(
    name="topology-binding-lacks",
    text=(
        "{path}: there is no ClusterTopologyBinding {name}, in which Grove looks domains up; create it, or choose one "
        "of kubectl get clustertopologybindings"
    ),
)
