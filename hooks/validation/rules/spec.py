"""Rules about the spec that a component and a graph's service share.

In texts `{spec}` is where that spec stands: `spec`, or `spec.services[<name>]`.

Source: Dynamo operator, internal/webhook/validation/shared.go, whose texts are kept.
"""

from hooks.problems import Place, Reason, Rule, Severity

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
    name="epp-config", text="{path} is required for EPP components", reason=Reason.REQUIRED, place=Place.CEL
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
