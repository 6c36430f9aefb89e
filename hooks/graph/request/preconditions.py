"""What must hold before profiling begins: the spec itself, and what it names in the cluster.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, validateSpec;
internal/webhook/validation/dynamographdeploymentrequest.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.api.graph_request import GraphRequest
from hooks.graph.request.gpu_discovery import NothingDiscovered, discover_hardware, has_hardware_by_hand
from hooks.graph.request.observe import Observed
from hooks.graph.request.validate import validate_request
from hooks.k8s.types import Json
from hooks.problems import Problem, as_problems
from hooks.settings import Settings

_CONFIG = "spec.profilingConfig.config"
_NOT_DISCOVERED = (
    f"GPU hardware info required but auto-discovery failed. Add hardware config to {_CONFIG} (hardware.numGpusPerNode, "
    "hardware.gpuModel, hardware.gpuVramMib): {reason}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """All problems in the order in which to read them, and the GPU facts found on the way; {} unless asked for."""

    problems: tuple[Problem, ...]
    hardware: Mapping[str, Json]


def check_preconditions(request: GraphRequest, seen: Observed, settings: Settings) -> Preconditions:
    """Whether profiling can begin."""
    hardware, discovery = _discover(request, seen, settings)
    problems: list[Problem | str] = [
        *validate_request(request, settings),
        *discovery,
        *_check_base_graph(request, seen),
    ]
    return Preconditions(problems=as_problems(problems), hardware=hardware)


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
