"""Rules about a DynamoComponentDeployment: its name, replicas over several nodes, and fields that need a graph."""

from hooks.ground.problems import Place, Reason, Rule

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
GROUP_NAME_FORM = Rule(
    name="group-name-form",
    text=(
        "{path}: a LeaderWorkerSet cannot be named {name!r}; the name of the component must begin with a letter and "
        "hold only lower case letters, digits and -"
    ),
    reason=Reason.NAME,
)
GROUP_COUNT = Rule(
    name="group-count", text="{path}: is {count}, must be at most {most} for a component over several nodes"
)
GROUP_COMMAND = Rule(
    name="group-command",
    text="{path}: container Command cannot be nil for LWS pod; set the command that starts it",
    reason=Reason.REQUIRED,
)
GROUP_ARGS = Rule(
    name="group-args",
    text="{path}: container Args cannot be empty for LWS pod; set the arguments of the command",
    reason=Reason.REQUIRED,
)
NODE_COUNT = Rule(name="node-count", text="{path}: is {count}, must be from 2 to {most}")
NO_ORCHESTRATOR = Rule(
    name="no-orchestrator",
    text=(
        "no multinode orchestrator available: {path} wants one replica on several nodes, so install LeaderWorkerSet "
        "and Volcano (kinds LeaderWorkerSet and PodGroup) and upgrade this chart with its option lws, or use a graph "
        "with Grove"
    ),
    reason=Reason.NOT_INSTALLED,
)
SERVICE_OBJECT_NAME = Rule(
    name="service-object-name",
    text="{path}: {name!r} must begin with a letter, because it is the name of a Service",
    reason=Reason.NAME,
)
LONE_MIN_AVAILABLE = Rule(
    name="lone-min-available",
    text="{path} is currently supported only for Grove-backed DynamoGraphDeployment components",
    place=Place.CEL,
)
DYNAMO_NAMESPACE_FORM = Rule(
    name="dynamo-namespace-form",
    text="{path}: {name!r} is not a Dynamo namespace; use at most 63 of a-z, 0-9 and -",
)
LONE_EPP_CONFIG = Rule(
    name="lone-epp-config",
    text=(
        "{path}: only a graph makes the ConfigMap of an inline configuration; a component without a graph needs "
        "configMapRef"
    ),
)
