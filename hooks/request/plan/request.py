"""Every decision about a request: its position, and which children it has there.

If profiling has begun, the caller has checked that the spec is the profiled one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.component.spec.pull_secrets import find_pull_secrets
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.names import fit_label_value
from hooks.ground.k8s.types import Json, Manifest
from hooks.ground.problems import Problem
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.request.plan.fingerprint import spec_hash
from hooks.request.plan.job_plan import AccessPlan, JobPlan, plan_access, plan_job
from hooks.request.plan.output import ProfilerOutput, find_output
from hooks.request.plan.preconditions import check_preconditions
from hooks.request.rules.validate import find_foreign_namespace
from hooks.request.seen.observe import LiveGraph, ObservedRequest
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.spec.applied_graph import GraphTarget, plan_graph_to_apply
from hooks.request.spec.phases import (
    FIXED_STATES,
    GeneratedGraphState,
    JobState,
    OutputState,
    Position,
    RequestState,
    Situation,
    SpecState,
    find_position,
)
from hooks.request.spec.profilers import find_profiler
from hooks.wire.metacontroller.protocol import ObjectQuery

_SUCCESSFUL = "successful"
_WITH_ACCESS = frozenset({Position.PENDING, Position.PROFILING, Position.AWAITING_OUTPUT})
_WITH_CONFIG_MAPS = frozenset({Position.GENERATED, Position.DEPLOYING, Position.DEGRADED, Position.DEPLOYED})
"""Not while the graph is created: it owns them, so they come one sync later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """All decisions about one request.

    `problems` say why it cannot continue. `job` and `access` are children to create or keep, `graph` is the graph to
    create; each is None if there is none. `generated` is the graph for the status, `live` the observed one. `remarks`
    say which objects of the profiler's output cannot be created. `hardware` is what is or was profiled for.
    `unverified` says why the graph is only a guess. `looks_for` is what must be read before profiling can begin.
    """

    position: Position
    problems: tuple[Problem, ...]
    spec_hash: str
    job: JobPlan | None
    access: AccessPlan | None
    target: GraphTarget
    graph: Manifest | None
    config_maps: tuple[Manifest, ...]
    generated: Mapping[str, Json] | None
    live: LiveGraph | None
    remarks: tuple[str, ...]
    hardware: Mapping[str, Json] = field(default_factory=dict)
    unverified: str = ""
    looks_for: tuple[ObjectQuery, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the children are what they are."""
        return (f"{self.position.state.value}: {self.position.value}", *self.remarks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _StartDecision:
    """Whether profiling can begin: the Job, or why not."""

    spec: SpecState
    problems: tuple[Problem, ...] = ()
    job: JobPlan | None = None
    hardware: Mapping[str, Json] = field(default_factory=dict)
    looks_for: tuple[ObjectQuery, ...] = ()


def plan_request(
    request: GraphRequest, seen: ObservedRequest, previous: PreviousRequestStatus, facts: Facts
) -> RequestPlan:
    """Decide the position of a request and its children."""
    start = _plan_start(request, seen, previous, facts.settings)
    output = find_output(request, seen, previous, facts)
    target = _find_target(request, output, seen, previous)
    live = _find_live(request, target, output, seen=seen, previous=previous)
    job = seen.job.progress if seen.job else JobState.ABSENT
    graph = _graph_state(request, live, seen, previous)
    if graph is GeneratedGraphState.ABSENT and output.unverified and not _accepts(request, facts.settings):
        graph = GeneratedGraphState.UNACCEPTED
    foreign = tuple(find_foreign_namespace(request.metadata.namespace, target.namespace, facts.settings))
    if foreign and graph is GeneratedGraphState.ABSENT and output.state is OutputState.USABLE:
        output = ProfilerOutput(state=OutputState.BROKEN, problems=foreign)
    position = find_position(
        Situation(
            before=previous.resumable_state,
            spec=start.spec,
            job=job,
            output=output.state,
            graph=graph,
            was_degraded=previous.was_degraded,
        )
    )
    creates = position is Position.CREATING and target.uid and not foreign
    config_maps = output.generated.config_maps if output.generated and position in _WITH_CONFIG_MAPS else ()
    return RequestPlan(
        position=position,
        problems=_problems(position, start, output),
        spec_hash=spec_hash(request),
        job=start.job if position is Position.PENDING else None,
        access=plan_access(request, facts.settings) if position in _WITH_ACCESS else None,
        target=target,
        graph=(plan_graph_to_apply(request, output.graph, target) if creates and output.graph else None),
        config_maps=config_maps if target.uid and not foreign else (),
        generated=output.graph,
        live=live,
        remarks=output.generated.remarks if output.generated else (),
        hardware=start.hardware or previous.hardware,
        unverified=output.unverified,
        looks_for=start.looks_for,
    )


def _accepts(request: GraphRequest, settings: Settings) -> bool:
    """Whether a graph may be created that its profiler only guessed."""
    accepted = request.metadata.annotations.get(contract.ANNOTATION_ACCEPT_UNVERIFIED) == "true"
    return accepted or settings.unverified_graphs == "apply"


def _plan_start(
    request: GraphRequest, seen: ObservedRequest, previous: PreviousRequestStatus, settings: Settings
) -> _StartDecision:
    """Whether profiling can begin; not checked again once the Job exists."""
    if seen.job is not None:
        return _StartDecision(spec=SpecState.ACCEPTED)
    if previous.state in FIXED_STATES:
        return _StartDecision(spec=SpecState.ACCEPTED)
    found = check_preconditions(request, seen, settings, previous)
    if found.problems:
        return _StartDecision(spec=SpecState.REFUSED, problems=found.problems, looks_for=found.looks_for)
    if found.is_open:
        return _StartDecision(spec=SpecState.ACCEPTED, looks_for=found.looks_for)
    images = (find_profiler(request, settings).image, settings.hooks_image)
    try:
        job = plan_job(
            request,
            settings,
            hardware=found.hardware,
            pull_secrets=find_pull_secrets(images, seen.registry_secrets),
            spec_hash=spec_hash(request),
        )
    except InvalidSpec as error:
        return _StartDecision(spec=SpecState.UNBUILDABLE, problems=error.problems)
    return _StartDecision(
        spec=SpecState.ACCEPTED, job=job, hardware=found.hardware if job.beta_spec else {}, looks_for=found.looks_for
    )


def _find_target(
    request: GraphRequest, output: ProfilerOutput, seen: ObservedRequest, previous: PreviousRequestStatus
) -> GraphTarget:
    """Namespace and name of the graph; they never change once the graph was observed."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = previous.deployed_namespace or overrides.namespace or request.metadata.namespace
    ours = sorted(key for key, graph in seen.graphs.items() if graph.is_ours and key[0] == namespace)
    generated = output.graph["metadata"]["name"] if output.graph else ""
    name = previous.deployed_name or overrides.name or generated or (ours[0][1] if ours else "")
    return GraphTarget(namespace=namespace, name=name, uid=seen.namespaces.get(namespace, ""))


def _find_live(
    request: GraphRequest,
    target: GraphTarget,
    output: ProfilerOutput,
    *,
    seen: ObservedRequest,
    previous: PreviousRequestStatus,
) -> LiveGraph | None:
    """The observed graph. One that the request did not create counts too, once there is a generated graph to apply.

    So does the one that a Go operator created for it, before it is taken over.

    Source: Dynamo operator, createDGD: AlreadyExists is success.
    """
    found = seen.graphs.get((target.namespace, target.name))
    if found is None or found.is_ours or output.state is OutputState.USABLE:
        return found
    named = (request.metadata.namespace, fit_label_value(request.metadata.name))
    return found if previous.is_deployed and found.request == named else None


def _graph_state(
    request: GraphRequest, live: LiveGraph | None, seen: ObservedRequest, previous: PreviousRequestStatus
) -> GeneratedGraphState:
    if not request.spec.auto_apply:
        return GeneratedGraphState.UNWANTED
    if live is None and not previous.is_deployed:
        return GeneratedGraphState.ABSENT
    if live is None and seen.shows_graphs:
        return GeneratedGraphState.GONE
    # While the graph is not shown, the last reported state counts.
    is_ready = previous.state is RequestState.READY if live is None else live.state == _SUCCESSFUL
    return GeneratedGraphState.READY if is_ready else GeneratedGraphState.PENDING


def _problems(position: Position, start: _StartDecision, output: ProfilerOutput) -> tuple[Problem, ...]:
    if position in {Position.REFUSED, Position.UNBUILDABLE}:
        return start.problems
    return output.problems if position is Position.GENERATION_FAILED else ()
