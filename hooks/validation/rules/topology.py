"""Rules about topology constraints.

Source: Dynamo operator 1.0, internal/webhook/validation/dynamographdeployment.go, whose texts are kept.
"""

from hooks.problems import Place, Reason, Rule

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
TOPOLOGY_OF_SERVICE = Rule(
    name="topology-of-service",
    text="{path} is required, as spec.topologyConstraint.packDomain is not set",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
TOPOLOGY_GROVE = Rule(
    name="topology-grove",
    text="{path} needs Grove, and this graph does not run under it",
    reason=Reason.NOT_INSTALLED,
    place=Place.WEBHOOK,
    why="CEL does not see metadata.annotations",
)
TOPOLOGY_CHANGE = Rule(name="topology-change", text=_FIXED, reason=Reason.IMMUTABLE, place=Place.CEL)
TOPOLOGY_CHANGE_OF_SERVICE = Rule(
    name="topology-change-of-service", text=_FIXED, reason=Reason.IMMUTABLE, place=Place.CEL
)
COMPONENT_TOPOLOGY = Rule(
    name="component-topology", text="{path} needs Grove, under which only services of a graph can run", place=Place.CEL
)
