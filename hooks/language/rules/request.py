"""Rules about a DynamoGraphDeploymentRequest.

Source: Dynamo operator, internal/webhook/validation/dynamographdeploymentrequest.go; its texts are kept.
"""

from hooks.ground.problems import Place, Reason, Rule, Severity

PROFILER_IMAGE = Rule(
    name="profiler-image",
    text="{path} is required, because the setting profiler_image is empty",
    reason=Reason.REQUIRED,
    place=Place.WEBHOOK,
    why="it needs the installation's settings",
)
PROFILER_BEFORE_BETA = Rule(
    name="profiler-before-v1beta1",
    text=(
        "{path}: is a profiler of Dynamo {version}, which reads requests of v1alpha1 only; name the dynamo-planner "
        "image of 1.1 or later, or the dynamo-frontend image of 1.0"
    ),
    place=Place.WEBHOOK,
    why="it reads a version in the tag of an image",
)
PROFILER_VERSION = Rule(
    name="profiler-version",
    text=(
        "{path}: is required, because the tag of {image} says no release; write the release of Dynamo that is in it, "
        "for example 1.5.1"
    ),
    reason=Reason.REQUIRED,
    place=Place.WEBHOOK,
    why="it reads a version in the tag of an image",
)
PROFILER_ENGINE = Rule(
    name="profiler-engine",
    text="{path}: a profiler of Dynamo 0.x measures one engine; write sglang, trtllm or vllm",
    place=Place.WEBHOOK,
    why="it reads a version in the tag of an image",
)
PROFILER_DIGEST = Rule(
    name="profiler-digest",
    text=(
        "{path}: names an image by its digest; the profiler would give the same digest to images of workers, which do "
        "not exist; name the image by a tag"
    ),
    place=Place.WEBHOOK,
    why="a profiler of 0.x may be named by a digest, and the tag says the release",
)
PROFILING_CONFIG = Rule(
    name="profiling-config",
    text="{path} is required and must not be empty",
    reason=Reason.REQUIRED,
    place=Place.WEBHOOK,
    why="profilers of 1.0 and later need none, and the tag of the image says the release",
)
GPU_DISCOVERY = Rule(
    name="gpu-discovery",
    text=(
        "{path} can only be set to true for cluster-wide operators. Namespace-restricted operators cannot access "
        "cluster nodes for GPU discovery. Please set enableGpuDiscovery to false and provide hardware configuration "
        "(hardware.min_num_gpus_per_engine, hardware.max_num_gpus_per_engine, hardware.num_gpus_per_node) in "
        "spec.profilingConfig.config"
    ),
    place=Place.WEBHOOK,
    why="it needs the installation's settings",
)
PROFILING_STARTED = Rule(
    name="profiling-started",
    text=(
        "Cannot modify spec in state '{state}'. DynamoGraphDeploymentRequest is immutable once profiling starts. "
        "Create a new resource with a different name instead."
    ),
    reason=Reason.IMMUTABLE,
    place=Place.CEL,
)
PROFILING_CONFIG_OVERWRITTEN = Rule(
    name="profiling-config-overwritten",
    text="{path} ({written}) will be overwritten by {winner} ({value})",
    severity=Severity.WARNING,
)
PROFILING_CONFIG_OBJECT = Rule(name="profiling-config-object", text="failed to parse {path}: it should be an object")
OVERRIDE_NAME = Rule(
    name="override-name",
    text=("{path}: {name!r} must have at most 63 characters and consist of lower case letters, digits, '-' and '.'"),
)
OVERRIDE_NAMESPACE = Rule(
    name="override-namespace", text="{path}: {namespace!r} must consist of lower case letters, digits and '-'"
)
OVERRIDE_NAMESPACE_RESTRICTED = Rule(
    name="override-namespace-restricted",
    text=(
        "{path}: is {namespace}: a namespace-restricted installation creates graphs in the request's own namespace "
        "only; leave it out"
    ),
)
OVERRIDE_NAMESPACE_FOREIGN = Rule(
    name="override-namespace-foreign",
    text=(
        "{path}: is {namespace}: a request creates its graph in its own namespace {own}; leave it out, or have "
        "{namespace} named in the setting request_namespaces"
    ),
)
OVERRIDE_NAMESPACE_FORBIDDEN = Rule(
    name="override-namespace-forbidden",
    text=(
        "{path}: is {namespace}: user {user} may not create dynamographdeployments there{why}; leave it out, or have "
        "the right granted"
    ),
)
OVERRIDE_NAMESPACE_UNREVIEWED = Rule(
    name="override-namespace-unreviewed",
    text=(
        "{path}: is {namespace}: whether user {user} may create dynamographdeployments there is unknown ({why}); try "
        "again, or leave it out"
    ),
)
OVERRIDE_LABEL = Rule(name="override-label", text="{path}: {value!r} is not a label value")
