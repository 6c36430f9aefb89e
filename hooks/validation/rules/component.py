"""Rules about a DynamoComponentDeployment alone."""

from hooks.problems import Place, Reason, Rule

_LABELLED = "must have at most 63: pods are selected by it, and Service and Deployment are named so"

COMPONENT_NAME_LENGTH = Rule(
    name="component-name-length",
    text=f"{{path}}: {{name!r}} has {{length}} characters, {_LABELLED}",
    reason=Reason.NAME,
    place=Place.CEL,
)
SERVICE_LABEL_LENGTH = Rule(
    name="service-label-length",
    text=f"{{path}}: {{name!r}} has {{length}} characters, {_LABELLED}",
    reason=Reason.NAME,
    place=Place.CEL,
)
GROUP_NAME_LENGTH = Rule(
    name="group-name-length",
    text=(
        "{path}: the LeaderWorkerSet would be named {name!r}, which has {length} characters, must have at most 50; "
        "shorten the name of the component, or of the graph or service"
    ),
    reason=Reason.NAME,
    place=Place.WEBHOOK,
    why="replicas change, and CEL sees the name only where it sees a status too, which must always be written",
)
