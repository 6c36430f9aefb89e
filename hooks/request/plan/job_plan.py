"""Every decision about the profiling Job of a request and the account that it runs under.

`profiling_job` builds the Job from these decisions and cannot fail.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Json
from hooks.ground.problems import HERE, SPEC, Problem
from hooks.ground.settings import Settings
from hooks.language.api.graph_request import GraphRequest
from hooks.language.rules import profiler as profiler_rules
from hooks.language.rules import profiling as rules
from hooks.request.spec.beta_spec import read_beta_spec
from hooks.request.spec.profiler_config import (
    MAX_ARGUMENT_BYTES,
    OUTPUT_FOLDER,
    find_config_problems,
    find_size_problems,
    merge_profiler_config,
    write_profiler_config,
)
from hooks.request.spec.profiler_spec import write_profiler_spec
from hooks.request.spec.profilers import CURRENT_MODULE, ProfilerRelease, find_profiler, output_file


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """The profiling Job of a request, to be created.

    `module` of `image` is run with `arguments`; it writes its files into `output_folder`, among them `required`.
    `hardware` is what it searches for, {} if it is not told. `beta_spec` is the spec in v1beta1, {} for a profiler that
    does not read it. `pull_secrets` are Secrets for the registries of its images. `spec_hash` is the fingerprint of the
    request's spec.
    """

    request: GraphRequest
    settings: Settings
    image: str
    module: str
    arguments: tuple[str, ...]
    output_folder: str
    required: str
    pull_secrets: tuple[str, ...]
    spec_hash: str
    hardware: Mapping[str, Json] = field(default_factory=dict)
    beta_spec: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """The account of a request's Job, and the ClusterRole that is bound to it in the request's namespace."""

    request_name: str
    namespace: str
    cluster_role: str


def plan_job(
    request: GraphRequest,
    settings: Settings,
    *,
    hardware: Mapping[str, Json],
    pull_secrets: tuple[str, ...] = (),
    spec_hash: str = "",
) -> JobPlan:
    """Plan the Job of a request that `validate_request` accepts.

    `hardware` describes the cluster's GPUs, {} when nothing was discovered; fields that the user wrote win over it.

    Raises:
        InvalidSpec: the configuration cannot be passed to the profiler, or the setting `hooks_image` is missing.
    """
    profiler = find_profiler(request, settings)
    plan = _plan_current if profiler.reads_beta else _plan_old
    return replace(plan(request, settings, profiler, hardware), pull_secrets=pull_secrets, spec_hash=spec_hash)


def _plan_current(
    request: GraphRequest, settings: Settings, profiler: ProfilerRelease, hardware: Mapping[str, Json]
) -> JobPlan:
    """A profiler of 1.x, which reads the request's spec in v1beta1."""
    spec = write_profiler_spec(request, profiler, hardware)
    size = len(spec.encode())
    too_long = (
        [profiler_rules.SPEC_SIZE.at(SPEC, size=size, limit=MAX_ARGUMENT_BYTES)] if size > MAX_ARGUMENT_BYTES else ()
    )
    _refuse_any((*too_long, *_find_setting_problems(settings)))
    return JobPlan(
        request=request,
        settings=settings,
        image=profiler.image,
        module=CURRENT_MODULE,
        arguments=("--config", spec, "--output-dir", str(OUTPUT_FOLDER)),
        output_folder=str(OUTPUT_FOLDER),
        required=output_file(request, profiler),
        pull_secrets=(),
        spec_hash="",
        hardware=hardware,
        beta_spec=read_beta_spec(request),
    )


def _plan_old(
    request: GraphRequest, settings: Settings, profiler: ProfilerRelease, hardware: Mapping[str, Json]
) -> JobPlan:
    """A profiler of 0.x, which reads its own configuration."""
    _refuse_any((*find_config_problems(request.spec.profiling_config.config), *_find_setting_problems(settings)))
    merged = merge_profiler_config(request, hardware)
    config = write_profiler_config(merged)
    _refuse_any(find_size_problems(config))
    # Discovered hardware is in the configuration already. To discover it itself, the profiler must read Nodes; the
    # account of a request has no right to read them by default.
    discovers = request.spec.enable_gpu_discovery and not hardware
    return JobPlan(
        request=request,
        settings=settings,
        image=profiler.image,
        module=settings.profiler_module,
        arguments=("--profile-config", config, *(("--enable-gpu-discovery",) if discovers else ())),
        output_folder=str(merged["output_dir"]),
        required=output_file(request, profiler),
        pull_secrets=(),
        spec_hash="",
    )


def plan_access(request: GraphRequest, settings: Settings) -> AccessPlan:
    """Plan the account of a request's Job."""
    return AccessPlan(
        request_name=request.metadata.name,
        namespace=request.metadata.namespace,
        cluster_role=settings.profiling_cluster_role,
    )


def _find_setting_problems(settings: Settings) -> Iterator[Problem]:
    if not settings.hooks_image:
        yield rules.HOOKS_IMAGE.at(HERE)


def _refuse_any(found: Iterable[Problem]) -> None:
    """Raise InvalidSpec if there is a problem."""
    if problems := tuple(found):
        raise InvalidSpec(problems)
