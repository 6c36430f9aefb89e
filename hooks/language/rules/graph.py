"""Rules about a graph as a whole: services, claims, the restart, names, and changes.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go; its texts are kept.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.problems import Place, Reason, Rule, Severity

FAILED_PASS = "failed to reconcile Dynamo components deployments"  # noqa: S105 - upstream's text, no password

_CREATED = "is required when create is true"
_NAME_FORM = "{path}: {name!r} must consist of lower case letters, digits, '-' and '.'"
_ANNOTATION = "CEL does not see metadata.annotations"

SERVICES = Rule(name="services", text="{path} must have at least one service", reason=Reason.REQUIRED, place=Place.CEL)
CLAIM_NAME = Rule(name="claim-name", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
CLAIM_STORAGE_CLASS = Rule(
    name="claim-storage-class", text=f"{{path}} {_CREATED}", reason=Reason.REQUIRED, place=Place.CEL
)
CLAIM_SIZE = Rule(name="claim-size", text=f"{{path}} {_CREATED}", reason=Reason.REQUIRED, place=Place.CEL)
CLAIM_ACCESS_MODE = Rule(name="claim-access-mode", text=f"{{path}} {_CREATED}", reason=Reason.REQUIRED, place=Place.CEL)
CREATED_CLAIM: Mapping[str, Rule] = {
    "storageClass": CLAIM_STORAGE_CLASS,
    "size": CLAIM_SIZE,
    "volumeAccessMode": CLAIM_ACCESS_MODE,
}
"""The fields that an entry of `spec.pvcs` needs if `create` is true, each with the rule that requires it."""
COMPONENT_NAME_TAKEN = Rule(
    name="component-name-taken",
    text=(
        "{path}: becomes {name} in namespace {namespace}, which is the name of {other} ({place}) too; rename one "
        "of the graphs or services"
    ),
    reason=Reason.NAME,
)
CLAIM_MODE_UNKNOWN = Rule(name="claim-mode-unknown", text="{path}: is {found}, must be one of {choices}{hint}")
CLAIM_CLASS_FORM = Rule(
    name="claim-class-form",
    text="{path}: {name!r} is not the name of a storage class; use at most 253 of a-z, 0-9, - and .",
)
CLAIM_NAME_FORM = Rule(name="claim-name-form", text=_NAME_FORM, reason=Reason.NAME)
CLAIM_QUANTITY = Rule(name="claim-quantity", text="{path}: {why}")
CLAIM_SIZE_POSITIVE = Rule(name="claim-size-positive", text="{path}: {size} must be greater than zero")
RESTART_ID = Rule(name="restart-id", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
RESTART_PARALLEL = Rule(
    name="restart-parallel", text="{path} cannot be specified when strategy is parallel", place=Place.CEL
)
RESTART_UNIQUE = Rule(name="restart-unique", text="{path} must be unique", place=Place.CEL)
RESTART_COMPLETE = Rule(
    name="restart-complete",
    text="{path} must have the same number of unique services as the deployment",
    place=Place.CEL,
)
RESTART_UNKNOWN = Rule(name="restart-unknown", text="{path} contains unknown service: {service}", place=Place.CEL)

GRAPH_NAME_FORM = Rule(name="graph-name-form", text=_NAME_FORM, reason=Reason.NAME)
GRAPH_NAME_LENGTH = Rule(
    name="graph-name-length",
    text="{path}: has {length} characters, must have at most 63: it becomes a label",
    reason=Reason.NAME,
    place=Place.CEL,
)
SERVICE_NAMES_DIFFER = Rule(
    name="service-names-differ",
    text="{path}: its objects would be named {name}, as those of {other}; rename one",
    reason=Reason.NAME,
    place=Place.CEL,
)
SERVICE_NAME = Rule(
    name="service-name",
    text="{path}: the name {name} is not possible; a service's name has letters, digits and '-' only",
    reason=Reason.NAME,
    place=Place.CEL,
)
SERVICE_NAME_LENGTH = Rule(
    name="service-name-length",
    text=(
        "{path}: the name {name} has {length} characters, at most 63 are possible; shorten the DynamoGraphDeployment "
        "name (length {graph_length}) or the service name (length {service_length})"
    ),
    reason=Reason.NAME,
    place=Place.CEL,
)
GROVE_NAME_LENGTH = Rule(
    name="grove-name-length",
    text=(
        "{path}: combined resource name length {length} exceeds the 45-character pod-name limit (PodCliqueSet {name} + "
        "{parts}); shorten this name to at most {most} characters, or run the graph without Grove by its annotation "
        f'{contract.ANNOTATION_ENABLE_GROVE}: "false"{{nodes}}'
    ),
    reason=Reason.NAME,
    place=Place.WEBHOOK,
    why=_ANNOTATION,
)
GROVE_NAME_KEPT = Rule(
    name="grove-name-kept",
    text=(
        "{path}: combined resource name length {length} exceeds the 45-character pod-name limit (PodCliqueSet {name} + "
        "{parts}), and the graph's PodCliqueSet keeps its name; shorten this name to at most {most} characters, or "
        "delete the graph and create it again"
    ),
    reason=Reason.NAME,
    place=Place.WEBHOOK,
    why="it needs the status",
)
SET_NAME_TAKEN = Rule(
    name="set-name-taken",
    text=(
        "{path}: its PodCliqueSet becomes {name} in namespace {namespace}, as that of {other} ({place}) does; rename "
        "one of the graphs"
    ),
    reason=Reason.NAME,
)

NODE_TOPOLOGY = Rule(
    name="node-topology",
    text="{path} cannot change node topology (between single-node and multi-node) after creation",
    reason=Reason.IMMUTABLE,
    place=Place.CEL,
)
GROVE_NODES = Rule(
    name="grove-nodes",
    text=(
        "{path}: cannot change from {old} to {new}: Grove keeps it for as long as the PodCliqueSet exists; delete the "
        "graph and create it again, or switch Grove off by the graph's annotation " + contract.ANNOTATION_ENABLE_GROVE
    ),
    reason=Reason.IMMUTABLE,
    place=Place.WEBHOOK,
    why=_ANNOTATION,
)
GROVE_SERVICES = Rule(
    name="grove-services",
    text=(
        "{path}: none can be added or removed under Grove ({changes}), which keeps the cliques of a PodCliqueSet; "
        "delete the graph and create it again, or switch Grove off by the graph's annotation "
        + contract.ANNOTATION_ENABLE_GROVE
    ),
    reason=Reason.IMMUTABLE,
    place=Place.WEBHOOK,
    why=_ANNOTATION,
)
MIN_AVAILABLE_CHANGE = Rule(
    name="min-available-change",
    text="{path} is immutable and cannot be changed after creation",
    reason=Reason.IMMUTABLE,
    place=Place.CEL,
)
PRIORITY_CLASS_NAME = Rule(
    name="priority-class-name",
    text="{path}: {name!r} is not the name of a PriorityClass; use at most 253 of a-z, 0-9, - and .",
)
PRIORITY_CLASS_IDLE = Rule(
    name="priority-class-idle",
    text=(
        "{path}: has no effect, because this graph does not run under Grove; set extraPodSpec.priorityClassName of "
        "each service instead"
    ),
    severity=Severity.WARNING,
)
PRIORITY_CLASS_GROVE = Rule(
    name="priority-class-grove",
    text=(
        "{path}: reaches no pod, because Grove hands it to KAI and Volcano alone, and neither schedules this graph; "
        "set extraPodSpec.priorityClassName of each service instead"
    ),
    severity=Severity.WARNING,
)
MANAGED_REPLICAS = Rule(
    name="managed-replicas",
    text=(
        "{path} cannot be modified directly when scaling adapter is enabled; scale or update the related "
        "DynamoGraphDeploymentScalingAdapter instead"
    ),
    reason=Reason.REPLICAS_MANAGED,
    place=Place.WEBHOOK,
    why="it needs the user",
)
ENV_NAME_REQUIRED = Rule(name="env-name-required", text="{path} is required", reason=Reason.REQUIRED)
ENV_VALUE_STRING = Rule(name="env-value-string", text="{path}: the value of {name} must be a string; quote it")
RESTART_ANNOTATION = Rule(
    name="restart-annotation",
    text=(
        "{path}: is written by restarts: once the service has pods, another value here changes nothing; "
        "use spec.restart"
    ),
    severity=Severity.WARNING,
)
NO_ORCHESTRATOR = Rule(
    name="no-orchestrator-for-graph",
    text=(
        f"{FAILED_PASS}: no multinode orchestrator available: {{services}} span several nodes; install Grove, or "
        "LeaderWorkerSet together with Volcano, then run helm upgrade, so that the hooks use them"
    ),
    reason=Reason.NOT_INSTALLED,
)
GROUP_NAMES_DIFFER = Rule(
    name="group-names-differ",
    text=(
        "{path}: the name {name} can be the name of a LeaderWorkerSet of {other} too, which spans several nodes; "
        "rename one of the two"
    ),
    reason=Reason.NAME,
)
