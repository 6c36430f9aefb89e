"""What upstream's webhook asks of the spec that a component and a graph's service share, in its order and its words.

`path` is where the spec stands: `spec`, or `spec.services[<name>]`.

Source: Dynamo operator, internal/webhook/validation/shared.go.
"""

import json
from collections.abc import Iterator, Mapping

from hooks import contract
from hooks.api.component_spec import ComponentSpec, SharedMemory
from hooks.component.subject import ComponentType
from hooks.k8s.quantities import canonical_quantity

EXECUTOR_BACKENDS = ("mp", "ray")

_NO_INFERENCE_POOL = (
    "cannot deploy EPP component: InferencePool API group (inference.networking.k8s.io) is not available in the "
    "cluster. EPP requires the Gateway API Inference Extension to be installed. Please install the Gateway API "
    "Inference Extension before deploying EPP components"
)


def find_spec_problems(spec: ComponentSpec, path: str, *, lacks_pool: bool) -> Iterator[str]:
    """All that upstream would refuse; `lacks_pool` where the cluster has no kind InferencePool and a graph wants it."""
    if spec.replicas is not None and spec.replicas < 0:
        yield f"{path}.replicas must be non-negative"
    if spec.ingress and spec.ingress.enabled and not spec.ingress.host:
        yield f"{path}.ingress.host is required when ingress is enabled"
    for index, mount in enumerate(spec.volume_mounts):
        if not mount.use_as_compilation_cache and not mount.mount_point:
            yield f"{path}.volumeMounts[{index}].mountPoint is required when useAsCompilationCache is false"
    if spec.shared_memory and _lacks_size(spec.shared_memory):
        yield f"{path}.sharedMemory.size is required when disabled is false"
    executor = spec.annotations.get(contract.ANNOTATION_EXECUTOR_BACKEND)
    if executor is not None and executor.lower() not in EXECUTOR_BACKENDS:
        yield (
            f"{path}.annotations[{contract.ANNOTATION_EXECUTOR_BACKEND}] has invalid value "
            f'{json.dumps(executor, ensure_ascii=False)}: must be "mp" or "ray"'
        )
    if spec.component_type == ComponentType.EPP:
        if lacks_pool:
            yield f"{path}: {_NO_INFERENCE_POOL}"
        yield from _find_picker_problems(spec, path)


def find_spec_warnings(spec: ComponentSpec, path: str, dynamo_namespace: str) -> Iterator[str]:
    """What is ignored; `dynamo_namespace` is the one that counts."""
    if spec.dynamo_namespace:
        yield (
            f"{path}.dynamoNamespace is deprecated and ignored. Value '{spec.dynamo_namespace}' will be replaced with "
            f"'{dynamo_namespace}'. Remove this field from your configuration"
        )
    if spec.autoscaling is not None:
        yield (
            f"{path}.autoscaling is deprecated and ignored. Use DynamoGraphDeploymentScalingAdapter with HPA, KEDA, or "
            "Planner for autoscaling instead. See docs/kubernetes/autoscaling.md"
        )


def _find_picker_problems(spec: ComponentSpec, path: str) -> Iterator[str]:
    if spec.is_multinode:
        yield f"{path}: EPP component cannot be multinode (multinode field must be nil or nodeCount must be 1)"
    if spec.replicas is not None and spec.replicas != 1:
        yield f"{path}: EPP component must have exactly 1 replica (found {spec.replicas} replicas)"
    picker = spec.epp_config
    if picker is None:
        yield f"{path}.eppConfig is required for EPP components"
    elif picker.config_map_ref is None and picker.config is None:
        yield f"{path}.eppConfig: either configMapRef or config must be specified (no default configuration provided)"
    elif picker.config_map_ref is not None and picker.config is not None:
        yield f"{path}.eppConfig: configMapRef and config are mutually exclusive, only one can be specified"
    elif not isinstance(picker.config or {}, Mapping):
        yield f"{path}.eppConfig: configMapRef and config must be objects"
    elif picker.config is None and not _names_config_map(picker.config_map_ref):
        yield f"{path}.eppConfig.configMapRef.name is required"


def _names_config_map(reference: object) -> bool:
    return isinstance(reference, Mapping) and bool(reference.get("name"))


def _lacks_size(memory: SharedMemory) -> bool:
    if memory.disabled:
        return False
    try:
        return memory.size is None or canonical_quantity(memory.size) == "0"
    except ValueError:
        return False  # what is no quantity is told as such
