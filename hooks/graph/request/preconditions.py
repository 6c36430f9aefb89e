"""What profiling needs before it begins: a valid spec, and the objects in the cluster that the spec names.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, validateSpec;
internal/webhook/validation/dynamographdeploymentrequest.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.api.graph_request import GraphRequest
from hooks.graph.request.gpu_discovery import NoGpusDiscovered, discover_hardware, has_hardware_by_hand
from hooks.graph.request.observe import ObservedRequest
from hooks.graph.request.validate import validate_request
from hooks.k8s.types import Json
from hooks.problems import SPEC, Problem
from hooks.rules import profiling as rules
from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """All problems in reading order, and the discovered hardware; {} unless discovery is enabled."""

    problems: tuple[Problem, ...]
    hardware: Mapping[str, Json]


def check_preconditions(request: GraphRequest, seen: ObservedRequest, settings: Settings) -> Preconditions:
    """Check whether profiling can begin."""
    hardware, discovery = _discover(request, seen, settings)
    problems = (*validate_request(request, settings), *discovery, *_check_base_graph(request, seen))
    return Preconditions(problems=problems, hardware=hardware)


def _discover(
    request: GraphRequest, seen: ObservedRequest, settings: Settings
) -> tuple[dict[str, Json], tuple[Problem, ...]]:
    """Discover the hardware if that is enabled; a problem if it fails and the user did not describe the hardware."""
    if settings.installation or not request.spec.enable_gpu_discovery:
        return {}, ()
    try:
        return discover_hardware(seen.nodes), ()
    except NoGpusDiscovered as error:
        if has_hardware_by_hand(request.spec.profiling_config.config):
            return {}, ()
        return {}, (rules.GPU_HARDWARE.at(SPEC / "profilingConfig.config", why=str(error)),)


def _check_base_graph(request: GraphRequest, seen: ObservedRequest) -> Iterator[Problem]:
    reference, namespace = request.spec.profiling_config.config_map_ref, request.metadata.namespace
    if reference is None:
        return
    path = SPEC / "profilingConfig.configMapRef"
    found = seen.config_maps.get((namespace, reference.name))
    if found is None:
        yield rules.BASE_GRAPH.at(path / "name", name=reference.name, namespace=namespace)
    elif reference.key not in found.data:
        yield rules.BASE_GRAPH_KEY.at(path / "key", key=reference.key, name=reference.name)
