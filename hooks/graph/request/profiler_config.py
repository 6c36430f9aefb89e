"""The configuration of a profiler: what the user wrote, and what the request itself and the cluster say.

Knows only the few keys that are ours; all else is between the user and the profiler.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, createProfilingJob.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import yaml

from hooks.api.graph_request import GraphRequest
from hooks.errors import InvalidSpec
from hooks.k8s.types import Json

OUTPUT_FOLDER = PurePosixPath("/data")
"""The folder that profiler and output copier share."""

BASE_FILE = PurePosixPath("/config/disagg.yaml")
"""Where the graph that a request starts from is mounted."""

_MAX_ARGUMENT_BYTES = 131_071
"""Linux gives a process no argument longer than this, which leaves room for the final zero (MAX_ARG_STRLEN)."""


def merge_profiler_config(request: GraphRequest, hardware: Mapping[str, Json]) -> dict[str, Json]:
    """The configuration as the profiler gets it: the user's, with what the request itself says laid into it.

    `hardware` are facts about the cluster's GPUs; each counts unless the user wrote it.

    Raises:
        InvalidSpec: all parts that should be objects and are not, and an output folder that nobody would read.
    """
    users = request.spec.profiling_config.config
    problems = tuple(_find_config_problems(users))
    if problems:
        raise InvalidSpec(problems)
    overrides = request.spec.deployment_overrides
    image = {"dgd_image": overrides.workers_image} if overrides and overrides.workers_image else {}
    graph = {"config": str(BASE_FILE)} if request.spec.profiling_config.config_map_ref else {}
    namespace = {"namespace": request.metadata.namespace}
    merged = {
        "output_dir": str(OUTPUT_FOLDER),
        **users,
        "deployment": {**namespace, **_part(users, "deployment"), "model": request.spec.model, **image},
        "engine": {**_part(users, "engine"), "backend": request.spec.backend, **graph},
    }
    return {**merged, "hardware": {**hardware, **_part(users, "hardware")}} if hardware else merged


def write_profiler_config(config: Mapping[str, Json]) -> str:
    """Write the configuration as YAML, the text of one argument.

    Raises:
        InvalidSpec: no process could be given it.
    """
    text = yaml.safe_dump(dict(config), allow_unicode=True, width=2**31 - 1)
    size = len(text.encode())
    if size > _MAX_ARGUMENT_BYTES:
        raise InvalidSpec(
            f"spec.profilingConfig.config is {size} bytes as YAML, a process takes at most {_MAX_ARGUMENT_BYTES}; "
            f"put large parts into a ConfigMap and name it in spec.profilingConfig.configMapRef"
        )
    return text


def _part(config: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    return config.get(key) or {}


def _find_config_problems(config: Json) -> Iterator[str]:
    path = "spec.profilingConfig.config"
    if not isinstance(config, dict):
        yield f"{path} is required and must be an object"
        return
    for key in ("deployment", "engine", "hardware"):
        if not isinstance(config.get(key, {}), dict | None):
            yield f"{path}.{key} is {config[key]!r}, must be an object"
    folder = config.get("output_dir", str(OUTPUT_FOLDER))
    if not isinstance(folder, str) or not _is_shared(PurePosixPath(folder)):
        yield (
            f"{path}.output_dir is {folder!r}: only {OUTPUT_FOLDER} is seen by the container that keeps the output; "
            f"name a folder in it, or leave output_dir out"
        )


def _is_shared(folder: PurePosixPath) -> bool:
    return folder.is_relative_to(OUTPUT_FOLDER) and ".." not in folder.parts
