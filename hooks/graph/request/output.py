"""What the profiler left behind, and whether a graph can be made of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hooks import contract
from hooks.api.graph_request import DeploymentOverrides, GraphRequest
from hooks.errors import InvalidSpec
from hooks.graph.request.generated_graph import Generated, check_graph, read_output
from hooks.graph.request.observe import Observed, ObservedConfigMap
from hooks.graph.request.phases import Job, Output
from hooks.graph.request.previous import Previous
from hooks.graph.request.profiling_job import output_config_map_name
from hooks.k8s.names import MAX_LABEL, fit_name
from hooks.k8s.types import Manifest
from hooks.problems import join_texts

_GRACE = timedelta(minutes=2)
"""How long the output ConfigMap may be seen later than the end of the Job that wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOutput:
    """What became of the profiler's output; `fault` is why nothing can be made of it."""

    fact: Output
    graph: Manifest | None = None
    generated: Generated | None = None
    fault: str = ""


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
        missing = f"output ConfigMap {name} not found - profiling may not have completed yet"
        return FoundOutput(fact=Output.OVERDUE if is_late else Output.ABSENT, fault=missing)
    try:
        generated = _generate(request, config_map)
        if not previous.generated:
            _check_generated(request, generated)
    except InvalidSpec as error:
        if previous.generated:
            return FoundOutput(fact=Output.USABLE, graph=dict(previous.generated))
        return FoundOutput(fact=Output.BROKEN, fault=join_texts(error.problems))
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
        raise InvalidSpec(f"key {key} not found in ConfigMap {config_map.name}")
    return read_output(config_map.data[key], fit_name(request.metadata.name, MAX_LABEL))


def _check_generated(request: GraphRequest, generated: Generated) -> None:
    """Refuse a graph that could not be created, under its own name and under the user's."""
    overrides = request.spec.deployment_overrides or DeploymentOverrides()
    namespace = overrides.namespace or request.metadata.namespace
    if problems := check_graph(generated.graph, namespace, overrides.workers_image):
        raise InvalidSpec(tuple(f"the generated graph is refused: {problem}" for problem in problems))
    if overrides.name and overrides.name != generated.graph["metadata"]["name"]:
        renamed = {**generated.graph, "metadata": {**generated.graph["metadata"], "name": overrides.name}}
        if problems := check_graph(renamed, namespace, overrides.workers_image):
            raise InvalidSpec(tuple(f"the graph cannot be named {overrides.name}: {problem}" for problem in problems))
