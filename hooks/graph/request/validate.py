"""What is wrong with a DynamoGraphDeploymentRequest, and what of it may not change once profiling has begun.

Source: Dynamo operator, internal/webhook/validation/dynamographdeploymentrequest.go, whose order and texts are kept;
internal/controller/dynamographdeploymentrequest_controller.go for what is immutable.
"""

from collections.abc import Iterator, Mapping

from hooks.api.graph_request import GraphRequest
from hooks.judging import Findings, judge
from hooks.k8s.types import Json, ReadManifest
from hooks.review import Review, Verdict
from hooks.settings import Settings

FIXED_STATES = frozenset({"Profiling", "Deploying", "Ready", "DeploymentDeleted"})
"""States in which the spec of a request counts no more, and may not change."""

_NO_DISCOVERY = (
    "spec.enableGpuDiscovery can only be set to true for cluster-wide operators. Namespace-restricted operators cannot "
    "access cluster nodes for GPU discovery. Please set enableGpuDiscovery to false and provide hardware configuration "
    "(hardware.min_num_gpus_per_engine, hardware.max_num_gpus_per_engine, hardware.num_gpus_per_node) in "
    "spec.profilingConfig.config"
)


def review_request(review: Review) -> Verdict:
    """Judge a request that is about to be written; its warnings are told beside problems too, as upstream does."""
    return judge(review, GraphRequest, of_object=_judge_request, of_change=_judge_change, warns_always=True)


def validate_request(request: GraphRequest, settings: Settings) -> tuple[str, ...]:
    """All problems of a request's spec."""
    return tuple(_find_problems(request, settings))


def rejected_change(state: str) -> str:
    """The sentence that refuses a change of the spec in a state of `FIXED_STATES`."""
    return (
        f"Cannot modify spec in state '{state}'. DynamoGraphDeploymentRequest is immutable once profiling starts. "
        "Create a new resource with a different name instead."
    )


def _judge_request(request: GraphRequest, review: Review) -> Findings:
    return Findings(
        problems=validate_request(request, review.settings),
        warnings=tuple(_find_overwritten(request)),
    )


def _judge_change(_new: GraphRequest, old: ReadManifest, review: Review) -> Findings:
    status = old.get("status")
    state = status.get("state") if isinstance(status, Mapping) else None
    if not isinstance(state, str) or state not in FIXED_STATES or review.new.get("spec") == old.get("spec"):
        return Findings()
    return Findings(problems=(rejected_change(state),))


def _find_problems(request: GraphRequest, settings: Settings) -> Iterator[str]:
    profiling = request.spec.profiling_config
    if not profiling.profiler_image:
        yield "spec.profilingConfig.profilerImage is required"
    if profiling.config is None:
        yield "spec.profilingConfig.config is required and must not be empty"
    if request.spec.enable_gpu_discovery and settings.installation:
        yield _NO_DISCOVERY
    if profiling.config is not None and not isinstance(profiling.config, Mapping):
        yield "failed to parse spec.profilingConfig.config: it should be an object"


def _find_overwritten(request: GraphRequest) -> Iterator[str]:
    """What the profiler's configuration says and the spec says otherwise."""
    spec = request.spec
    for section, field, name, wins in (
        ("engine", "backend", "backend", spec.backend),
        ("deployment", "model", "model", spec.model),
    ):
        written = _read(_read(spec.profiling_config.config, section), field)
        if isinstance(written, str) and written and written != wins:
            path = f"spec.profilingConfig.config.{section}.{field}"
            yield f"{path} ({written}) will be overwritten by spec.{name} ({wins})"


def _read(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None
