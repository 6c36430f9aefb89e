"""The output of a request's profiler, and whether it holds a graph that can be created."""

from dataclasses import dataclass
from datetime import timedelta

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.names import MAX_LABEL, fit_name
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import SPEC, Problem
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.language.rules import profiling as rules
from hooks.request.plan.finished_graph import finish_graph
from hooks.request.seen.generated_graph import GENERATED, GeneratedObjects, check_graph, read_output, refuse_graph
from hooks.request.seen.observe import ObservedConfigMap, ObservedRequest
from hooks.request.seen.previous import PreviousRequestStatus
from hooks.request.seen.profiler_report import is_progress, read_unverified
from hooks.request.spec.names import output_config_map_name
from hooks.request.spec.phases import JobState, OutputState
from hooks.request.spec.profilers import find_profiler, output_file

_GRACE = timedelta(minutes=2)
"""Longest delay between the end of the Job and the observation of the ConfigMap that it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerOutput:
    """The profiler's output; `problems` say why no graph can be created from it.

    `unverified` says why the graph is only a guess, empty if it is none.
    """

    state: OutputState
    graph: Manifest | None = None
    generated: GeneratedObjects | None = None
    problems: tuple[Problem, ...] = ()
    unverified: str = ""


def find_output(
    request: GraphRequest, seen: ObservedRequest, previous: PreviousRequestStatus, facts: Facts
) -> ProfilerOutput:
    """Find the profiler's output; if the status already has a graph, that graph stays."""
    metadata, now = request.metadata, facts.now
    name = output_config_map_name(metadata.name)
    config_map = seen.config_maps.get((metadata.namespace, name))
    if seen.job is not None and seen.job.progress in {JobState.RUNNING, JobState.FAILED} and not previous.generated:
        return ProfilerOutput(state=OutputState.ABSENT)
    unverified = read_unverified(config_map.data) if config_map else ""
    if config_map is None or is_progress(config_map.data) or not _is_written_for(config_map, metadata.uid, seen):
        if previous.generated:
            return _keep(previous)
        is_late = seen.job is not None and seen.job.ended is not None and now - seen.job.ended >= _GRACE
        missing = rules.OUTPUT.at(GENERATED, name=name)
        return ProfilerOutput(state=OutputState.OVERDUE if is_late else OutputState.ABSENT, problems=(missing,))
    try:
        generated = _generate(request, config_map, facts.settings)
        if not previous.generated:
            _check_generated(request, generated)
    except InvalidSpec as error:
        if previous.generated:
            return _keep(previous)
        return ProfilerOutput(state=OutputState.BROKEN, problems=error.problems)
    graph = dict(previous.generated) if previous.generated else generated.graph
    return ProfilerOutput(state=OutputState.USABLE, graph=graph, generated=generated, unverified=unverified)


def _keep(previous: PreviousRequestStatus) -> ProfilerOutput:
    """What the status has, because the profiler's own output is gone, or is another one now."""
    graph = dict(previous.generated or {})
    return ProfilerOutput(state=OutputState.USABLE, graph=graph, unverified=previous.unverified)


def _is_written_for(config_map: ObservedConfigMap, uid: str, seen: ObservedRequest) -> bool:
    """Whether this request's profiler wrote the output, and not that of an earlier request of the same name.

    An output without a request's uid counts once the Job is complete, because the Job writes its output before it ends.
    """
    if config_map.request_uid:
        return config_map.request_uid == uid
    return seen.job is not None and seen.job.progress is JobState.COMPLETE


def _generate(request: GraphRequest, config_map: ObservedConfigMap, settings: Settings) -> GeneratedObjects:
    profiler = find_profiler(request, settings)
    key = output_file(request, profiler)
    if key not in config_map.data:
        raise InvalidSpec(rules.OUTPUT_KEY.at(GENERATED, key=key, name=config_map.name))
    try:
        found = read_output(config_map.data[key], fit_name(request.metadata.name, MAX_LABEL))
    except SyntaxError as error:
        line = error.lineno or 1
        problem = rules.OUTPUT_YAML.at(GENERATED, key=key, name=config_map.name, line=line, why=error.msg)
        raise InvalidSpec(problem) from error
    return finish_graph(request, found) if profiler.reads_beta else found


def _check_generated(request: GraphRequest, generated: GeneratedObjects) -> None:
    """Refuse a graph that cannot be created under its own name, or under the name that the user wants."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = overrides.namespace or request.metadata.namespace
    if problems := check_graph(generated.graph, namespace, overrides.workers_image, written=generated.written):
        raise InvalidSpec(refuse_graph(problems))
    if overrides.name and overrides.name != generated.graph["metadata"]["name"]:
        renamed = {**generated.graph, "metadata": {**generated.graph["metadata"], "name": overrides.name}}
        if problems := check_graph(renamed, namespace, overrides.workers_image, written=generated.written):
            path = SPEC / "deploymentOverrides.name"
            raise InvalidSpec(rules.RENAMED_GRAPH.at(path, name=overrides.name, problem=found) for found in problems)
