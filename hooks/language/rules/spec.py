"""Rules about the spec that a component and a graph's service share; the rules about the pod are in `pod`.

In texts, `{spec}` is the path of that spec: `spec`, or `spec.services[<name>]`.

Source: Dynamo operator, internal/webhook/validation/shared.go; its texts are kept.
"""

from hooks.ground.problems import Place, Reason, Rule, Severity

REPLICAS = Rule(name="replicas", text="{path} must be non-negative", place=Place.CEL)
INGRESS_HOST = Rule(
    name="ingress-host",
    text="{path} is required when ingress is enabled",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
MOUNT_POINT = Rule(
    name="mount-point",
    text="{path} is required when useAsCompilationCache is false",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
SHARED_MEMORY_SIZE = Rule(
    name="shared-memory-size",
    text="{path} is required when disabled is false",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
FRONTEND_SIDECAR = Rule(
    name="frontend-sidecar",
    text=(
        '{spec}: cannot inject frontend sidecar: a container named "sidecar-frontend" already exists in '
        "extraPodSpec.containers"
    ),
)
RUNTIME_VERSION = Rule(name="runtime-version", text='{path} must be a semantic version such as "1.1.0"')
RUNTIME_SIDECAR_TYPE = Rule(
    name="runtime-sidecar-type", text="{path} is supported only for worker, prefill, and decode components"
)
RUNTIME_SIDECAR_NODES = Rule(
    name="runtime-sidecar-nodes",
    text="{path} is not supported beside a runtime init container ({container}); remove one of them",
)
MIN_AVAILABLE = Rule(
    name="min-available",
    text="{spec}: minAvailable must be less than or equal to replicas unless replicas is 0",
    place=Place.CEL,
)
MIN_AVAILABLE_GROVE = Rule(
    name="min-available-grove",
    text="{path} is currently supported only for Grove-backed DynamoGraphDeployment components",
    reason=Reason.NOT_INSTALLED,
    place=Place.WEBHOOK,
    why="CEL does not see metadata.annotations",
)
EXECUTOR = Rule(name="executor", text='{path} has invalid value {value}: must be "mp" or "ray"', place=Place.CEL)
EPP_POOL = Rule(
    name="epp-pool",
    text=(
        "{path}: cannot deploy EPP component: InferencePool API group (inference.networking.k8s.io) is not available "
        "in the cluster. EPP requires the Gateway API Inference Extension to be installed. Please install the Gateway "
        "API Inference Extension before deploying EPP components"
    ),
    reason=Reason.NOT_INSTALLED,
    place=Place.WEBHOOK,
    why="it needs the cluster",
)
EPP_NODES = Rule(
    name="epp-nodes",
    text="{spec}: EPP component cannot be multinode (multinode field must be nil or nodeCount must be 1)",
    place=Place.CEL,
)
EPP_REPLICAS = Rule(
    name="epp-replicas",
    text="{spec}: EPP component must have exactly 1 replica (found {count} replicas)",
    place=Place.CEL,
)
EPP_CONFIG = Rule(
    name="epp-config",
    text=(
        "{path} is required for EPP components of releases before 1.5.0; if the image is of a later release, say so in "
        "its tag or in runtimeVersionOverride"
    ),
    reason=Reason.REQUIRED,
    place=Place.WEBHOOK,
    why="it depends on the release in the image's tag",
)
EPP_CONFIG_NATIVE = Rule(
    name="epp-config-native",
    text="{path} must be omitted for native Rust EPP images with runtime version 1.5.0 or later",
    place=Place.WEBHOOK,
    why="it depends on the release in the image's tag",
)
EPP_CONFIG_EITHER = Rule(
    name="epp-config-either",
    text="{path}: either configMapRef or config must be specified (no default configuration provided)",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
EPP_CONFIG_BOTH = Rule(
    name="epp-config-both",
    text="{path}: configMapRef and config are mutually exclusive, only one can be specified",
    place=Place.CEL,
)
EPP_CONFIG_NAME = Rule(name="epp-config-name", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
BACKEND_FRAMEWORK = Rule(
    name="backend-framework",
    text="{path} is immutable and cannot be changed after creation",
    reason=Reason.IMMUTABLE,
    place=Place.CEL,
)
BACKEND_FRAMEWORK_CHANGES = Rule(
    name="backend-framework-changes",
    text="Changing {path} may cause unexpected behavior",
    severity=Severity.WARNING,
)
DYNAMO_NAMESPACE_IGNORED = Rule(
    name="dynamo-namespace-ignored",
    text=(
        "{path} is deprecated and ignored. Value '{value}' will be replaced with '{used}'. Remove this field from your "
        "configuration"
    ),
    severity=Severity.WARNING,
)
AUTOSCALING_IGNORED = Rule(
    name="autoscaling-ignored",
    text=(
        "{path} is deprecated and ignored. Use DynamoGraphDeploymentScalingAdapter with HPA, KEDA, or Planner for "
        "autoscaling instead. See docs/kubernetes/autoscaling.md"
    ),
    severity=Severity.WARNING,
)

NO_ISTIO = (
    "the ingress asks for an Istio VirtualService, whose kind is not declared: install Istio and upgrade this chart "
    "with its option istio"
)
ISTIO_MISSING = Rule(name="istio-missing", text=f"{{path}}: {NO_ISTIO}", severity=Severity.WARNING)

_LABEL_CHARACTERS = "at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit"
_KEY = f"use {_LABEL_CHARACTERS}; a domain and / may come first"

LABEL_VALUE = Rule(name="label-value", text=f"{{path}}: {{value!r}} is not a label value; use {_LABEL_CHARACTERS}")
LABEL_KEY = Rule(name="label-key", text=f"{{path}}: {{key!r}} is not a label key; {_KEY}")
ANNOTATION_KEY = Rule(name="annotation-key", text=f"{{path}}: {{key!r}} is not an annotation key; {_KEY}")

DELETION_COST = Rule(
    name="deletion-cost", text='{path}: {value!r} is not a whole number of 32 bits; write one such as "5" or "-5"'
)
INGRESS_HOST_NAME = Rule(
    name="ingress-host-name", text="{path}: {host!r} is not a host name; use lower case letters, digits, - and ."
)
INGRESS_CLASS_NAME = Rule(
    name="ingress-class-name",
    text="{path}: {name!r} is not the name of an ingress class; use at most 253 of a-z, 0-9, - and .",
)
TLS_SECRET_NAME = Rule(
    name="tls-secret-name", text="{path}: {name!r} is not the name of a Secret; use at most 253 of a-z, 0-9, - and ."
)
PODS_AT_A_TIME = Rule(
    name="pods-at-a-time", text="{path}: {value!r} is not a number of pods; write a number such as 1 or 25%"
)
ROLLOUT_STANDSTILL = Rule(
    name="rollout-standstill",
    text="{path}: no pod can be replaced, because {other} is 0 too; raise one of them",
)
ENGINE_UNKNOWN = Rule(name="engine-unknown", text="{path}: unsupported backend framework: {engine}")
ENGINE_MISMATCH = Rule(
    name="engine-mismatch",
    text=(
        '{path}: failed to determine backend framework: backend framework mismatch: detected "{found}" from command '
        'but explicitly configured as "{engine}"'
    ),
)
SEVERAL_ENGINES = Rule(
    name="several-engines",
    text=(
        "{path}: failed to determine backend framework: could not determine backend framework: multiple backend "
        'frameworks detected from command: [{found}] in "{command}"'
    ),
)

CLAIM_MOUNT_NAME = Rule(
    name="claim-mount-name",
    text="{path}: volumeMount.name is required when volumeMounts is set",
    reason=Reason.REQUIRED,
)
CLAIM_MOUNT_NAME_FORM = Rule(
    name="claim-mount-name-form", text="{path}: {name!r} is not a valid name of a PersistentVolumeClaim"
)
_CACHE_MOUNT_POINT = (
    "{path}: volumeMount with useAsCompilationCache=true requires an explicit mountPoint for backend framework "
    "{engine} (no default available)"
)
CACHE_MOUNT_POINT = Rule(name="cache-mount-point", text=_CACHE_MOUNT_POINT, reason=Reason.REQUIRED)
CACHE_MOUNT_POINT_WITHOUT_ENGINE = Rule(
    name="cache-mount-point-without-engine", text=_CACHE_MOUNT_POINT, reason=Reason.REQUIRED
)
"""Admission accepts this problem, as upstream does: perhaps only the running pod knows the engine."""

EPP_CONFIG_OBJECT = Rule(name="epp-config-object", text="{path}: configMapRef and config must be objects")
