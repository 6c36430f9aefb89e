"""The output of a request's profiler, and whether it holds a graph that can be created."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks import contract
from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.errors import InvalidSpec
from hooks.graph.request.generated_graph import GENERATED, GeneratedObjects, check_graph, read_output, refuse_graph
from hooks.graph.request.names import output_config_map_name
from hooks.graph.request.observe import ObservedConfigMap, ObservedRequest
from hooks.graph.request.phases import JobState, OutputState
from hooks.graph.request.previous import PreviousRequestStatus
from hooks.k8s.names import MAX_LABEL, fit_name
from hooks.k8s.types import Manifest
from hooks.problems import SPEC, Problem
from hooks.rules import profiling as rules

_GRACE = timedelta(minutes=2)
"""Longest delay between the end of the Job and the observation of the ConfigMap that it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerOutput:
    """The profiler's output; `problems` say why no graph can be created from it."""

    state: OutputState
    graph: Manifest | None = None
    generated: GeneratedObjects | None = None
    problems: tuple[Problem, ...] = ()


def find_output(
    request: GraphRequest, seen: ObservedRequest, previous: PreviousRequestStatus, now: datetime
) -> ProfilerOutput:
    """Find the profiler's output; if the status already has a graph, that graph stays."""
    metadata = request.metadata
    name = output_config_map_name(metadata.name)
    config_map = seen.config_maps.get((metadata.namespace, name))
    if seen.job is not None and seen.job.progress in {JobState.RUNNING, JobState.FAILED} and not previous.generated:
        return ProfilerOutput(state=OutputState.ABSENT)
    if config_map is None or not _is_written_for(config_map, metadata.uid, seen):
        if previous.generated:
            return ProfilerOutput(state=OutputState.USABLE, graph=dict(previous.generated))
        is_late = seen.job is not None and seen.job.ended is not None and now - seen.job.ended >= _GRACE
        missing = rules.OUTPUT.at(GENERATED, name=name)
        return ProfilerOutput(state=OutputState.OVERDUE if is_late else OutputState.ABSENT, problems=(missing,))
    try:
        generated = _generate(request, config_map)
        if not previous.generated:
            _check_generated(request, generated)
    except InvalidSpec as error:
        if previous.generated:
            return ProfilerOutput(state=OutputState.USABLE, graph=dict(previous.generated))
        return ProfilerOutput(state=OutputState.BROKEN, problems=error.problems)
    graph = dict(previous.generated) if previous.generated else generated.graph
    return ProfilerOutput(state=OutputState.USABLE, graph=graph, generated=generated)


def _is_written_for(config_map: ObservedConfigMap, uid: str, seen: ObservedRequest) -> bool:
    """Whether this request's profiler wrote the output, and not that of an earlier request of the same name.

    An output without a request's uid counts once the Job is complete, because the Job writes its output before it ends.
    """
    if config_map.request_uid:
        return config_map.request_uid == uid
    return seen.job is not None and seen.job.progress is JobState.COMPLETE


def _generate(request: GraphRequest, config_map: ObservedConfigMap) -> GeneratedObjects:
    key = contract.PROFILER_MOCKER_OUTPUT if request.spec.use_mocker else contract.PROFILER_OUTPUT
    if key not in config_map.data:
        raise InvalidSpec(rules.OUTPUT_KEY.at(GENERATED, key=key, name=config_map.name))
    try:
        return read_output(config_map.data[key], fit_name(request.metadata.name, MAX_LABEL))
    except SyntaxError as error:
        line = error.lineno or 1
        problem = rules.OUTPUT_YAML.at(GENERATED, key=key, name=config_map.name, line=line, why=error.msg)
        raise InvalidSpec(problem) from error


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
