"""A graph's plan on what is observed, the children that it becomes, and the generation that its workers get.

What one sync decides the next one needs again, mostly from equal inputs. So the valid spec, the plan with its children,
and what the workers' generation follows from are remembered by all that they depend on.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from hooks.component.spec.beta_fields import find_frontend_containers
from hooks.graph.build import build_children
from hooks.graph.change.new_defaults import mark_workloads
from hooks.graph.grove.generation import find_changed_services, is_set_unchanged, plan_set_generation
from hooks.graph.plan.graph import GraphPlan, plan_graph
from hooks.graph.plan.path import takes_grove
from hooks.graph.rules.validate import validate_graph
from hooks.graph.seen.live_path import GraphPath
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.spec.namespace_prefix import TAKEN, decide_prefix
from hooks.graph.workers.changes import find_changed_pods
from hooks.graph.workers.generation import Generation, WorkerSpecs, plan_generation, read_worker_specs
from hooks.graph.workers.live_components import find_added, find_live, find_trusted, find_workers
from hooks.graph.workers.sight import Sight, judge_sight
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
)
from hooks.ground.settings import Settings
from hooks.language.api.graph import GraphDeployment
from hooks.language.validation.reading import validate_parent
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.parent_key import read_parent_key
from hooks.wire.metacontroller.plan_cache import cached_by_parent
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.new_defaults import takes_new_defaults


@cached_by_parent()
def read_valid(
    parent_key: bytes, installed: frozenset[GroupVersionKind], live_path: GraphPath | None, known_set: str
) -> tuple[GraphDeployment, Mapping[str, Mapping[str, Json]]]:
    """The graph, and each service's spec as the user wrote it, without nulls and floats.

    Raises:
        InvalidSpec: a rule refuses the spec.
    """
    parent = read_parent_key(parent_key)
    graph, problems = validate_parent(
        GraphDeployment,
        parent,
        partial(validate_graph, installed=installed, live_path=live_path, known_set=known_set),
    )
    if problems:
        raise InvalidSpec(problems)
    return graph, clean_json(parent["spec"].get("services") or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphGrounds:
    """All inputs of a graph's plan. It is the key of the plan's cache, so `plan_on` receives nothing else.

    Two are equal if all their fields are equal. The hash is that of one field, because maps have no hash.
    """

    parent_key: bytes
    seen: ObservedGraph
    restarts: Mapping[str, str]
    generation: Generation
    settings: Settings

    def __hash__(self) -> int:
        return hash(self.parent_key)


@cached_by_parent()
def plan_on(grounds: GraphGrounds) -> tuple[GraphPlan, Children]:
    """The plan and its children, built once."""
    seen = grounds.seen
    graph, services = read_valid(grounds.parent_key, seen.installed, seen.live_path, seen.grove.set_name)
    plan = plan_graph(graph, services, seen, grounds.settings, restarts=grounds.restarts, generation=grounds.generation)
    parent = read_parent_key(grounds.parent_key)
    return plan, Children(mark_workloads(plan, build_children(plan), parent, grounds.restarts))


@cached_by_parent()
def _judge_sight(grounds: GraphGrounds, trusted: frozenset[str]) -> Sight:
    seen = grounds.seen
    graph, services = read_valid(grounds.parent_key, seen.installed, seen.live_path, seen.grove.set_name)
    frontends = find_frontend_containers(graph.metadata.annotations, services)
    takes_bare = decide_prefix(graph, seen.prefix, grounds.settings) == TAKEN
    return judge_sight(graph, frontends, takes_bare=takes_bare, trusted=trusted)


@cached_by_parent()
def _read_specs(parent_key: bytes, workers: tuple[str, ...]) -> WorkerSpecs:
    return read_worker_specs(read_parent_key(parent_key), workers)


def decide_generation(
    request: SyncRequest, graph: GraphDeployment, seen: ObservedGraph, grounds: GraphGrounds
) -> Generation:
    """The generation of the workers, on the path that the graph takes."""
    specs = _read_specs(grounds.parent_key, find_workers(graph))
    takes_defaults = takes_new_defaults(request.parent, grounds.settings)
    if not takes_grove(graph.metadata.annotations, seen.installed, seen.live_path):
        sight, live = _judge_sight(grounds, find_trusted(graph, seen)), find_live(graph, seen)
        added = find_added(graph, seen, request.status.get("services") or ())

        def find_changed(generation: Generation) -> Collection[str]:
            _, children = plan_on(replace(grounds, generation=generation))
            return find_changed_pods(children, live, grounds.settings) | added

        return plan_generation(graph, specs, seen, sight, takes_defaults=takes_defaults, changes=find_changed)

    def find_changes(suffix: str) -> Collection[str]:
        if is_set_unchanged(specs.graph, seen):
            return ()
        _, children = plan_on(replace(grounds, generation=Generation(suffix=suffix)))
        return find_changed_services(children, seen)

    sight = _judge_sight(grounds, frozenset())
    return plan_set_generation(
        graph, seen, sight, wanted=specs.suffix, takes_defaults=takes_defaults, changes=find_changes
    )
