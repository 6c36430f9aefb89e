"""Every field, type, default and limit, written by hand from the API as users know it: a wrong model cannot hide."""

import pytest

from hooks.language.api.structural import build_kubernetes_schema
from tests.language.crds.reading import DCD, DGD, DGDR, DGDSA, DM, DWM, KINDS, Node, node_at, root_of

SHARED_FIELDS = (
    "annotations autoscaling checkpoint componentType dynamoNamespace envFromSecret envs eppConfig extraPodMetadata "
    "extraPodSpec failover frontendSidecar globalDynamoNamespace gpuMemoryService ingress labels livenessProbe "
    "minAvailable modelRef multinode providerOverride readinessProbe replicas resources roles runtimeVersionOverride "
    "scalingAdapter serviceName sharedMemory subComponentType topologyConstraint volumeMounts"
)
INGRESS_FIELDS = (
    "annotations enabled host hostPrefix hostSuffix ingressControllerClassName labels tls useVirtualService "
    "virtualServiceGateway"
)
IDENTITY_FIELDS = (
    "backendFramework dtype dynamoVersion extraParameters maxModelLen model pipelineParallelSize tensorParallelSize"
)
CONDITION_FIELDS = "lastTransitionTime message observedGeneration reason status type"
FIELDS = [
    (
        DGD,
        "spec",
        (
            "annotations backendFramework envs experimental labels priorityClassName providerOverride pvcs restart "
            "services topologyConstraint"
        ),
        "",
    ),
    (DGD, "spec.experimental", "componentGroups kvTransferPolicy", ""),
    (DGD, "spec.providerOverride", "apiVersion target value", ""),
    (DGD, "spec.pvcs[]", "create name size storageClass volumeAccessMode", "name"),
    (DGD, "spec.restart", "id strategy", "id"),
    (DGD, "spec.restart.strategy", "order type", ""),
    (DGD, "spec.services.*", SHARED_FIELDS, ""),
    (
        DGD,
        "status",
        (
            "checkpoints componentsReady conditions gpus notReadyReason notReadyReasons observedGeneration path "
            "podCliqueSet restart rollingUpdate services serving state"
        ),
        "",
    ),
    (
        DGD,
        "status.services.*",
        (
            "availableReplicas componentKind componentName componentNames gpuPowerLimitWatts gpusPerEngine "
            "gpusPerReplica readyReplicas "
            "replicas runtimeComponentName runtimeNamespace scheduledReplicas servedModelName updatedReplicas"
        ),
        "componentKind componentName replicas updatedReplicas",
    ),
    (DGD, "status.restart", "inProgress observedID phase", ""),
    (DGD, "status.checkpoints.*", "checkpointName identityHash ready", ""),
    (DGD, "status.conditions[]", CONDITION_FIELDS, "lastTransitionTime message reason status type"),
    (DCD, "spec", f"{SHARED_FIELDS} backendFramework", ""),
    (DCD, "spec.resources", "claims limits requests", ""),
    (DCD, "spec.resources.limits", "cpu custom gpu gpuType memory", ""),
    (DCD, "spec.resources.requests", "cpu custom gpu gpuType memory", ""),
    (DCD, "spec.resources.claims[]", "name request", "name"),
    (DCD, "spec.autoscaling", "behavior enabled maxReplicas metrics minReplicas", ""),
    (DCD, "spec.volumeMounts[]", "mountPoint name useAsCompilationCache", "name"),
    (
        DCD,
        "spec.ingress",
        INGRESS_FIELDS,
        "",
    ),
    (DCD, "spec.ingress.tls", "secretName", ""),
    (DCD, "spec.modelRef", "name revision", "name"),
    (DCD, "spec.sharedMemory", "disabled size", ""),
    (DCD, "spec.extraPodMetadata", "annotations labels", ""),
    (DCD, "spec.multinode", "nodeCount", "nodeCount"),
    (DCD, "spec.scalingAdapter", "enabled", ""),
    (DCD, "spec.eppConfig", "config configMapRef", ""),
    (DCD, "spec.eppConfig.configMapRef", "key name optional", "key"),
    (
        DCD,
        "spec.checkpoint",
        "checkpointRef deletionPolicy enabled identity job mode startupPolicy targetContainerName",
        "",
    ),
    (DCD, "spec.checkpoint.job", "gmsClientContainers podTemplate", ""),
    (DCD, "spec.frontendSidecar", "args envFromSecret envs image", "image"),
    (DCD, "spec.roles[]", "name podTemplate providerOverride replicas", "name"),
    (DCD, "spec.providerOverride", "apiVersion target value", ""),
    (
        DCD,
        "spec.gpuMemoryService",
        "deviceClassName enabled extraClientContainers extraClientPods mode",
        "enabled",
    ),
    (DCD, "spec.failover", "enabled mode numShadows", "enabled"),
    (
        DCD,
        "spec.checkpoint.identity",
        IDENTITY_FIELDS,
        "backendFramework model",
    ),
    (DCD, "status", "conditions observedGeneration podSelector service", "conditions"),
    (DM, "spec", "baseModelName modelName modelType source", "baseModelName modelName"),
    (DM, "spec.source", "uri", "uri"),
    (
        DM,
        "status",
        "adapters conditions endpoints observedGeneration readyEndpoints totalEndpoints unsupportedEndpoints",
        "readyEndpoints totalEndpoints",
    ),
    (DM, "status.endpoints[]", "address attempts lastError phase podName ready since source", "address ready"),
    (DM, "status.adapters[]", "name source", "name"),
    (
        DGDR,
        "spec",
        (
            "autoApply backend deploymentOverrides enableGpuDiscovery model profilingConfig runtimeVersionOverride "
            "useMocker"
        ),
        "model",
    ),
    (
        DGDR,
        "spec.profilingConfig",
        "config configMapRef nodeSelector outputPVC profilerImage resources tolerations",
        "",
    ),
    (DGDR, "spec.profilingConfig.configMapRef", "key name", "name"),
    (DGDR, "spec.profilingConfig.resources", "claims limits requests", ""),
    (DGDR, "spec.deploymentOverrides", "annotations labels name namespace workersImage", ""),
    (
        DGDR,
        "status",
        (
            "backend conditions deployment deploymentInfo generatedDeployment hardware observedGeneration "
            "profilingJobName profilingPhase profilingResults specHash state"
        ),
        "",
    ),
    (DGDR, "status.deployment", "created name namespace state", ""),
    (DGDSA, "spec", "dgdRef replicas", "dgdRef replicas"),
    (DGDSA, "spec.dgdRef", "name serviceName", "name serviceName"),
    (DGDSA, "status", "conditions desiredReplicas lastScaleTime observedGeneration replicas selector", ""),
    (DWM, "spec", "data", "data"),
]


@pytest.mark.parametrize(("kind", "path", "fields", "required"), FIELDS, ids=[f"{row[0]}.{row[1]}" for row in FIELDS])
def test_object_has_these_fields(kind: str, path: str, fields: str, required: str) -> None:
    node = node_at(kind, path)
    assert node["type"] == "object"
    assert sorted(node["properties"]) == sorted(fields.split())
    assert sorted(node.get("required", ())) == required.split()


@pytest.mark.parametrize("kind", KINDS)
def test_spec_is_required_only_where_something_in_it_is(kind: str) -> None:
    expected = ["spec"] if node_at(kind, "spec").get("required") else []
    assert root_of(kind).get("required", []) == expected


STRING, BOOLEAN, OBJECT = {"type": "string"}, {"type": "boolean"}, {"type": "object"}
INT32, INT64 = {"type": "integer", "format": "int32"}, {"type": "integer", "format": "int64"}
PLAIN = (STRING, BOOLEAN, INT32, INT64)
STRINGS = {"type": "object", "additionalProperties": STRING}
LIST_OF_STRINGS = {"type": "array", "items": STRING}
TIME = {"type": "string", "format": "date-time"}
OPEN_OBJECT = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
QUANTITY = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
    "pattern": (
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
        r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    ),
}
ENGINE = {**STRING, "enum": ["sglang", "vllm", "trtllm"]}
REQUEST_ENGINE = {**STRING, "enum": ["vllm", "sglang", "trtllm"]}
COUNT = {**INT32, "minimum": 0}
CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
"""Source: Kubernetes, apimachinery pkg/apis/meta/v1, Condition."""

LEAVES: list[tuple[str, str, Node]] = [
    (DGD, "spec.backendFramework", ENGINE),
    (DGD, "spec.pvcs[].create", BOOLEAN),
    (DGD, "spec.pvcs[].name", STRING),
    (DGD, "spec.pvcs[].storageClass", STRING),
    (DGD, "spec.pvcs[].size", QUANTITY),
    (DGD, "spec.pvcs[].volumeAccessMode", STRING),
    (DGD, "spec.restart.id", {**STRING, "minLength": 1}),
    (DGD, "spec.restart.strategy.type", {**STRING, "default": "Sequential", "enum": ["Sequential", "Parallel"]}),
    (DGD, "spec.restart.strategy.order", {"type": "array", "items": {**STRING, "maxLength": 253}, "maxItems": 25}),
    (DGD, "status.state", STRING),
    (DGD, "status.componentsReady", STRING),
    (DGD, "status.notReadyReasons", {"type": "object", "additionalProperties": STRING}),
    (DGD, "status.notReadyReason", STRING),
    (DGD, "status.path", STRING),
    (DGD, "status.gpus", {**INT64, "minimum": 0}),
    (DGD, "status.observedGeneration", INT64),
    (
        DGD,
        "status.services.*.componentKind",
        {**STRING, "enum": ["PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"]},
    ),
    (DGD, "status.services.*.componentName", STRING),
    (DGD, "status.services.*.replicas", COUNT),
    (DGD, "status.services.*.updatedReplicas", COUNT),
    (DGD, "status.services.*.readyReplicas", COUNT),
    (DGD, "status.services.*.availableReplicas", COUNT),
    (DGD, "status.services.*.scheduledReplicas", COUNT),
    (DGD, "status.services.*.gpusPerEngine", {**COUNT, "format": "int64"}),
    (DGD, "status.services.*.gpusPerReplica", {**COUNT, "format": "int64"}),
    (DGD, "status.services.*.gpuPowerLimitWatts", {**COUNT, "format": "int64", "minimum": 1}),
    (DGD, "status.restart.inProgress", LIST_OF_STRINGS),
    (DGD, "status.conditions[].status", {**STRING, "enum": ["True", "False", "Unknown"]}),
    (DGD, "status.conditions[].lastTransitionTime", TIME),
    (DGD, "status.conditions[].observedGeneration", {**INT64, "minimum": 0}),
    (
        DGD,
        "status.conditions[].reason",
        {**STRING, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "minLength": 1, "maxLength": 1024},
    ),
    (DGD, "status.conditions[].type", {**STRING, "pattern": CONDITION_TYPE, "maxLength": 316}),
    (DGD, "status.conditions[].message", {**STRING, "maxLength": 32768}),
    (DCD, "spec.backendFramework", ENGINE),
    (DCD, "spec.annotations", STRINGS),
    (DCD, "spec.labels", STRINGS),
    (DCD, "spec.serviceName", STRING),
    (DCD, "spec.componentType", STRING),
    (DCD, "spec.subComponentType", STRING),
    (DCD, "spec.dynamoNamespace", STRING),
    (DCD, "spec.globalDynamoNamespace", BOOLEAN),
    (DCD, "spec.resources.limits.cpu", STRING),
    (DCD, "spec.resources.limits.memory", STRING),
    (DCD, "spec.resources.limits.gpu", STRING),
    (DCD, "spec.resources.limits.gpuType", STRING),
    (DCD, "spec.resources.limits.custom", STRINGS),
    (DCD, "spec.autoscaling.enabled", BOOLEAN),
    (DCD, "spec.autoscaling.minReplicas", {"type": "integer"}),
    (DCD, "spec.autoscaling.maxReplicas", {"type": "integer"}),
    (DCD, "spec.envFromSecret", STRING),
    (DCD, "spec.volumeMounts[].name", STRING),
    (DCD, "spec.volumeMounts[].mountPoint", STRING),
    (DCD, "spec.volumeMounts[].useAsCompilationCache", {**BOOLEAN, "default": False}),
    (DCD, "spec.ingress.enabled", BOOLEAN),
    (DCD, "spec.ingress.host", STRING),
    (DCD, "spec.ingress.useVirtualService", BOOLEAN),
    (DCD, "spec.ingress.virtualServiceGateway", STRING),
    (DCD, "spec.ingress.annotations", STRINGS),
    (DCD, "spec.ingress.labels", STRINGS),
    (DCD, "spec.ingress.tls.secretName", STRING),
    (DCD, "spec.modelRef.name", STRING),
    (DCD, "spec.sharedMemory.disabled", BOOLEAN),
    (DCD, "spec.sharedMemory.size", QUANTITY),
    (DCD, "spec.extraPodMetadata.annotations", STRINGS),
    (DCD, "spec.replicas", COUNT),
    (DCD, "spec.multinode.nodeCount", {**INT32, "default": 2, "minimum": 2}),
    (DCD, "spec.scalingAdapter.enabled", {**BOOLEAN, "default": False}),
    (DCD, "spec.eppConfig.config", OPEN_OBJECT),
    (DCD, "spec.eppConfig.configMapRef.name", {**STRING, "default": ""}),
    (DCD, "spec.checkpoint.enabled", {**BOOLEAN, "default": False}),
    (DCD, "spec.checkpoint.mode", {**STRING, "default": "Auto", "enum": ["Auto", "Manual"]}),
    (DCD, "spec.checkpoint.startupPolicy", {**STRING, "enum": ["Immediate", "WaitForCheckpoint"]}),
    (DCD, "spec.checkpoint.deletionPolicy", {**STRING, "enum": ["Delete", "Retain"]}),
    (
        DCD,
        "spec.checkpoint.targetContainerName",
        {**STRING, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "minLength": 1, "maxLength": 63},
    ),
    (DCD, "spec.minAvailable", {**INT32, "minimum": 1}),
    (DCD, "spec.roles[].name", {**STRING, "enum": ["leader", "worker"]}),
    (DCD, "spec.gpuMemoryService.mode", {**STRING, "enum": ["intraPod", "interPod"]}),
    (DCD, "spec.failover.mode", {**STRING, "enum": ["intraPod", "interPod"]}),
    (DCD, "spec.failover.numShadows", {**INT32, "minimum": 1}),
    (DCD, "spec.checkpoint.identity.backendFramework", REQUEST_ENGINE),
    (DCD, "spec.checkpoint.identity.tensorParallelSize", {**INT32, "default": 1, "minimum": 1}),
    (DCD, "spec.checkpoint.identity.pipelineParallelSize", {**INT32, "default": 1, "minimum": 1}),
    (DCD, "spec.checkpoint.identity.maxModelLen", {**INT32, "minimum": 1}),
    (DCD, "spec.checkpoint.identity.extraParameters", STRINGS),
    (DCD, "status.podSelector", STRINGS),
    (DM, "spec.modelName", STRING),
    (DM, "spec.baseModelName", STRING),
    (DM, "spec.modelType", {**STRING, "default": "base", "enum": ["base", "lora", "adapter"]}),
    (DM, "spec.source.uri", STRING),
    (DM, "status.readyEndpoints", {"type": "integer"}),
    (DM, "status.totalEndpoints", {"type": "integer"}),
    (DM, "status.unsupportedEndpoints", {"type": "integer"}),
    (DM, "status.endpoints[].attempts", {**INT64, "minimum": 0}),
    (DM, "status.endpoints[].ready", BOOLEAN),
    (DM, "status.endpoints[].since", TIME),
    (DGDR, "spec.model", STRING),
    (DGDR, "spec.backend", {**STRING, "enum": ["auto", "vllm", "sglang", "trtllm"]}),
    (DGDR, "spec.useMocker", {**BOOLEAN, "default": False}),
    (DGDR, "spec.enableGpuDiscovery", {**BOOLEAN, "default": False}),
    (DGDR, "spec.autoApply", {**BOOLEAN, "default": False}),
    (DGDR, "spec.profilingConfig.config", OPEN_OBJECT),
    (DGDR, "spec.profilingConfig.configMapRef.key", {**STRING, "default": "disagg.yaml"}),
    (DGDR, "spec.profilingConfig.outputPVC", STRING),
    (DGDR, "spec.profilingConfig.nodeSelector", STRINGS),
    (DGDR, "spec.deploymentOverrides.labels", STRINGS),
    (DGDR, "status.generatedDeployment", {**OPEN_OBJECT, "x-kubernetes-embedded-resource": True}),
    (DGDR, "status.deployment.created", BOOLEAN),
    (DGDSA, "spec.replicas", COUNT),
    (DGDSA, "spec.dgdRef.name", {**STRING, "minLength": 1}),
    (DGDSA, "spec.dgdRef.serviceName", {**STRING, "minLength": 1}),
    (DGDSA, "status.replicas", INT32),
    (DGDSA, "status.desiredReplicas", INT32),
    (DGDSA, "status.selector", STRING),
    (DGDSA, "status.lastScaleTime", TIME),
    (DWM, "spec.data", OPEN_OBJECT),
]


@pytest.mark.parametrize(("kind", "path", "expected"), LEAVES, ids=[f"{row[0]}.{row[1]}" for row in LEAVES])
def test_field_has_this_type_default_and_limits(kind: str, path: str, expected: Node) -> None:
    node = node_at(kind, path)
    assert {key: value for key, value in node.items() if key != "description"} == expected


def test_field_that_is_not_listed_has_no_default_and_no_limits() -> None:
    listed = {(kind, path) for kind, path, _ in LEAVES}
    fields = [(kind, f"{path}.{name}") for kind, path, names, _ in FIELDS for name in names.split()]
    unlisted = [field for field in fields if field not in listed and not field[1].startswith("spec.services.*.")]
    nodes = {(kind, path): node_at(kind, path) for kind, path in unlisted}
    assert [field for field, node in nodes.items() if not is_plain(node)] == []


def is_plain(node: Node) -> bool:
    """Whether it is an object, whose fields have rows of their own, a list, or a value without default and limits."""
    is_whole = node.get("type") in {"object", "array"}
    return is_whole or {key: value for key, value in node.items() if key != "description"} in PLAIN


LIMITS = [
    (DGD, "spec.pvcs", "maxItems", 100),
    (DGD, "spec.services", "maxProperties", 25),
    (DCD, "spec.volumeMounts", "maxItems", 256),
]


@pytest.mark.parametrize(("kind", "path", "limit", "value"), LIMITS, ids=[row[2] for row in LIMITS])
def test_lists_and_maps_are_limited(kind: str, path: str, limit: str, value: int) -> None:
    assert node_at(kind, path)[limit] == value


CLAIM_RULE = (
    "!has(self.create) || self.create == false || "
    "(has(self.size) && has(self.storageClass) && has(self.volumeAccessMode))"
)
CLAIM_MESSAGE = "When create is true, size, storageClass, and volumeAccessMode are required"
CHECKPOINT_RULE = "!has(self.job) || !has(self.checkpointRef) || size(self.checkpointRef) == 0"
CHECKPOINT_MESSAGE = "checkpoint.job cannot be set when checkpointRef is specified"
RULES = [
    (DGD, "spec.pvcs[]", CLAIM_RULE, CLAIM_MESSAGE),
    (DGD, "spec.services.*.checkpoint", CHECKPOINT_RULE, CHECKPOINT_MESSAGE),
    (DCD, "spec.checkpoint", CHECKPOINT_RULE, CHECKPOINT_MESSAGE),
]


@pytest.mark.parametrize(("kind", "path", "rule", "message"), RULES, ids=[f"{row[0]}.{row[1]}" for row in RULES])
def test_rule_is_said_in_the_schema(kind: str, path: str, rule: str, message: str) -> None:
    assert node_at(kind, path)["x-kubernetes-validations"] == [{"rule": rule, "message": message}]


KUBERNETES = [
    (DGD, "spec.envs[]", "io.k8s.api.core.v1.EnvVar"),
    (DGD, "spec.services.*.envs[]", "io.k8s.api.core.v1.EnvVar"),
    (DCD, "spec.livenessProbe", "io.k8s.api.core.v1.Probe"),
    (DCD, "spec.readinessProbe", "io.k8s.api.core.v1.Probe"),
    (DCD, "spec.extraPodSpec.containers[]", "io.k8s.api.core.v1.Container"),
    (DCD, "spec.extraPodSpec.initContainers[]", "io.k8s.api.core.v1.Container"),
    (DCD, "spec.resources.claims[]", "io.k8s.api.core.v1.ResourceClaim"),
    (DCD, "spec.eppConfig.configMapRef", "io.k8s.api.core.v1.ConfigMapKeySelector"),
    (DCD, "spec.autoscaling.behavior", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior"),
    (DCD, "spec.autoscaling.metrics[]", "io.k8s.api.autoscaling.v2.MetricSpec"),
    (DGDR, "spec.profilingConfig.resources", "io.k8s.api.core.v1.ResourceRequirements"),
    (DGDR, "spec.profilingConfig.tolerations[]", "io.k8s.api.core.v1.Toleration"),
]


@pytest.mark.parametrize(("kind", "path", "name"), KUBERNETES, ids=[f"{row[0]}.{row[1]}" for row in KUBERNETES])
def test_field_carries_the_whole_kubernetes_schema(kind: str, path: str, name: str) -> None:
    node = node_at(kind, path)
    assert {key: value for key, value in node.items() if key != "description"} == build_kubernetes_schema(name)


@pytest.mark.parametrize(("kind", "path"), [(DGD, "spec.services.*"), (DCD, "spec")], ids=["graph", "component"])
def test_extra_pod_spec_is_a_pod_spec_with_a_main_container_and_nothing_required(kind: str, path: str) -> None:
    node = node_at(kind, f"{path}.extraPodSpec")
    pod = build_kubernetes_schema("io.k8s.api.core.v1.PodSpec")
    main = node["properties"]["mainContainer"]
    container = build_kubernetes_schema("io.k8s.api.core.v1.Container")
    assert pod["required"] == ["containers"]
    assert container["required"] == ["name"]
    assert node["properties"] == {**pod["properties"], "mainContainer": main}
    assert main["properties"] == container["properties"]
    assert "required" not in node
    assert "required" not in main


MAP_LISTS = [
    ("containers", ["name"]),
    ("volumes", ["name"]),
    ("containers[].env", ["name"]),
    ("containers[].ports", ["containerPort", "protocol"]),
    ("containers[].volumeMounts", ["mountPath"]),
    ("mainContainer.env", ["name"]),
    ("topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"]),
]


@pytest.mark.parametrize(("path", "keys"), MAP_LISTS, ids=[row[0] for row in MAP_LISTS])
def test_lists_of_pods_merge_by_kubernetes_keys(path: str, keys: list[str]) -> None:
    node = node_at(DCD, f"spec.extraPodSpec.{path}")
    assert (node["x-kubernetes-list-type"], node["x-kubernetes-list-map-keys"]) == ("map", keys)


POD_DEFAULTS = [
    ("containers[].ports[].protocol", "TCP"),
    ("containers[].livenessProbe.grpc.service", ""),
    ("imagePullSecrets[].name", ""),
    ("volumes[].azureDisk.kind", "Shared"),
    ("volumes[].iscsi.iscsiInterface", "default"),
]


@pytest.mark.parametrize(("path", "default"), POD_DEFAULTS, ids=[row[0] for row in POD_DEFAULTS])
def test_pods_have_kubernetes_own_defaults(path: str, default: str) -> None:
    assert node_at(DCD, f"spec.extraPodSpec.{path}")["default"] == default


@pytest.mark.parametrize("kind", [DGD, DCD, DM, DGDR, DGDSA])
def test_conditions_are_a_map_by_type(kind: str) -> None:
    node = node_at(kind, "status.conditions")
    assert (node["x-kubernetes-list-type"], node["x-kubernetes-list-map-keys"]) == ("map", ["type"])


@pytest.mark.parametrize("kind", [DGD, DCD, DM, DGDR, DGDSA])
def test_status_that_nobody_has_written_is_of_no_generation(kind: str) -> None:
    node = node_at(kind, "status")
    assert node["default"]["observedGeneration"] == -1
    assert set(node.get("required", ())) <= node["default"].keys()
