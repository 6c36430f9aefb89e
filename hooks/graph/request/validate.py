"""What is wrong with a DynamoGraphDeploymentRequest, and what of it may not change once profiling has begun.

Source: Dynamo operator, internal/webhook/validation/dynamographdeploymentrequest.go, whose order and texts are kept;
internal/controller/dynamographdeploymentrequest_controller.go for what is immutable.
"""

from collections.abc import Iterator, Mapping

from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.k8s.names import MAX_LABEL, has_label_value_form, has_subdomain_form, is_dns_label
from hooks.k8s.types import Json, ReadManifest
from hooks.settings import Settings
from hooks.validation.judging import Findings, judge
from hooks.validation.review import Review, Verdict

FIXED_STATES = frozenset({"Profiling", "Deploying", "Ready", "DeploymentDeleted"})
"""States in which the spec of a request counts no more, and may not change."""

CHANGE_REJECTED = "SpecChangeRejected"
"""Reason of the conditions Ready and Validation while the spec is not the profiled one."""

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
    """Refuse a change, but for one after a change that slipped through: it must be possible to take that back."""
    status = _read(old, "status")
    state = _read(status, "state")
    is_fixed = isinstance(state, str) and state in FIXED_STATES
    if not is_fixed or review.new.get("spec") == old.get("spec") or _is_frozen(status):
        return Findings()
    return Findings(problems=(rejected_change(state),))


def _is_frozen(status: Json) -> bool:
    """Whether the request does nothing until a change of its spec is undone; its first condition, Ready, says so."""
    conditions = _read(status, "conditions")
    return isinstance(conditions, list) and bool(conditions) and _read(conditions[0], "reason") == CHANGE_REJECTED


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
    if request.spec.deployment_overrides is not None:
        yield from _find_override_problems(request.spec.deployment_overrides, request.metadata.namespace, settings)


def _find_override_problems(overrides: DeploymentOverrides, namespace: str, settings: Settings) -> Iterator[str]:
    path = "spec.deploymentOverrides"
    if overrides.name and (len(overrides.name) > MAX_LABEL or not has_subdomain_form(overrides.name)):
        yield (
            f"{path}.name {overrides.name!r} must have at most {MAX_LABEL} characters and consist of lower case "
            f"letters, digits, '-' and '.'"
        )
    if overrides.namespace and not is_dns_label(overrides.namespace):
        yield f"{path}.namespace {overrides.namespace!r} must consist of lower case letters, digits and '-'"
    if settings.installation and overrides.namespace not in {"", namespace}:
        yield (
            f"{path}.namespace is {overrides.namespace}: a namespace-restricted installation creates graphs in the "
            f"request's own namespace only; leave it out"
        )
    for key, value in sorted(overrides.labels.items()):
        if value and (len(value) > MAX_LABEL or not has_label_value_form(value)):
            yield f"{path}.labels[{key}] {value!r} is no value of a label"


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
