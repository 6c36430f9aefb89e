"""Finds in a request what its profiler of Dynamo 1.x would refuse after its search, or do without a word.

Source: Dynamo 1.x, dynamo/profiler/utils/dgdr_validate.py and profile_sla.py.
"""

from collections.abc import Iterator, Mapping

from hooks.component.image.runtime_version import is_since, parse_image_version, parse_version
from hooks.ground import contract
from hooks.ground.k8s.names import MAX_LABEL, has_subdomain_form
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import METADATA, SPEC, FieldPath, Problem
from hooks.ground.settings import Settings
from hooks.language.api.graph_request import GraphRequest
from hooks.language.rules import profiler as rules
from hooks.language.rules import request as request_rules
from hooks.language.rules.values import suggest
from hooks.language.v1beta1 import rules as beta_rules
from hooks.request.spec.beta_spec import is_written_in_beta, part_of, read_beta_spec
from hooks.request.spec.graph_overrides import PATH as OVERRIDE
from hooks.request.spec.graph_overrides import find_override_problems
from hooks.request.spec.profiler_spec import AUTO, THOROUGH, read_hardware, read_strategy
from hooks.request.spec.profilers import CURRENT_SINCE, SHORT_NAMES_SINCE, TRUST_SINCE, ProfilerRelease, find_profiler

_MOST_CHARACTERS = 45
"""Of the name of a graph and of a component together, for a profiler."""
_CONFIG = SPEC / "profilingConfig.config"
_READ_OF_CONFIG: Mapping[str, frozenset[str]] = {
    "sla": frozenset({"ttft", "itl", "isl", "osl", "optimizationType"}),
    "deployment": frozenset({"modelCache", "model"}),
    "engine": frozenset({"backend"}),
    "hardware": frozenset({"num_gpus_per_node", "numGpusPerNode", "gpu_vram_mib", "gpuVramMib"}),
    "sweep": frozenset({"use_ai_configurator", "useAiConfigurator", "aic_system", "aicSystem"}),
}
"""What of a configuration of v1alpha1 is said to a profiler of 1.x, beside `planner`."""


def graph_name(request: GraphRequest, beta_spec: Mapping[str, Json]) -> str:
    """The name of the graph of a profiler of 1.x, which makes up a new one at each run."""
    overrides = request.spec.deployment_overrides
    own = part_of(beta_spec, "overrides", "dgd", "metadata").get("name")
    return (overrides.name if overrides else "") or (own if isinstance(own, str) else "") or _default_name(request)


def find_profiler_problems(request: GraphRequest, settings: Settings) -> Iterator[Problem]:
    """The problems of a request that does not profile yet with its profiler, of whichever release."""
    profiler = find_profiler(request, settings)
    path = SPEC / "profilingConfig.profilerImage"
    if not profiler.image:
        yield request_rules.PROFILER_IMAGE.at(path)
    elif profiler.reads_beta:
        yield from _find_problems(request, profiler, read_beta_spec(request))
    elif profiler.version is None and (is_written_in_beta(request) or request.spec.profiling_config.config is None):
        yield request_rules.PROFILER_VERSION.at(SPEC / "runtimeVersionOverride", image=profiler.image)
    elif is_written_in_beta(request):
        yield request_rules.PROFILER_BEFORE_BETA.at(path, version=str(profiler.version))
    else:
        yield from _find_old_problems(request)


def find_written_problems(manifest: ReadManifest) -> Iterator[Problem]:
    """The problem of a request as it was written in v1beta1: its profiler has to be of a release that reads it.

    The API server evaluates this in CEL when the request is created; v1alpha1 does not always show the version.
    """
    spec = part_of(manifest, "spec")
    image, release = spec.get("image"), spec.get("runtimeVersionOverride")
    if not isinstance(image, str) or not image:
        return
    version = parse_version(release) if isinstance(release, str) and release else parse_image_version(image)
    if version is None and not release:
        yield request_rules.PROFILER_VERSION.at(SPEC / "runtimeVersionOverride", image=image)
    elif version is not None and not is_since(version, CURRENT_SINCE):
        yield request_rules.PROFILER_BEFORE_BETA.at(SPEC / "image", version=str(version))


def find_profiler_warnings(request: GraphRequest, settings: Settings) -> Iterator[Problem]:
    """What a profiler of 1.x does not do with the request's fields."""
    profiler = find_profiler(request, settings)
    if not profiler.reads_beta:
        return
    version, profiling = str(profiler.version), request.spec.profiling_config
    for path in _find_unread(profiling.config):
        yield rules.CONFIG_UNUSED.at(path, version=version)
    if profiling.config_map_ref is not None:
        yield rules.CONFIG_UNUSED.at(SPEC / "profilingConfig.configMapRef", version=version)
    beta_spec = read_beta_spec(request)
    if part_of(beta_spec, "overrides", "dgd").get("spec") and read_strategy(request, beta_spec) == THOROUGH:
        yield rules.OVERRIDE_UNSEEN.at(OVERRIDE)


def _find_old_problems(request: GraphRequest) -> Iterator[Problem]:
    if request.spec.profiling_config.config is None:
        yield request_rules.PROFILING_CONFIG.at(_CONFIG)
    if request.spec.backend in {"", AUTO}:
        yield request_rules.PROFILER_ENGINE.at(SPEC / "backend")


def _find_unread(config: Json) -> Iterator[FieldPath]:
    for key, value in config.items() if isinstance(config, Mapping) else ():
        if key == "planner":
            continue
        known = _READ_OF_CONFIG.get(key)
        if known is None or not isinstance(value, Mapping):
            yield _CONFIG / key
        else:
            yield from (_CONFIG / key / name for name in value if name not in known)


def _find_problems(
    request: GraphRequest, profiler: ProfilerRelease, beta_spec: Mapping[str, Json]
) -> Iterator[Problem]:
    if "@" in profiler.image:
        yield request_rules.PROFILER_DIGEST.at(SPEC / "profilingConfig.profilerImage")
    if read_strategy(request, beta_spec) == THOROUGH and request.spec.backend in {"", AUTO}:
        yield beta_rules.THOROUGH_AUTO.at(SPEC / "searchStrategy", backend=SPEC / "backend")
    yield from _find_goal_problems(beta_spec)
    yield from _find_hardware_problems(read_hardware(request, beta_spec))
    cache = part_of(beta_spec, "modelCache")
    if cache and not cache.get("pvcName"):
        yield rules.MODEL_CACHE_NAME.at(SPEC / "modelCache.pvcName")
    overrides = part_of(beta_spec, "overrides")
    if overrides.get("trustRemoteCode") is not None and not is_since(profiler.version, TRUST_SINCE):
        yield rules.TRUST_REMOTE_CODE.at(SPEC / "overrides.trustRemoteCode", version=str(profiler.version))
    yield from find_override_problems(overrides.get("dgd"))
    yield from _find_name_problems(request, profiler, beta_spec)


def _find_goal_problems(beta_spec: Mapping[str, Json]) -> Iterator[Problem]:
    workload, sla = part_of(beta_spec, "workload"), part_of(beta_spec, "sla")
    if workload.get("concurrency") is not None and workload.get("requestRate") is not None:
        yield beta_rules.BOTH_RATES.at(SPEC / "workload")
    if sla.get("e2eLatency") is not None and (sla.get("ttft") is not None or sla.get("itl") is not None):
        yield beta_rules.BOTH_GOALS.at(SPEC / "sla")
    goals = (
        *((SPEC / "sla" / name, sla.get(name)) for name in ("ttft", "itl", "e2eLatency")),
        *((SPEC / "workload" / name, workload.get(name)) for name in ("concurrency", "requestRate")),
    )
    for path, value in goals:
        if isinstance(value, int | float) and value <= 0:
            yield rules.GOAL.at(path, value=str(value))


def _find_hardware_problems(hardware: Mapping[str, Json]) -> Iterator[Problem]:
    path, sku = SPEC / "hardware", hardware.get("gpuSku")
    if sku is not None and sku not in contract.GPU_SKUS:
        hint = suggest(str(sku), contract.GPU_SKUS)
        known = ", ".join(contract.GPU_SKUS)
        yield rules.GPU_SKU.at(path / "gpuSku", found=str(sku), known=known, hint=f"; {hint}" if hint else "")
    for name in ("totalGpus", "numGpusPerNode", "vramMb"):
        value = hardware.get(name)
        if value is not None and (not isinstance(value, int | float) or value <= 0):
            yield rules.GOAL.at(path / name, value=str(value))


def _find_name_problems(
    request: GraphRequest, profiler: ProfilerRelease, beta_spec: Mapping[str, Json]
) -> Iterator[Problem]:
    component = _longest_component(request, profiler)
    graph = _default_name(request)
    length = len(graph) + len(component)
    if length > _MOST_CHARACTERS:
        limit = _MOST_CHARACTERS - len(component) - len(_SUFFIX)
        yield rules.REQUEST_NAME.at(METADATA / "name", graph=graph, component=component, length=length, limit=limit)
    own = part_of(beta_spec, "overrides", "dgd", "metadata").get("name")
    if own is not None and (
        not isinstance(own, str) or not has_subdomain_form(own) or len(own) + 1 + len(component) > MAX_LABEL
    ):
        why = f"it should be a DNS name of at most {MAX_LABEL - 1 - len(component)} characters"
        yield rules.GRAPH_NAME.at(OVERRIDE / "metadata.name", name=str(own), why=why)


_SUFFIX = "-dgd"


def _default_name(request: GraphRequest) -> str:
    return f"{request.metadata.name}{_SUFFIX}"


def _longest_component(request: GraphRequest, profiler: ProfilerRelease) -> str:
    """The longest name among the components that a profiler may find."""
    if request.spec.use_mocker:
        return "Frontend"
    if not is_since(profiler.version, SHORT_NAMES_SINCE) and request.spec.backend in {"vllm", AUTO, ""}:
        return "VllmPrefillWorker"
    return "TRTLLMWorker" if request.spec.backend in {"trtllm", AUTO, ""} else "Frontend"
