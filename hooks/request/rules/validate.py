"""Rules about the spec of a DynamoGraphDeploymentRequest, and about its changes once profiling has begun.

Source: Dynamo operator, internal/webhook/validation/dynamographdeploymentrequest.go, whose order and texts are kept;
internal/controller/dynamographdeploymentrequest_controller.go for what is immutable.
"""

from collections.abc import Iterator, Mapping

from hooks.component.image.runtime_version import parse_version
from hooks.ground.k8s.canonical import find_unreadable
from hooks.ground.k8s.names import MAX_LABEL, has_label_value_form, has_subdomain_form, is_dns_label
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import SPEC, Key, Problem
from hooks.ground.settings import Settings
from hooks.language.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.language.rules import request as rules
from hooks.language.rules.pod import QUANTITY
from hooks.language.rules.spec import RUNTIME_VERSION
from hooks.language.validation.judging import Findings, judge
from hooks.language.validation.review import Review, Verdict
from hooks.request.rules.profiler_rules import find_profiler_problems, find_profiler_warnings
from hooks.request.spec.phases import FIXED_STATES, RequestState
from hooks.request.spec.reasons import RequestReason
from hooks.wire.metacontroller.installation import read_installation


def review_request(review: Review) -> Verdict:
    """Review a request that is about to be written; like upstream, give warnings beside problems too."""
    return judge(review, GraphRequest, of_object=_judge_request, of_change=_judge_change, warns_always=True)


def validate_request(request: GraphRequest, settings: Settings) -> tuple[Problem, ...]:
    """All problems of a request's spec."""
    return tuple(_find_problems(request, settings))


def find_foreign_namespace(own: str, target: str, settings: Settings) -> Iterator[Problem]:
    """The problem of a request in the namespace `own` whose graph may not be created in `target`."""
    allowed = {part.strip() for part in settings.request_namespaces.split(",")}
    if target == own:
        return
    path = SPEC / "deploymentOverrides.namespace"
    if settings.installation:
        yield rules.OVERRIDE_NAMESPACE_RESTRICTED.at(path, namespace=target)
    elif allowed != {"any"} and (allowed == {"own"} or target not in allowed):
        yield rules.OVERRIDE_NAMESPACE_FOREIGN.at(path, namespace=target, own=own)


def find_target_to_review(review: Review) -> str:
    """The namespace in which the user of a write must be allowed to create graphs; empty for none.

    It is that of `deploymentOverrides`, if it is not the request's own. A write that leaves the spec as it was needs no
    right: Metacontroller and others change metadata. But whoever changes the label of the installation hands the
    request to hooks that may create the graph.
    """
    if review.old is not None and _asks_the_same(review.old, review.new):
        return ""
    target = _read(_read(review.new.get("spec"), "deploymentOverrides"), "namespace")
    return target if isinstance(target, str) and target != review.new["metadata"].get("namespace") else ""


def may_create_elsewhere(review: Review) -> bool:
    """Whether the settings allow these hooks to create the graph in the namespace of `find_target_to_review`."""
    own, target = str(review.new["metadata"].get("namespace")), find_target_to_review(review)
    return bool(target) and not any(find_foreign_namespace(own, target, review.settings))


def _asks_the_same(old: ReadManifest, new: ReadManifest) -> bool:
    """Whether the same installation is asked for the same as before."""
    return bool(old.get("spec") == new.get("spec")) and read_installation(old) == read_installation(new)


def rejected_change(state: RequestState) -> Problem:
    """The problem of a spec that changes in a state of `FIXED_STATES`."""
    return rules.PROFILING_STARTED.at(SPEC, state=state.value)


def _judge_request(request: GraphRequest, review: Review) -> Findings:
    return Findings(
        problems=(*validate_request(request, review.settings), *find_profiler_problems(request, review.settings)),
        warnings=(*_find_overwritten(request), *find_profiler_warnings(request, review.settings)),
    )


def _judge_change(_new: GraphRequest, old: ReadManifest, review: Review) -> Findings:
    """Refuse a change of a fixed spec; undoing a change that was stored despite this rule is allowed."""
    status = _read(old, "status")
    state = RequestState.of(str(_read(status, "state") or ""))
    if state not in FIXED_STATES or review.new.get("spec") == old.get("spec") or _is_frozen(status):
        return Findings()
    return Findings(problems=(rejected_change(state),))


def _is_frozen(status: Json) -> bool:
    """Whether its first condition, Ready, says that nothing is done until a change of the spec is undone."""
    conditions = _read(status, "conditions")
    first = conditions[0] if isinstance(conditions, list) and conditions else None
    return bool(_read(first, "reason") == RequestReason.SPEC_CHANGE_REJECTED)


def _find_problems(request: GraphRequest, settings: Settings) -> Iterator[Problem]:
    profiling = request.spec.profiling_config
    release = request.spec.runtime_version_override
    if release and parse_version(release) is None:
        yield RUNTIME_VERSION.at(SPEC / "runtimeVersionOverride")
    if request.spec.enable_gpu_discovery and settings.installation:
        yield rules.GPU_DISCOVERY.at(SPEC / "enableGpuDiscovery")
    if profiling.config is not None and not isinstance(profiling.config, Mapping):
        yield rules.PROFILING_CONFIG_OBJECT.at(SPEC / "profilingConfig.config")
    of_pod = {"resources": profiling.resources, "tolerations": profiling.tolerations}
    yield from (QUANTITY.at(at, why=why) for at, why in find_unreadable(of_pod, SPEC / "profilingConfig"))
    if request.spec.deployment_overrides is not None:
        yield from _find_override_problems(request.spec.deployment_overrides, request.metadata.namespace, settings)


def _find_override_problems(overrides: DeploymentOverrides, namespace: str, settings: Settings) -> Iterator[Problem]:
    path = SPEC / "deploymentOverrides"
    if overrides.name and (len(overrides.name) > MAX_LABEL or not has_subdomain_form(overrides.name)):
        yield rules.OVERRIDE_NAME.at(path / "name", name=overrides.name)
    if overrides.namespace and not is_dns_label(overrides.namespace):
        yield rules.OVERRIDE_NAMESPACE.at(path / "namespace", namespace=overrides.namespace)
    elif overrides.namespace:
        yield from find_foreign_namespace(namespace, overrides.namespace, settings)
    for key, value in sorted(overrides.labels.items()):
        if value and (len(value) > MAX_LABEL or not has_label_value_form(value)):
            yield rules.OVERRIDE_LABEL.at(path / "labels" / Key(key), value=value)


def _find_overwritten(request: GraphRequest) -> Iterator[Problem]:
    """Fields of the profiler's configuration that the spec overwrites with another value."""
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
