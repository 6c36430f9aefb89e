"""What profiling needs before it begins: a valid spec, and the objects in the cluster that the spec names.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, validateSpec;
internal/webhook/validation/dynamographdeploymentrequest.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, Problem
from hooks.ground.settings import Settings
from hooks.language.api.graph_request import GraphRequest
from hooks.language.rules import profiler as profiler_rules
from hooks.language.rules import profiling as rules
from hooks.request.rules.profiler_rules import find_profiler_problems
from hooks.request.rules.validate import validate_request
from hooks.request.seen.gpu_discovery import NoGpusDiscovered, discover_hardware, has_hardware_by_hand
from hooks.request.seen.hardware import NEEDED, NODE_QUERIES, NoHardware, fill_hardware, is_complete
from hooks.request.seen.observe import ObservedRequest
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.spec.beta_spec import part_of, read_beta_spec
from hooks.request.spec.profiler_spec import read_hardware
from hooks.request.spec.profilers import find_profiler
from hooks.wire.metacontroller.protocol import ObjectQuery
from hooks.wire.policy.on_demand import NOT_YET_READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """All problems in reading order, and the discovered hardware; {} unless it is discovered.

    `looks_for` is what must be read before; `is_open`: it was not read yet.
    """

    problems: tuple[Problem, ...]
    hardware: Mapping[str, Json]
    looks_for: tuple[ObjectQuery, ...] = ()
    is_open: bool = False


def check_preconditions(
    request: GraphRequest, seen: ObservedRequest, settings: Settings, previous: PreviousRequestStatus
) -> Preconditions:
    """Check whether profiling can begin."""
    asked_problems = tuple(find_profiler_problems(request, settings))
    if find_profiler(request, settings).reads_beta:
        problems = (*validate_request(request, settings), *asked_problems)
        return _check_current(request, seen, settings, previous=previous, problems=problems)
    hardware, discovery = _discover(request, seen, settings)
    problems = (
        *validate_request(request, settings),
        *asked_problems,
        *discovery,
        *_check_base_graph(request, seen),
    )
    return Preconditions(problems=problems, hardware=hardware)


def _check_current(
    request: GraphRequest,
    seen: ObservedRequest,
    settings: Settings,
    *,
    previous: PreviousRequestStatus,
    problems: tuple[Problem, ...],
) -> Preconditions:
    """The hardware and the claim that a profiler of 1.x needs; what is not known yet is read."""
    beta_spec = read_beta_spec(request)
    written = read_hardware(request, beta_spec)
    hardware = _recall(written, previous)
    looks_for: list[ObjectQuery] = []
    found: list[Problem] = []
    is_open = False
    if not is_complete(hardware):
        if not settings.installation:
            looks_for += NODE_QUERIES
        is_open = seen.nodes_fault == NOT_YET_READ and not settings.installation
        try:
            hardware = fill_hardware(written, seen.nodes) if _may_read(seen, settings) else _refuse(seen, settings)
        except NoHardware as error:
            missing = ", ".join(field for field in NEEDED if written.get(field) is None)
            found.append(profiler_rules.HARDWARE.at(SPEC / "hardware", why=str(error), fields=missing))
    claim = part_of(beta_spec, "modelCache").get("pvcName")
    if claim:
        looks_for.append(ObjectQuery(kinds.PERSISTENT_VOLUME_CLAIM, request.metadata.namespace, str(claim)))
        is_open = is_open or seen.claims_fault == NOT_YET_READ
        if not seen.claims_fault and claim not in seen.claims:
            place = SPEC / "modelCache.pvcName"
            found.append(profiler_rules.MODEL_CACHE.at(place, name=claim, namespace=request.metadata.namespace))
    return Preconditions(
        problems=problems if is_open else (*problems, *found),
        hardware=hardware,
        looks_for=tuple(looks_for),
        is_open=is_open and not problems,
    )


def _recall(written: Mapping[str, Json], previous: PreviousRequestStatus) -> dict[str, Json]:
    """The hardware that was found once, unless the request says another one now."""
    known = previous.hardware
    fits = all(known.get(key) == value for key, value in written.items())
    return dict(known) if known and fits else dict(written)


def _may_read(seen: ObservedRequest, settings: Settings) -> bool:
    return not seen.nodes_fault and not settings.installation


def _refuse(seen: ObservedRequest, settings: Settings) -> dict[str, Json]:
    if settings.installation:
        raise NoHardware("a namespace-restricted installation does not read nodes")
    raise NoHardware(f"nodes could not be read: {seen.nodes_fault}")


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
