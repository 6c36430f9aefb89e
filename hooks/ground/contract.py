"""Strings and numbers that other programs read: labels, annotations, variables, ports, fixed names.

A value that only one module uses is defined in that module.

Source: Dynamo operator, internal/consts/consts.go, and the API groups of the programs named.
"""

from enum import StrEnum

from hooks.ground.k8s.types import GroupVersionKind

GROUP = "nvidia.com"
VERSION = "v1alpha1"
BETA_VERSION = "v1beta1"

GRAPH = GroupVersionKind(GROUP, VERSION, "DynamoGraphDeployment")
COMPONENT = GroupVersionKind(GROUP, VERSION, "DynamoComponentDeployment")
MODEL = GroupVersionKind(GROUP, VERSION, "DynamoModel")
GRAPH_REQUEST = GroupVersionKind(GROUP, VERSION, "DynamoGraphDeploymentRequest")
SCALING_ADAPTER = GroupVersionKind(GROUP, VERSION, "DynamoGraphDeploymentScalingAdapter")
WORKER_METADATA = GroupVersionKind(GROUP, VERSION, "DynamoWorkerMetadata")

CONVERSION_PREFIXES = {
    GRAPH.kind: "nvidia.com/dgd-",
    COMPONENT.kind: "nvidia.com/dcd-",
    SCALING_ADAPTER.kind: "nvidia.com/dgdsa-",
    GRAPH_REQUEST.kind: "nvidia.com/dgdr-",
}
"""Of the annotations in which an object carries what its version cannot say, by kind; ends with `spec` or `status`."""


class Engine(StrEnum):
    """The inference engines, by the names of Dynamo's modules: `python3 -m dynamo.<engine>`."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TRTLLM = "trtllm"


# Labels
LABEL_SELECTOR = "nvidia.com/selector"
LABEL_GRAPH = "nvidia.com/dynamo-graph-deployment-name"
LABEL_COMPONENT = "nvidia.com/dynamo-component"
LABEL_NAMESPACE = "nvidia.com/dynamo-namespace"
LABEL_COMPONENT_TYPE = "nvidia.com/dynamo-component-type"
LABEL_SUB_COMPONENT_TYPE = "nvidia.com/dynamo-sub-component-type"
LABEL_COMPONENT_CLASS = "nvidia.com/dynamo-component-class"
CLASS_WORKER = "worker"
GO_FINALIZER = "nvidia.com/finalizer"
"""On graphs, components, models and requests of the Go operator; `dynamo-hooks migrate` removes it at the end."""
WORKER_TYPES = frozenset({"worker", "prefill", "decode"})
"""The types of components that run an engine, as labels of pods have them."""
LABEL_WORKER_HASH = "nvidia.com/dynamo-worker-hash"
"""Of worker components and their pods: their generation. It is also the end of their Dynamo namespace."""
WORKER_SUFFIX = "DYN_NAMESPACE_WORKER_SUFFIX"
"""Variable of workers: what their Dynamo namespace ends with, after a dash."""
LABEL_MODEL_HASH = "nvidia.com/dynamo-base-model-hash"
LABEL_METRICS = "nvidia.com/metrics-enabled"
LABEL_DISCOVERY_BACKEND = "nvidia.com/dynamo-discovery-backend"
LABEL_DISCOVERY_ENABLED = "nvidia.com/dynamo-discovery-enabled"
LABEL_COMPONENT_POD = "nvidia.com/dynamo-component-pod"
LABEL_IMAGE_PULL = "nvidia.com/image-pull"
LABEL_MANAGED_BY = "nvidia.com/managed-by"
LABEL_INSTALLATION = "nvidia.com/dynamo-installation"
LABEL_APP_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_APP_COMPONENT = "app.kubernetes.io/component"
LABEL_APP_NAME = "app.kubernetes.io/name"
LABEL_ROLE = "role"
LABEL_INSTANCE = "instance-id"
LABEL_REQUEST_NAME = "dgdr.nvidia.com/name"
LABEL_REQUEST_NAMESPACE = "dgdr.nvidia.com/namespace"
MANAGER = "dynamo-operator"

# Annotations
ANNOTATION_BASE_MODEL = "nvidia.com/dynamo-base-model"
ANNOTATION_DEPLOYMENT_STRATEGY = "nvidia.com/deployment-strategy"
ANNOTATION_DISABLE_PULL_SECRETS = "nvidia.com/disable-image-pull-secret-discovery"
ANNOTATION_DISCOVERED = "nvidia.com/discovered-for-pods"
ANNOTATION_DISCOVERY_BACKEND = "nvidia.com/dynamo-discovery-backend"
ANNOTATION_DISCOVERY_MODE = "nvidia.com/dynamo-kube-discovery-mode"
ANNOTATION_ENABLE_GROVE = "nvidia.com/enable-grove"
ANNOTATION_ENABLE_METRICS = "nvidia.com/enable-metrics"
ANNOTATION_EXECUTOR_BACKEND = "nvidia.com/vllm-distributed-executor-backend"
ANNOTATION_GROVE_UPDATE_STRATEGY = "nvidia.com/grove-update-strategy"
ANNOTATION_KAI_QUEUE = "nvidia.com/kai-scheduler-queue"
ANNOTATION_MAX_SURGE = "nvidia.com/deployment-rolling-update-max-surge"
ANNOTATION_MAX_UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
ANNOTATION_PACE = "nvidia.com/dynamo-hooks-pace"
"""Of a component: how many old pods of its Deployment stay, while the graph's workers roll together."""
ANNOTATION_FRONTEND_CONTAINER = "nvidia.com/dynamo-hooks-frontend-container"
"""Of a component's spec: the container in `extraPodSpec.containers` that gets a frontend's defaults."""
ANNOTATION_NAMESPACE_PREFIX = "nvidia.com/dynamo-hooks-namespace-prefix"
"""Of a component's spec, or of a PodCliqueSet: whether frontends got the bare prefix of the Dynamo namespace."""
ANNOTATION_SEES_WORKERS_OF = "nvidia.com/dynamo-hooks-sees-workers-of"
"""Of a graph's ServiceAccount for discovery: the other graphs whose workers its frontends or pickers see, by name."""
ANNOTATION_GPU_POWER_LIMIT = "dynamo.nvidia.com/gpu-power-limit"
"""Of pods: the most watts of each GPU. The power agent of a node applies it, a planner reckons with it."""
ANNOTATION_ORIGIN_VERSION = "nvidia.com/dynamo-operator-origin-version"
ANNOTATION_VOLCANO_QUEUE = "nvidia.com/volcano-queue"
ANNOTATION_WORKLOAD_PROVIDER = "nvidia.com/workload-provider"
"""Of a graph: `grove` or `component`, which the Go operator from 1.5 on writes once, when it creates the workload."""
ANNOTATION_RENDERING = "nvidia.com/dynamo-hooks-rendering"
ANNOTATION_REQUEST_UID = "dgdr.nvidia.com/uid"
ANNOTATION_ACCEPT_UNVERIFIED = "nvidia.com/accept-unverified"
"""Of a request: `true` lets a graph be created that its profiler only guessed."""
ANNOTATION_RESTART_AT = "nvidia.com/restartAt"
ANNOTATION_RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
"""Of pods: when a person restarted them by kubectl, or by `kubectl dynamo restart GRAPH SERVICE`."""
ANNOTATION_ROLLOUT = "nvidia.com/dynamo-hooks-rollout"
ANNOTATION_ROLLOUT_PAUSED = "nvidia.com/dynamo-hooks-rollout-paused"
"""Of a graph: `true` keeps the pods of each generation of workers as many as they are."""
ANNOTATION_ROLLOUT_CANARY = "nvidia.com/dynamo-hooks-rollout-canary"
"""Of a graph: the new generation of workers gets so many complete sets, `2` or `25%`, and waits."""
ANNOTATION_SERVING_CHANGED = "nvidia.com/dynamo-hooks-serving-changed"
"""Of a graph: when its frontends last said something else; the hooks write it, so that the graph is looked at again."""
ANNOTATION_WENT_BACK = "nvidia.com/dynamo-hooks-went-back-from"
"""Of a graph: the revision whose rollout stalled, and the one that the hooks wrote back: they leave neither again."""
MODELS_PATH, MODELS_PATH_VARIABLE = "/v1/models", "DYN_HTTP_SVC_MODELS_PATH"
"""Where a frontend lists its models, and the variable that moves it."""
TLS_FLAG, TLS_VARIABLE = "--tls-cert-path", "DYN_TLS_CERT_PATH"
"""By which a frontend listens by TLS."""
LORA_VARIABLE = "DYN_LORA_ENABLED"
"""Of workers: whether they take LoRA adapters. Of frontends: whether they know which worker has which."""
ANNOTATION_GANG = "scheduling.k8s.io/group-name"
"""Of pods: the Volcano PodGroup to which they belong."""
ANNOTATION_GANG_QUEUE = "scheduling.volcano.sh/queue-name"
"""Of a LeaderWorkerSet: the queue of the PodGroups that LeaderWorkerSet makes for it."""
ANNOTATION_IMMUTABLE_HASH = "nvidia.com/immutable-fields-hash"
ANNOTATION_KEPT_RELEASE = "nvidia.com/dynamo-hooks-kept-release"
"""The release that stays while the tag of an image names none: of a component's children, of a PodCliqueSet as JSON."""
ANNOTATION_LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration"
LABEL_CONTROLLER_UID = "controller-uid"

# Lease by which a namespace-restricted operator marks its namespace
NAMESPACE_LOCK = "dynamo-operator-ns-lock"

# Reason of a condition and of an Event: the spec is invalid
VALIDATION_FAILED = "ValidationFailed"
SCALED_IN_LATER = "it is scaled in when its update has ended"
"""What a graph's condition Ready says of a service that Grove must not make smaller yet; its adapter says it too."""

# Reason of the condition Ready: nothing that is installed runs replicas over several nodes
NO_ORCHESTRATOR = "NoOrchestratorAvailable"

# Ports: number and name
HTTP_PORT, HTTP_PORT_NAME = 8000, "http"
SYSTEM_PORT, SYSTEM_PORT_NAME = 9090, "system"
PLANNER_METRICS_PORT, METRICS_PORT_NAME = 9085, "metrics"
FORWARD_PASS_METRICS_PORT = 20380
NIXL_PORT, NIXL_PORT_NAME = 19090, "nixl"
EPP_GRPC_PORT, EPP_GRPC_PORT_NAME = 9002, "grpc"
EPP_HEALTH_PORT, EPP_HEALTH_PORT_NAME = 9003, "grpc-health"
EPP_METRICS_PORT = 9090

# Variables of a node among several: its rank, and the address of its leader
NODE_RANK, NODE_LEADER = "DYNAMO_RANK", "DYNAMO_LEADER_ADDRESS"

# Fixed names
MAIN_CONTAINER = "main"
VOLCANO_SCHEDULER = "volcano"
GLOBAL_DYNAMO_NAMESPACE = "dynamo"
DISCOVERY_KUBERNETES = "kubernetes"
DISCOVERY_ETCD = "etcd"
GPU_RESOURCE = "nvidia.com/gpu"
SHARED_MEMORY_VOLUME = "shared-memory"
SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108 - where containers expect shared memory, not a temporary file of ours
SHARED_MEMORY_SIZE = "8Gi"
VLLM_CACHE_PATH = "/root/.cache/vllm"
DEFAULT_FS_GROUP = 1000
DEFAULT_HOST_SUFFIX = "local"

# Profilers of 1.0 and later: the systems of which they know data or bounds, and where a model's claim is mounted
GPU_SKUS = (
    *("gb200_sxm", "gb10", "b200_sxm", "h200_sxm", "h100_sxm", "h100_pcie", "a100_sxm", "a100_pcie", "a30"),
    *("l40s", "l40", "l4", "v100_sxm", "v100_pcie", "t4", "mi200", "mi300"),
)
MODEL_CACHE_PATH = "/opt/model-cache"
PROFILER_FINAL_OUTPUT = "final_config.yaml"
PROFILER_LOG = "profile_sla.log"

# Profiling: the profiler's container, and the files that it writes, which are also the keys of the output ConfigMap
PROFILER_CONTAINER = "profiler"
OUTPUT_COPIER_CONTAINER = "output-copier"
PROFILER_OUTPUT = "config_with_planner.yaml"
PROFILER_MOCKER_OUTPUT = "mocker_config_with_planner.yaml"
PROFILER_STATUS = "profiler_status.yaml"
