"""The configuration of a profiler: the user's, with fields of the request and of the cluster added.

Knows only the few keys that the request sets; the profiler checks all others.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, createProfilingJob.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import yaml

from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, Problem
from hooks.language.api.graph_request import GraphRequest
from hooks.language.rules import profiling as rules

OUTPUT_FOLDER = PurePosixPath("/data")
"""The folder that profiler and output copier share."""

BASE_FILE = PurePosixPath("/config/disagg.yaml")
"""Where the profiler finds the graph that a request starts from."""

_CONFIG = SPEC / "profilingConfig.config"
_SECTIONS = ("deployment", "engine", "hardware")

MAX_ARGUMENT_BYTES = 131_071
"""Longest argument of a process on Linux, without the final zero byte (MAX_ARG_STRLEN)."""


def find_config_problems(config: Mapping[str, Json]) -> Iterator[Problem]:
    """Find sections of a user's configuration that are not objects, and an output folder outside the shared one."""
    for key in _SECTIONS:
        if not isinstance(config.get(key, {}), dict | None):
            yield rules.PROFILER_CONFIG_SECTION.at(_CONFIG / key, value=repr(config[key]))
    folder = config.get("output_dir", str(OUTPUT_FOLDER))
    if not isinstance(folder, str) or not _is_shared(PurePosixPath(folder)):
        path = _CONFIG / "output_dir"
        yield rules.PROFILER_OUTPUT_FOLDER.at(path, value=repr(folder), shared=str(OUTPUT_FOLDER))


def merge_profiler_config(request: GraphRequest, hardware: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration for the profiler: the user's, with the fields of the request, which win.

    `hardware` describes the cluster's GPUs; fields that the user wrote win over it.
    """
    users: Mapping[str, Json] = request.spec.profiling_config.config
    overrides = request.spec.deployment_overrides
    image = {"dgd_image": overrides.workers_image} if overrides and overrides.workers_image else {}
    graph = {"config": str(BASE_FILE)} if request.spec.profiling_config.config_map_ref else {}
    namespace = {"namespace": request.metadata.namespace}
    merged = {
        "output_dir": str(OUTPUT_FOLDER),
        **users,
        "deployment": {**namespace, **_section(users, "deployment"), "model": request.spec.model, **image},
        "engine": {**_section(users, "engine"), "backend": request.spec.backend, **graph},
    }
    return {**merged, "hardware": {**hardware, **_section(users, "hardware")}} if hardware else merged


def write_profiler_config(config: Mapping[str, Json]) -> str:
    """Write the configuration as YAML; it is one argument of the profiler."""
    return yaml.safe_dump(dict(config), allow_unicode=True, width=2**31 - 1)


def find_size_problems(text: str) -> Iterator[Problem]:
    """The problem of a configuration that is too long to be an argument of a process."""
    size = len(text.encode())
    if size > MAX_ARGUMENT_BYTES:
        other = SPEC / "profilingConfig.configMapRef"
        yield rules.PROFILER_CONFIG_SIZE.at(_CONFIG, size=size, limit=MAX_ARGUMENT_BYTES, other=other)


def uses_ai_configurator(config: Json) -> bool:
    """Whether profiling is a simulation (AIC, half a minute) instead of a run on GPUs (online, hours).

    Source: Dynamo operator, isOnlineProfiling: `sweep.use_ai_configurator`, `sweep.useAiConfigurator` in newer ones.
    """
    sweep = config.get("sweep") if isinstance(config, dict) else None
    keys = ("use_ai_configurator", "useAiConfigurator")
    return isinstance(sweep, dict) and any(sweep.get(key) is True for key in keys)


def _section(config: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    return config.get(key) or {}


def _is_shared(folder: PurePosixPath) -> bool:
    return folder.is_relative_to(OUTPUT_FOLDER) and ".." not in folder.parts
