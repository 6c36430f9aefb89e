"""Warnings about slips: what is accepted, and probably not meant."""

from hooks.ground.problems import Rule, Severity


def _slip(name: str, text: str) -> Rule:
    return Rule(name=name, text=text, severity=Severity.WARNING)


COMPONENT_TYPE = _slip(
    "component-type",
    "{path}: {value!r} is none of the types with defaults ({choices}), so it gets no probes and no ports{hint}",
)
ANNOTATION_VALUE = _slip("annotation-value", "{path}: {value!r} is none of {choices} and has no effect{hint}")
CANARY_VALUE = _slip(
    "canary-value",
    "{path}: {value!r} is no number of complete sets and no percentage of them, and has no effect; write 2 or 25%",
)
DISCOVERY_VALUE = _slip(
    "discovery-value", "{path}: {value!r} is none of {choices}, so processes do not find each other{hint}"
)
INGRESS_WITHOUT_CLASS = _slip(
    "ingress-without-class",
    "{path}: is enabled and makes nothing; set {class_name}, or {use} and {gateway}",
)
PROBE_PORT = _slip(
    "probe-port",
    "{path}: no port is named {name!r}, at which {probe} asks, so the container never gets ready; add this port, or "
    "write another probe",
)
NO_RELEASE = _slip(
    "no-release",
    "{path}: the tag of {image!r} names no release of Dynamo, so a new component gets the defaults of 0.9, and a "
    "running one keeps its release; write the release into {field}, such as 1.5.0",
)
KEPT_RELEASE = _slip(
    "kept-release",
    "{path}: the tag of the image names no release of Dynamo, so {release} stays, which ran before; correct the tag, "
    "or write the release of the image here",
)
NEWER_RELEASE = _slip(
    "newer-release",
    "{path}: the tag of {image!r} is above {newest}, the newest release of Dynamo that is known here, so the component "
    "gets the defaults of that one; if the tag is the version of something else, write Dynamo's release into {field}",
)
PROGRAM_LACKS = _slip(
    "program-lacks",
    "{path}: {image!r} has no program {name}, which Dynamo's images have {span}, so the container ends at once, with "
    "status 127; {remedy}",
)
MODULE_LACKS = _slip(
    "module-lacks",
    "{path}: {image!r} cannot run {name}{span}, so the container ends at once; {remedy}",
)
FLAG_LACKS = _slip(
    "flag-lacks",
    "{path}: {module} takes {name} {span}, and this image has {version}, so it ends at once; {remedy}",
)
VARIABLE_LACKS = _slip(
    "variable-lacks",
    "{path}: {module} reads {name} {span}, and this image has {version}, so it {outcome}; {remedy}",
)
ARGUMENTS_MISREAD = _slip(
    "arguments-misread",
    "{path}: {program} reads {word!r} as an option of its own, and the container ends at once, with status 2; "
    "write command too, such as {command}",
)
ARGUMENTS_UNREAD = _slip(
    "arguments-unread",
    "{path}: {program} runs {word!r} alone, without the words after it, and the container ends at once; write command "
    "too, such as {command}",
)
REPLACED = _slip(
    "replaced",
    "{path}: {value!r} has no effect, and {used} is there instead, because {why}; remove it",
)
SHARED_MEMORY = _slip(
    "shared-memory",
    "{path}: {value!r} is not used, and {used} is there instead, because {other} sets the size of /dev/shm; remove "
    "one of them",
)
VARIABLE_TWICE = _slip(
    "variable-twice",
    "{path}: the variable {name} stands at {other} too, where it has no effect, because the last of equal names "
    "counts; remove one of them",
)
PLANNER_CONFIG = _slip(
    "planner-config",
    "{path}: a planner of Dynamo {version} takes --config alone, with JSON or the path of a file, and ends without it; "
    "run python3 -m dynamo.planner --config",
)
SECOND_PICKER = _slip(
    "second-picker",
    "{path}: has no effect; a graph has one ConfigMap for endpoint pickers, and it holds the configuration of {other}; "
    "use configMapRef here",
)
EMPTY_POOL = _slip(
    "empty-pool",
    "{path}: its InferencePool selects workers in its own Dynamo namespace, and this graph has none",
)
GLOBAL_NAMESPACE = _slip(
    "global-namespace",
    "{path}: {other} ({place}) is a service of the same name in the same global Dynamo namespace, so requests for one "
    "reach the other; rename one, or remove globalDynamoNamespace",
)
POWER_LIMIT = _slip(
    "power-limit",
    "{path}: {value!r} is no whole number of watts above 0, so no power agent and no planner applies it",
)
EXTENDED_NAMESPACE = _slip(
    "extended-namespace",
    "{path}: the Dynamo namespace of this graph begins with that of {other}{place}, and a frontend or endpoint picker "
    "there, of a release before 1.6.1, may send requests to the workers of this graph; choose another name, or run "
    "1.6.1 or later there",
)
EXTENDING_NAMESPACE = _slip(
    "extending-namespace",
    "{path}: the Dynamo namespace of {other}{place} begins with that of this graph, and a frontend or endpoint picker "
    "here, of a release before 1.6.1, may send requests to the workers there; choose another name, or run 1.6.1 or "
    "later here",
)
MPI_SECRET = _slip(
    "mpi-secret",
    "{path}: TensorRT-LLM over several nodes starts by mpirun over SSH, with {keys} of Secret {name}; these manifests "
    "have no such Secret; create it in the cluster, or name another one in the setting mpi_secret",
)
ADAPTER_ANYWHERE = _slip(
    "adapter-anywhere",
    "{path}: {other} ({place}) sends requests for {name!r} to any worker, and those fail that reach one which has not "
    "loaded it yet; set DYN_LORA_ENABLED to true at that frontend",
)
BASE_IN_CAPITALS = _slip(
    "base-in-capitals",
    "{path}: {base!r} differs only in capitals from {served!r}, which {other} ({place}) serves; names are compared "
    "exactly, so the model finds no engine there; write the same name in both",
)
