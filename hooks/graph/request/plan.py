"""Every decision about a request: where it stands, and which children that means.

The spec counts until profiling begins. From then on the request stays what was profiled; `is_edited` says when the
spec has become another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks import contract
from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.component.subject import ComponentType
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.graph.request.generated_graph import Generated, check_graph, read_output
from hooks.graph.request.observe import Observed, ObservedConfigMap, ObservedGraph
from hooks.graph.request.phases import Graph, Job, Output, Position, Situation, Spec, State, find_position
from hooks.graph.request.preconditions import check_preconditions
from hooks.graph.request.previous import Previous
from hooks.graph.request.profiling_job import (
    JobPlan,
    build_profiling_access,
    build_profiling_job,
    output_config_map_name,
)
from hooks.k8s.hashing import canonical_json, short_hash
from hooks.k8s.names import MAX_LABEL, fit_label_value, fit_name
from hooks.k8s.types import Json, Manifest
from hooks.settings import Settings

_SUCCESSFUL = "successful"
_OUTPUT_GRACE = timedelta(minutes=2)
"""How long the output ConfigMap may be seen later than the end of the Job that wrote it."""

_WITH_ACCESS = frozenset({Position.PENDING, Position.PROFILING, Position.AWAITING_OUTPUT})
_WITH_CONFIG_MAPS = frozenset(
    {Position.GENERATED, Position.CREATING, Position.DEPLOYING, Position.DEGRADED, Position.DEPLOYED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The graph as it is to be created: where, called what. `uid` is the namespace's, empty where there is none."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPlan:
    """All decisions about one request.

    `problems` are why it cannot go on, in the words of the position; `job` and `access` are children to be created or
    kept, `graph` the generated one as it is to be created, None where it is not; `generated` is what the status keeps.
    `live` is the graph as observed.
    """

    position: Position
    problems: tuple[str, ...]
    spec_hash: str
    job: Manifest | None
    access: tuple[Manifest, ...]
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
class _Output:
    """What became of the profiler's output; `fault` is why nothing can be made of it."""

    fact: Output
    graph: Manifest | None = None
    generated: Generated | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """Whether profiling could begin: its children, or why not."""

    spec: Spec
    problems: tuple[str, ...]
    job: Manifest | None = None
    access: tuple[Manifest, ...] = ()


def plan_request(request: GraphRequest, seen: Observed, previous: Previous, facts: Facts) -> RequestPlan:
    """Decide where a request stands and which children it has."""
    start = _plan_start(request, seen, facts.settings)
    output = _read_output(request, seen, previous, facts.now)
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
        access=start.access if position in _WITH_ACCESS else (),
        target=target,
        graph=_deployed(request, output.graph, target, facts.settings) if creates and output.graph else None,
        config_maps=config_maps if target.uid else (),
        generated=output.graph,
        live=live,
        remarks=output.generated.remarks if output.generated else (),
    )


def spec_hash(request: GraphRequest) -> str:
    """A fingerprint of what the spec says; a field with its default's value is as good as one left out."""
    said = request.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return short_hash(canonical_json(said), 16)


def is_edited(request: GraphRequest, seen: Observed, previous: Previous) -> bool:
    """Whether the spec is another one than that which is, or was, profiled."""
    profiled = (seen.job.spec_hash if seen.job else "") or previous.spec_hash
    return bool(profiled) and profiled != spec_hash(request)


def _plan_start(request: GraphRequest, seen: Observed, settings: Settings) -> _Start:
    found = check_preconditions(request, seen, settings)
    if found.problems:
        return _Start(spec=Spec.REFUSED, problems=found.problems)
    plan = JobPlan(request=request, uid=request.metadata.uid, hardware=found.hardware, settings=settings)
    try:
        job, access = build_profiling_job(plan), tuple(build_profiling_access(plan))
    except InvalidSpec as error:
        return _Start(spec=Spec.UNBUILDABLE, problems=error.problems)
    return _Start(spec=Spec.ACCEPTED, problems=(), job=job, access=access)


def _read_output(request: GraphRequest, seen: Observed, previous: Previous, now: datetime) -> _Output:
    """What the profiler left behind, as far as it counts; a graph that the status has already is never read anew."""
    metadata = request.metadata
    name = output_config_map_name(metadata.name)
    config_map = seen.config_maps.get((metadata.namespace, name))
    if seen.job is not None and seen.job.progress in {Job.RUNNING, Job.FAILED} and not previous.generated:
        return _Output(fact=Output.ABSENT)
    if config_map is None or not _is_of(config_map, metadata.uid, seen):
        if previous.generated:
            return _Output(fact=Output.USABLE, graph=dict(previous.generated))
        is_late = seen.job is not None and seen.job.since is not None and now - seen.job.since >= _OUTPUT_GRACE
        missing = f"output ConfigMap {name} not found - profiling may not have completed yet"
        return _Output(fact=Output.OVERDUE if is_late else Output.ABSENT, fault=missing)
    try:
        generated = _generate(request, config_map)
        if not previous.generated:
            _check_generated(request, generated)
    except InvalidSpec as error:
        if previous.generated:
            return _Output(fact=Output.USABLE, graph=dict(previous.generated))
        return _Output(fact=Output.BROKEN, fault="; ".join(error.problems))
    graph = dict(previous.generated) if previous.generated else generated.graph
    return _Output(fact=Output.USABLE, graph=graph, generated=generated)


def _is_of(config_map: ObservedConfigMap, uid: str, seen: Observed) -> bool:
    """Whether the output is of this request, and not of one of the same name before it.

    One that does not tell counts once the Job is done, which it is only after it wrote the output.
    """
    if config_map.request_uid:
        return config_map.request_uid == uid
    return seen.job is not None and seen.job.progress is Job.COMPLETE


def _generate(request: GraphRequest, config_map: ObservedConfigMap) -> Generated:
    key = contract.PROFILER_MOCKER_OUTPUT if request.spec.use_mocker else contract.PROFILER_OUTPUT
    if key not in config_map.data:
        raise InvalidSpec(f"key {key} not found in ConfigMap {config_map.name}")
    return read_output(config_map.data[key], fit_name(request.metadata.name, MAX_LABEL))


def _check_generated(request: GraphRequest, generated: Generated) -> None:
    """Refuse a graph that could not be created, under its own name and under the user's."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = overrides.namespace or request.metadata.namespace
    if problems := check_graph(generated.graph, namespace):
        raise InvalidSpec(tuple(f"the generated graph is refused: {problem}" for problem in problems))
    if overrides.name and overrides.name != generated.graph["metadata"]["name"]:
        renamed = {**generated.graph, "metadata": {**generated.graph["metadata"], "name": overrides.name}}
        if problems := check_graph(renamed, namespace):
            raise InvalidSpec(tuple(f"the graph cannot be named {overrides.name}: {problem}" for problem in problems))


def _find_target(request: GraphRequest, output: _Output, seen: Observed, previous: Previous) -> Target:
    """Where the graph is or would be; what was created once keeps its place."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = previous.deployed_namespace or overrides.namespace or request.metadata.namespace
    ours = sorted(key for key, graph in seen.graphs.items() if graph.is_ours and key[0] == namespace)
    generated = output.graph["metadata"]["name"] if output.graph else ""
    name = previous.deployed_name or overrides.name or generated or (ours[0][1] if ours else "")
    return Target(namespace=namespace, name=name, uid=seen.namespaces.get(namespace, ""))


def _find_live(target: Target, output: _Output, seen: Observed) -> ObservedGraph | None:
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


def _problems(position: Position, start: _Start, output: _Output) -> tuple[str, ...]:
    if position in {Position.REFUSED, Position.UNBUILDABLE}:
        return start.problems
    return (output.fault,) if position is Position.GENERATION_FAILED else ()


def _deployed(request: GraphRequest, generated: Manifest, target: Target, settings: Settings) -> Manifest:
    """The graph as it is created: what was generated, the request's labels, and over all the user's overrides.

    Source: Dynamo operator, createDGD.
    """
    overrides, metadata = request.spec.deployment_overrides or DeploymentOverrides(), generated["metadata"]
    own = {
        contract.LABEL_REQUEST_NAME: fit_label_value(request.metadata.name),
        contract.LABEL_REQUEST_NAMESPACE: request.metadata.namespace,
        contract.LABEL_MANAGED_BY: contract.MANAGER,
        **({contract.LABEL_INSTALLATION: settings.installation} if settings.installation else {}),
    }
    labels = {**metadata.get("labels", {}), **own, **overrides.labels}
    annotations = {**metadata.get("annotations", {}), **overrides.annotations}
    described = {
        "name": target.name,
        "namespace": target.namespace,
        "labels": {key: labels[key] for key in sorted(labels) if key != contract.LABEL_CONTROLLER_UID},
        **({"annotations": dict(sorted(annotations.items()))} if annotations else {}),
    }
    spec = _with_image(generated["spec"], overrides.workers_image)
    return {**generated, "metadata": described, "spec": spec}


def _with_image(spec: Mapping[str, Json], image: str) -> Mapping[str, Json]:
    """The spec with the user's image for all workers; the profiler had it already, but need not have kept it."""
    if not image:
        return spec
    services = spec.get("services") or {}
    return {**spec, "services": {name: _service_with_image(found, image) for name, found in services.items()}}


def _service_with_image(service: Mapping[str, Json], image: str) -> Mapping[str, Json]:
    if not ComponentType.of(service.get("componentType", "")).is_worker:
        return service
    pod = service.get("extraPodSpec") or {}
    container = {**(pod.get("mainContainer") or {}), "image": image}
    return {**service, "extraPodSpec": {**pod, "mainContainer": container}}
