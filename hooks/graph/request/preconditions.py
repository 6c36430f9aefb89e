"""What must hold before profiling begins: the spec itself, and what it names in the cluster.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, validateSpec;
internal/webhook/validation/dynamographdeploymentrequest.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.graph.request.gpu_discovery import NothingDiscovered, discover_hardware, has_hardware_by_hand
from hooks.graph.request.observe import Observed
from hooks.k8s.names import MAX_LABEL, has_label_value_form, has_subdomain_form, is_dns_label
from hooks.k8s.types import Json
from hooks.settings import Settings

_CONFIG = "spec.profilingConfig.config"
_ONLY_CLUSTER_WIDE = (
    "spec.enableGpuDiscovery can only be set to true for cluster-wide operators. Namespace-restricted operators cannot "
    "access cluster nodes for GPU discovery. Please set enableGpuDiscovery to false and provide hardware configuration "
    "(hardware.min_num_gpus_per_engine, hardware.max_num_gpus_per_engine, hardware.num_gpus_per_node) in "
    f"{_CONFIG}"
)
_NOT_DISCOVERED = (
    f"GPU hardware info required but auto-discovery failed. Add hardware config to {_CONFIG} (hardware.numGpusPerNode, "
    "hardware.gpuModel, hardware.gpuVramMib): {reason}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """All problems in the order in which to read them, and the GPU facts found on the way; {} unless asked for."""

    problems: tuple[str, ...]
    hardware: Mapping[str, Json]


def check_preconditions(request: GraphRequest, seen: Observed, settings: Settings) -> Preconditions:
    """Whether profiling can begin."""
    hardware, discovery = _discover(request, seen, settings)
    problems = (*_check_spec(request, settings), *discovery, *_check_base_graph(request, seen))
    return Preconditions(problems=problems, hardware=hardware)


def _check_spec(request: GraphRequest, settings: Settings) -> Iterator[str]:
    profiling = request.spec.profiling_config
    if not profiling.profiler_image:
        yield "spec.profilingConfig.profilerImage is required"
    if profiling.config is None:
        yield f"{_CONFIG} is required and must not be empty"
    if settings.installation and request.spec.enable_gpu_discovery:
        yield _ONLY_CLUSTER_WIDE
    if request.spec.deployment_overrides is not None:
        yield from _check_overrides(request.spec.deployment_overrides, request.metadata.namespace, settings)


def _check_overrides(overrides: DeploymentOverrides, namespace: str, settings: Settings) -> Iterator[str]:
    path = "spec.deploymentOverrides"
    if overrides.name and (len(overrides.name) > MAX_LABEL or not has_subdomain_form(overrides.name)):
        yield (
            f"{path}.name {overrides.name!r} must have at most {MAX_LABEL} characters and consist of lower case "
            f"letters, digits, '-' and '.'"
        )
    if overrides.namespace and not is_dns_label(overrides.namespace):
        yield f"{path}.namespace {overrides.namespace!r} must consist of lower case letters, digits and '-'"
    if settings.installation and overrides.namespace not in {"", namespace}:
        yield (
            f"{path}.namespace is {overrides.namespace}: a namespace-restricted installation creates graphs in the "
            f"request's own namespace only; leave it out"
        )
    for key, value in sorted(overrides.labels.items()):
        if value and (len(value) > MAX_LABEL or not has_label_value_form(value)):
            yield f"{path}.labels[{key}] {value!r} is no value of a label"


def _discover(request: GraphRequest, seen: Observed, settings: Settings) -> tuple[dict[str, Json], tuple[str, ...]]:
    """GPU facts where they are asked for, and what is wrong where they are needed and cannot be had."""
    if settings.installation or not request.spec.enable_gpu_discovery:
        return {}, ()
    try:
        return discover_hardware(seen.nodes), ()
    except NothingDiscovered as error:
        is_known = has_hardware_by_hand(request.spec.profiling_config.config)
        return {}, () if is_known else (_NOT_DISCOVERED.format(reason=error),)


def _check_base_graph(request: GraphRequest, seen: Observed) -> Iterator[str]:
    reference, namespace = request.spec.profiling_config.config_map_ref, request.metadata.namespace
    if reference is None:
        return
    found = seen.config_maps.get((namespace, reference.name))
    if found is None:
        yield f"ConfigMap {reference.name} not found in namespace {namespace}"
    elif reference.key not in found.data:
        yield f"key {reference.key} not found in ConfigMap {reference.name}"
