"""The spec that a profiler of Dynamo 1.x gets: v1beta1's fields, with what our side fills in.

`overrides.dgd` is not passed: to merge it, the profiler would need a program of the Go operator's image. The hook
merges it into the result (`graph_overrides`).

Source: Dynamo 1.x, dynamo/profiler/__main__.py and utils/dgdr_v1beta1_types.py.
"""

import json
from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.graph_request import GraphRequest
from hooks.request.spec.beta_spec import part_of, read_beta_spec
from hooks.request.spec.profilers import ProfilerRelease

FIELDS = (
    *("model", "backend", "image", "runtimeVersionOverride", "modelCache", "hardware", "workload", "sla"),
    *("overrides", "features", "searchStrategy", "autoApply"),
)
"""The keys of the spec; the profiler drops any other without a word."""
AUTO, RAPID, THOROUGH = "auto", "rapid", "thorough"
_UNPASSED = frozenset({"dgd"})


def read_hardware(request: GraphRequest, beta_spec: Mapping[str, Json]) -> dict[str, Json]:
    """The hardware that the request says; a configuration of v1alpha1 has other names for some of it."""
    config = request.spec.profiling_config.config
    old, sweep = part_of(config, "hardware"), part_of(config, "sweep")
    known = {
        "gpuSku": sweep.get("aic_system", sweep.get("aicSystem")),
        "numGpusPerNode": old.get("num_gpus_per_node", old.get("numGpusPerNode")),
        "vramMb": old.get("gpu_vram_mib", old.get("gpuVramMib")),
        **part_of(beta_spec, "hardware"),
    }
    return {key: value for key, value in known.items() if value not in (None, "")}


def read_strategy(request: GraphRequest, beta_spec: Mapping[str, Json]) -> str:
    """`rapid` or `thorough`; a configuration of v1alpha1 says that it does not want a simulation."""
    strategy = beta_spec.get("searchStrategy")
    if isinstance(strategy, str) and strategy:
        return strategy
    sweep = part_of(request.spec.profiling_config.config, "sweep")
    simulates = sweep.get("use_ai_configurator", sweep.get("useAiConfigurator"))
    return THOROUGH if simulates is False else RAPID


def write_profiler_spec(request: GraphRequest, profiler: ProfilerRelease, hardware: Mapping[str, Json]) -> str:
    """The spec as JSON, an argument of the profiler."""
    beta_spec = read_beta_spec(request)
    overrides = {key: value for key, value in part_of(beta_spec, "overrides").items() if key not in _UNPASSED}
    cache = part_of(beta_spec, "modelCache")
    filled: dict[str, Json] = {
        **beta_spec,
        "backend": beta_spec.get("backend") or AUTO,
        "image": profiler.image,
        "hardware": dict(hardware),
        "searchStrategy": read_strategy(request, beta_spec),
        "overrides": overrides or None,
        "modelCache": {"pvcMountPath": contract.MODEL_CACHE_PATH, **cache} if cache else None,
    }
    spec = {key: filled[key] for key in FIELDS if filled.get(key) is not None}
    return json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
