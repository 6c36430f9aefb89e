"""Every decision about the profiling Job of a request and the account that it runs under.

`profiling_job` builds the Job from these decisions and cannot fail.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.api.graph_request import GraphRequest
from hooks.errors import InvalidSpec
from hooks.graph.request.profiler_config import (
    find_config_problems,
    find_size_problems,
    merge_profiler_config,
    write_profiler_config,
)
from hooks.k8s.types import Json
from hooks.problems import HERE, Problem
from hooks.rules import profiling as rules
from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """The profiling Job of a request, to be created.

    `config` is the profiler's configuration as YAML; the profiler writes its files into `output_folder`, and with
    `discovers_gpus` reads the GPUs of the cluster itself. `pull_secrets` are Secrets for the registries of its images.
    `spec_hash` is the fingerprint of the request's spec.
    """

    request: GraphRequest
    settings: Settings
    config: str
    output_folder: str
    discovers_gpus: bool
    pull_secrets: tuple[str, ...]
    spec_hash: str


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
    if problems := tuple(_find_problems(request, settings)):
        raise InvalidSpec(problems)
    merged = merge_profiler_config(request, hardware)
    config = write_profiler_config(merged)
    if problems := tuple(find_size_problems(config)):
        raise InvalidSpec(problems)
    return JobPlan(
        request=request,
        settings=settings,
        config=config,
        output_folder=str(merged["output_dir"]),
        # Discovered hardware is in the configuration already. To discover it itself, the profiler must read Nodes; the
        # account of a request has no right to read them by default.
        discovers_gpus=request.spec.enable_gpu_discovery and not hardware,
        pull_secrets=pull_secrets,
        spec_hash=spec_hash,
    )


def plan_access(request: GraphRequest, settings: Settings) -> AccessPlan:
    """Plan the account of a request's Job."""
    return AccessPlan(
        request_name=request.metadata.name,
        namespace=request.metadata.namespace,
        cluster_role=settings.profiling_cluster_role,
    )


def _find_problems(request: GraphRequest, settings: Settings) -> Iterator[Problem]:
    yield from find_config_problems(request.spec.profiling_config.config)
    if not settings.hooks_image:
        yield rules.HOOKS_IMAGE.at(HERE)
