"""Rules about the pod of a component: `extraPodSpec`, `envs`, probes, resources, and the engine's command.

Source: Kubernetes, pkg/apis/core/validation/validation.go; Dynamo operator, internal/dynamo.
"""

from hooks.ground.problems import Reason, Rule, Severity

FIELD_TYPE = Rule(name="field-type", text="{path}: must be {wanted}")
FIELD_REQUIRED = Rule(name="field-required", text="{path} is required", reason=Reason.REQUIRED)
QUANTITY = Rule(name="quantity", text="{path}: {why}")
"""A number or quantity that cannot be read."""

IMAGE = Rule(
    name="image", text="{path}: is required; nothing else gives the container an image", reason=Reason.REQUIRED
)
CONTAINER_NAME = Rule(
    name="container-name", text="{path}: {name!r} is not a container name; use at most 63 of a-z, 0-9 and -"
)
NAME_TAKEN = Rule(name="name-taken", text="{path}: {name!r} is already the name of {other}; use another name")
RESTART_POLICY = Rule(name="restart-policy", text="{path}: is {value}, must be 'Always' or absent")

ENV_NAME = Rule(
    name="env-name",
    text="{path}: {name!r} is not a variable name; use printable ASCII characters other than '='",
)
ENV_VALUE_TWICE = Rule(
    name="env-value-twice", text="{path}: {name} has both value and valueFrom; give only one of them"
)
ENV_SOURCE = Rule(name="env-source", text="{path}: must have exactly one source, such as secretKeyRef or fieldRef")
ENV_REFERENCES = Rule(name="env-references", text="{path}: {why}")
"""References between variables that cannot be expanded."""

PORT_NUMBER = Rule(name="port-number", text="{path}: must be a number from 1 to {most}")
PORT_NAME = Rule(
    name="port-name",
    text="{path}: {name!r} is not a port name; use at most 15 of a-z, 0-9 and single -, with a letter",
)
PROBE_HANDLER = Rule(name="probe-handler", text="{path}: must have one of exec, grpc, httpGet, tcpSocket")

MOUNT_WITHOUT_VOLUME = Rule(name="mount-without-volume", text="{path}: the pod has no volume named {name!r}")
MOUNT_PATH_TAKEN = Rule(
    name="mount-path-taken", text="{path}: {other} is already mounted at {mount_path!r}; use another path"
)

RESOURCE_QUANTITY = Rule(
    name="resource-quantity", text="{path}: failed to get resources config: parse {side} {name} quantity: {why}"
)
NEGATIVE = Rule(name="negative", text="{path}: is {amount}, must not be negative")
WHOLE = Rule(name="whole", text="{path}: is {amount}, must be a whole number")
LIMIT_MISSING = Rule(
    name="limit-missing", text="{path}: {name} needs a limit too, equal to the request", reason=Reason.REQUIRED
)
REQUEST_UNEQUAL = Rule(name="request-unequal", text="{path}: is {amount}, must be equal to the limit, which is {limit}")
REQUEST_ABOVE_LIMIT = Rule(
    name="request-above-limit", text="{path}: is {amount}, must be at most the limit, which is {limit}"
)

ENGINE_COMMAND = Rule(
    name="engine-command",
    text="{path}: must be the command that starts {engine}: on several nodes the image's entry point is replaced",
    reason=Reason.REQUIRED,
)
COMMAND_LINE_LENGTH = Rule(
    name="command-line-length",
    text=(
        "{path}: the command line for several nodes has {size} bytes, must have at most {most}; shorten the arguments "
        "or lower {other}"
    ),
)
UNREAD_PROGRAM = Rule(
    name="unread-program",
    text=(
        "{path}: no Python that runs {engine} is found in {command!r}, so the flags for several nodes are not added; "
        "the program must add them itself"
    ),
    severity=Severity.WARNING,
)
SEPARATE_ENGINES = Rule(
    name="separate-engines",
    text=(
        "{path}: vLLM does not span the {count} nodes, because resources ask for no GPU, or one node's GPUs are enough "
        "for --tensor-parallel-size x --pipeline-parallel-size x --data-parallel-size; set {limit}, raise these sizes, "
        "or remove multinode"
    ),
    severity=Severity.WARNING,
)
RAY_MISSING = Rule(
    name="ray-missing",
    text=(
        "{path}: starts Ray, which the images of release {release} do not have, so these pods crash; set the "
        "annotation {annotation} to mp, by which vLLM spans nodes without Ray, or give an image that has Ray, as "
        "elastic expert parallelism needs"
    ),
    severity=Severity.WARNING,
)
NO_RANKS = Rule(
    name="no-ranks",
    text="{path}: no GPU is requested, and mpirun starts one rank for each GPU, so none; set {limit}",
    severity=Severity.WARNING,
)
