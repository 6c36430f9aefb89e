"""Every decision about a request: where it stands, and which children that means.

Whoever asks has made sure that the spec is the one that was profiled, where profiling has begun.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.component.pull_secrets import find_pull_secrets
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.graph.request.applied_graph import Target, plan_graph_to_apply
from hooks.graph.request.fingerprint import spec_hash
from hooks.graph.request.job_plan import AccessPlan, JobPlan, plan_access, plan_job
from hooks.graph.request.observe import Observed, ObservedGraph
from hooks.graph.request.output import FoundOutput, find_output
from hooks.graph.request.phases import Graph, Job, Output, Position, Situation, Spec, State, find_position
from hooks.graph.request.preconditions import check_preconditions
from hooks.graph.request.previous import Previous
from hooks.k8s.types import Json, Manifest
from hooks.problems import Problem
from hooks.settings import Settings

_SUCCESSFUL = "successful"
_WITH_ACCESS = frozenset({Position.PENDING, Position.PROFILING, Position.AWAITING_OUTPUT})
_WITH_CONFIG_MAPS = frozenset(
    {Position.GENERATED, Position.CREATING, Position.DEPLOYING, Position.DEGRADED, Position.DEPLOYED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """All decisions about one request.

    `problems` are why it cannot go on, in the words of the position; `job` and `access` are children to be created or
    kept, `graph` the generated one as it is to be created, None where it is not; `generated` is what the status keeps.
    `live` is the graph as observed.
    """

    position: Position
    problems: tuple[Problem, ...]
    spec_hash: str
    job: JobPlan | None
    access: AccessPlan | None
    target: Target
    graph: Manifest | None
    config_maps: tuple[Manifest, ...]
    generated: Mapping[str, Json] | None
    live: ObservedGraph | None
    remarks: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the children are what they are."""
        return (f"{self.position.state.value}: {self.position.value}", *self.remarks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Whether profiling could begin: the Job, or why not."""

    spec: Spec
    problems: tuple[Problem, ...] = ()
    job: JobPlan | None = None


def plan_request(request: GraphRequest, seen: Observed, previous: Previous, facts: Facts) -> RequestPlan:
    """Decide where a request stands and which children it has."""
    start = _plan_start(request, seen, facts.settings)
    output = find_output(request, seen, previous, facts.now)
    target = _find_target(request, output, seen, previous)
    live = _find_live(target, output, seen)
    job = seen.job.progress if seen.job else Job.ABSENT
    graph = _graph_fact(request, live, seen, previous)
    position = find_position(
        Situation(
            before=previous.resumable_state,
            spec=start.spec,
            job=job,
            output=output.fact,
            graph=graph,
            was_degraded=previous.was_degraded,
        )
    )
    creates = position is Position.CREATING and target.uid
    config_maps = output.generated.config_maps if output.generated and position in _WITH_CONFIG_MAPS else ()
    return RequestPlan(
        position=position,
        problems=_problems(position, start, output),
        spec_hash=spec_hash(request),
        job=start.job if position is Position.PENDING else None,
        access=plan_access(request, facts.settings) if position in _WITH_ACCESS else None,
        target=target,
        graph=(plan_graph_to_apply(request, output.graph, target) if creates and output.graph else None),
        config_maps=config_maps if target.uid else (),
        generated=output.graph,
        live=live,
        remarks=output.generated.remarks if output.generated else (),
    )


def _plan_start(request: GraphRequest, seen: Observed, settings: Settings) -> _Start:
    """Whether profiling can begin; once there is a Job, what it was made of may be missing."""
    if seen.job is not None:
        return _Start(spec=Spec.ACCEPTED)
    found = check_preconditions(request, seen, settings)
    if found.problems:
        return _Start(spec=Spec.REFUSED, problems=found.problems)
    images = (request.spec.profiling_config.profiler_image, settings.hooks_image)
    try:
        job = plan_job(
            request,
            settings,
            hardware=found.hardware,
            pull_secrets=find_pull_secrets(images, seen.registry_secrets),
            spec_hash=spec_hash(request),
        )
    except InvalidSpec as error:
        return _Start(spec=Spec.UNBUILDABLE, problems=error.problems)
    return _Start(spec=Spec.ACCEPTED, job=job)


def _find_target(request: GraphRequest, output: FoundOutput, seen: Observed, previous: Previous) -> Target:
    """Where the graph is or would be; what was created once keeps its place."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = previous.deployed_namespace or overrides.namespace or request.metadata.namespace
    ours = sorted(key for key, graph in seen.graphs.items() if graph.is_ours and key[0] == namespace)
    generated = output.graph["metadata"]["name"] if output.graph else ""
    name = previous.deployed_name or overrides.name or generated or (ours[0][1] if ours else "")
    return Target(namespace=namespace, name=name, uid=seen.namespaces.get(namespace, ""))


def _find_live(target: Target, output: FoundOutput, seen: Observed) -> ObservedGraph | None:
    """The graph as observed; one that somebody else made under the name counts too, once there is one to apply.

    Source: Dynamo operator, createDGD: AlreadyExists is success.
    """
    found = seen.graphs.get((target.namespace, target.name))
    return found if found is not None and (found.is_ours or output.fact is Output.USABLE) else None


def _graph_fact(request: GraphRequest, live: ObservedGraph | None, seen: Observed, previous: Previous) -> Graph:
    if not request.spec.auto_apply:
        return Graph.UNWANTED
    if live is None and not previous.is_deployed:
        return Graph.ABSENT
    if live is None and seen.shows_graphs:
        return Graph.GONE
    # While the graph is not shown, or its hook has not looked at a new spec, what was known before holds.
    state = live.state if live else ""
    is_ready = state == _SUCCESSFUL or (not state and previous.state is State.READY)
    return Graph.READY if is_ready else Graph.PENDING


def _problems(position: Position, start: _Start, output: FoundOutput) -> tuple[Problem, ...]:
    if position in {Position.REFUSED, Position.UNBUILDABLE}:
        return start.problems
    return output.problems if position is Position.GENERATION_FAILED else ()
