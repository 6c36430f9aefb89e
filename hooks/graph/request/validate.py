"""What is wrong with a DynamoGraphDeploymentRequest, and what of it may not change once profiling has begun.

Source: Dynamo operator, internal/webhook/validation/dynamographdeploymentrequest.go, whose order and texts are kept;
internal/controller/dynamographdeploymentrequest_controller.go for what is immutable.
"""

from collections.abc import Iterator, Mapping

from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.k8s.names import MAX_LABEL, has_label_value_form, has_subdomain_form, is_dns_label
from hooks.k8s.types import Json, ReadManifest
from hooks.problems import SPEC, Key, Problem
from hooks.settings import Settings
from hooks.validation.judging import Findings, judge
from hooks.validation.review import Review, Verdict
from hooks.validation.rules import request as rules

FIXED_STATES = frozenset({"Profiling", "Deploying", "Ready", "DeploymentDeleted"})
"""States in which the spec of a request counts no more, and may not change."""

CHANGE_REJECTED = "SpecChangeRejected"
"""Reason of the conditions Ready and Validation while the spec is not the profiled one."""


def review_request(review: Review) -> Verdict:
    """Judge a request that is about to be written; its warnings are told beside problems too, as upstream does."""
    return judge(review, GraphRequest, of_object=_judge_request, of_change=_judge_change, warns_always=True)


def validate_request(request: GraphRequest, settings: Settings) -> tuple[Problem, ...]:
    """All problems of a request's spec."""
    return tuple(_find_problems(request, settings))


def rejected_change(state: str) -> Problem:
    """The problem of a spec that changes in a state of `FIXED_STATES`."""
    return rules.PROFILING_STARTED.at(SPEC, state=state)


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


def _find_problems(request: GraphRequest, settings: Settings) -> Iterator[Problem]:
    profiling = request.spec.profiling_config
    if not profiling.profiler_image:
        yield rules.PROFILER_IMAGE.at(SPEC / "profilingConfig.profilerImage")
    if profiling.config is None:
        yield rules.PROFILING_CONFIG.at(SPEC / "profilingConfig.config")
    if request.spec.enable_gpu_discovery and settings.installation:
        yield rules.GPU_DISCOVERY.at(SPEC / "enableGpuDiscovery")
    if profiling.config is not None and not isinstance(profiling.config, Mapping):
        yield rules.PROFILING_CONFIG_OBJECT.at(SPEC / "profilingConfig.config")
    if request.spec.deployment_overrides is not None:
        yield from _find_override_problems(request.spec.deployment_overrides, request.metadata.namespace, settings)


def _find_override_problems(overrides: DeploymentOverrides, namespace: str, settings: Settings) -> Iterator[Problem]:
    path = SPEC / "deploymentOverrides"
    if overrides.name and (len(overrides.name) > MAX_LABEL or not has_subdomain_form(overrides.name)):
        yield rules.OVERRIDE_NAME.at(path / "name", name=overrides.name)
    if overrides.namespace and not is_dns_label(overrides.namespace):
        yield rules.OVERRIDE_NAMESPACE.at(path / "namespace", namespace=overrides.namespace)
    if settings.installation and overrides.namespace not in {"", namespace}:
        yield rules.OVERRIDE_NAMESPACE_RESTRICTED.at(path / "namespace", namespace=overrides.namespace)
    for key, value in sorted(overrides.labels.items()):
        if value and (len(value) > MAX_LABEL or not has_label_value_form(value)):
            yield rules.OVERRIDE_LABEL.at(path / "labels" / Key(key), value=value)


def _find_overwritten(request: GraphRequest) -> Iterator[Problem]:
    """What the profiler's configuration says and the spec says otherwise."""
    spec = request.spec
    for section, field, name, wins in (
        ("engine", "backend", "backend", spec.backend),
        ("deployment", "model", "model", spec.model),
    ):
        written = _read(_read(spec.profiling_config.config, section), field)
        if isinstance(written, str) and written and written != wins:
            yield rules.PROFILING_CONFIG_OVERWRITTEN.at(
                SPEC / "profilingConfig.config" / section / field, written=written, winner=SPEC / name, value=wins
            )


def _read(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None
