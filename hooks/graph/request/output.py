"""What the profiler left behind, and whether a graph can be made of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks import contract
from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.errors import InvalidSpec
from hooks.graph.request.generated_graph import GENERATED, Generated, check_graph, read_output, refuse_graph
from hooks.graph.request.names import output_config_map_name
from hooks.graph.request.observe import Observed, ObservedConfigMap
from hooks.graph.request.phases import Job, Output
from hooks.graph.request.previous import Previous
from hooks.k8s.names import MAX_LABEL, fit_name
from hooks.k8s.types import Manifest
from hooks.problems import SPEC, Problem
from hooks.validation.rules import profiling as rules

_GRACE = timedelta(minutes=2)
"""How long the output ConfigMap may be seen later than the end of the Job that wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOutput:
    """What became of the profiler's output; `problems` are why no graph can be made of it."""

    fact: Output
    graph: Manifest | None = None
    generated: Generated | None = None
    problems: tuple[Problem, ...] = ()


def find_output(request: GraphRequest, seen: Observed, previous: Previous, now: datetime) -> FoundOutput:
    """What the profiler left behind, as far as it counts; a graph that the status has already is never read anew."""
    metadata = request.metadata
    name = output_config_map_name(metadata.name)
    config_map = seen.config_maps.get((metadata.namespace, name))
    if seen.job is not None and seen.job.progress in {Job.RUNNING, Job.FAILED} and not previous.generated:
        return FoundOutput(fact=Output.ABSENT)
    if config_map is None or not _is_of(config_map, metadata.uid, seen):
        if previous.generated:
            return FoundOutput(fact=Output.USABLE, graph=dict(previous.generated))
        is_late = seen.job is not None and seen.job.since is not None and now - seen.job.since >= _GRACE
        missing = rules.OUTPUT.at(GENERATED, name=name)
        return FoundOutput(fact=Output.OVERDUE if is_late else Output.ABSENT, problems=(missing,))
    try:
        generated = _generate(request, config_map)
        if not previous.generated:
            _check_generated(request, generated)
    except InvalidSpec as error:
        if previous.generated:
            return FoundOutput(fact=Output.USABLE, graph=dict(previous.generated))
        return FoundOutput(fact=Output.BROKEN, problems=error.problems)
    graph = dict(previous.generated) if previous.generated else generated.graph
    return FoundOutput(fact=Output.USABLE, graph=graph, generated=generated)


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
        raise InvalidSpec(rules.OUTPUT_KEY.at(GENERATED, key=key, name=config_map.name))
    return read_output(config_map.data[key], fit_name(request.metadata.name, MAX_LABEL))


def _check_generated(request: GraphRequest, generated: Generated) -> None:
    """Refuse a graph that could not be created, under its own name and under the user's."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = overrides.namespace or request.metadata.namespace
    if problems := check_graph(generated.graph, namespace, overrides.workers_image):
        raise InvalidSpec(refuse_graph(problems))
    if overrides.name and overrides.name != generated.graph["metadata"]["name"]:
        renamed = {**generated.graph, "metadata": {**generated.graph["metadata"], "name": overrides.name}}
        if problems := check_graph(renamed, namespace, overrides.workers_image):
            path = SPEC / "deploymentOverrides.name"
            raise InvalidSpec(rules.RENAMED_GRAPH.at(path, name=overrides.name, problem=found) for found in problems)
