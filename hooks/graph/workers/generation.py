"""Which generation the workers of a graph have in an answer, and which services wait for others meanwhile.

All workers of a graph have the same one, which follows from their specs, so that workers of two specs never share a
Dynamo namespace. It changes only with a worker's spec: workers that run without one, or with one that a Go operator
chose, keep that until then. Where a frontend would not see the workers, they have none.

Nothing is remembered: the present generation is in the labels of live workers, and the mark of a component says whether
its spec has changed. `phases` has the tables that decide.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from hooks.graph.seen.observe import ChildComponent, ObservedGraph
from hooks.graph.workers.live_components import (
    find_live,
    find_seekers,
    find_workers,
    has_left_pods,
    has_prefix,
    is_announced,
    is_of_mark,
    sees_now,
    versions_of,
)
from hooks.graph.workers.phases import Choice, Fact, LiveWorkers, RolloutStep, find_choice, find_step
from hooks.graph.workers.sight import Sight
from hooks.ground.k8s.types import ReadManifest
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy.rendering_mark import digest_workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The generation of a graph's workers.

    `suffix` is that of all workers in this answer, empty for none. `announced` are the services whose components say
    that their frontends have the prefix. `waiting` are by service why its component stays as it was last applied.
    `remark` is a sentence for the user.
    """

    suffix: str = ""
    announced: frozenset[str] = frozenset()
    waiting: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


NONE = Generation()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpecs:
    """A graph as it is written, and the suffix that follows from the specs of its workers."""

    graph: ReadManifest
    suffix: str


def read_worker_specs(graph: ReadManifest, workers: Collection[str]) -> WorkerSpecs:
    """The specs of a graph with these workers."""
    return WorkerSpecs(graph=graph, suffix=digest_workers(graph, workers))


def plan_generation(
    graph: GraphDeployment,
    specs: WorkerSpecs,
    seen: ObservedGraph,
    sight: Sight,
    *,
    takes_defaults: bool,
    changes: Callable[[Generation], Collection[str]],
) -> Generation:
    """Decide for a graph of components; `takes_defaults`: new defaults are let in now.

    `changes` are the services whose pods their spec changes with that generation, beside a restart, or which are new.
    """
    live, services = find_live(graph, seen), find_workers(graph)
    workers = {name: one for name, one in live.items() if name in services}
    told = {name for name, one in live.items() if is_announced(one)}
    known = {name for name in told if None not in versions_of(graph.spec.services[name])}
    present = min((one.suffix for one in workers.values()), default="")

    def is_edited(name: str) -> bool:
        return name not in live or not is_of_mark(live[name], specs.graph, name)

    announced = frozenset(
        (known - workers.keys()) | {name for name in sight.trusted if name in told or is_edited(name)}
    )

    def are_unchanged(names: Collection[str]) -> bool:
        # Pods of a service that was not edited differ only by who rendered them.
        edited = set(filter(is_edited, names))
        return not edited or edited.isdisjoint(changes(Generation(suffix=present, announced=announced)))

    suffix = choose_suffix(
        specs.suffix,
        {name: one.suffix for name, one in workers.items() if name not in sight.hand_set},
        sight,
        takes_defaults=takes_defaults,
        is_unchanged=lambda: are_unchanged(services),
        sees_as_before=lambda: are_unchanged(live.keys() - workers),
    )
    return _take_step(Generation(suffix=suffix, announced=announced, remark=sight.explain()), graph, live, sight)


def choose_suffix(
    wanted: str,
    live: Mapping[str, str],
    sight: Sight,
    *,
    takes_defaults: bool,
    is_unchanged: Callable[[], bool],
    sees_as_before: Callable[[], bool],
) -> str:
    """The suffix for all workers; `live` has by service what its live workers have, `wanted` is that of the specs."""
    present = set(live.values())
    facts: Mapping[Fact, Callable[[], bool]] = {
        Fact.HIDDEN: lambda: bool(sight.obstacle),
        Fact.AT_SPECS: lambda: wanted in present,
        Fact.NEW_DEFAULTS: lambda: takes_defaults,
        Fact.UNCHANGED: is_unchanged,
        Fact.SEEN_AS_BEFORE: sees_as_before,
    }
    match find_choice(_classify(present), lambda fact: facts[fact]()):
        case Choice.OF_SPECS:
            return wanted
        case Choice.AS_THEY_ARE:
            return min(present)
        case Choice.NONE:
            return ""
        case other:
            assert_never(other)


def _classify(suffixes: Collection[str]) -> LiveWorkers:
    """What live workers with these suffixes, each once, have together."""
    if not suffixes:
        return LiveWorkers.NOBODY
    if len(suffixes) > 1:
        return LiveWorkers.MIXED
    return LiveWorkers.SAME if any(suffixes) else LiveWorkers.WITHOUT


def _take_step(
    chosen: Generation, graph: GraphDeployment, live: Mapping[str, ChildComponent], sight: Sight
) -> Generation:
    """The chosen generation as it is written now: the services that wait for others stay as they were last applied."""
    workers = {name: live[name] for name in find_workers(graph) if name in live}
    is_first = bool(chosen.suffix) and not all(one.suffix for one in workers.values())
    blind = sorted(name for name in find_seekers(graph, live) if not sees_now(live[name])) if is_first else []
    left = [] if chosen.suffix else _find_left(graph, workers, sight)
    facts = (
        (Fact.GENERATION, bool(chosen.suffix)),
        (Fact.FIRST, is_first),
        (Fact.BLIND, bool(blind)),
        (Fact.SERVING, any(one.has_ready_pods for one in workers.values())),
        (Fact.LEFT, bool(left)),
    )
    unready = frozenset(name for name in blind if not has_prefix(live[name]))
    first = replace(chosen, announced=chosen.announced | unready, remark="")
    as_they_are = min((one.suffix for one in workers.values()), default="")
    match find_step({fact for fact, is_so in facts if is_so}.__contains__):
        case RolloutStep.ALL:
            return chosen
        case RolloutStep.AT_ONCE:
            return first
        case RolloutStep.PREFIX_FIRST:
            return replace(first, suffix=as_they_are)
        case RolloutStep.FRONTENDS_FIRST:
            why = f"it waits until all pods of {', '.join(blind)} see the workers of the next generation"
            return replace(first, suffix=as_they_are, waiting=dict.fromkeys(workers, why))
        case RolloutStep.WORKERS_FIRST:
            why = f"it waits, because it will not see the workers of a generation, which {', '.join(left)} still has"
            staying = [name for name in sorted(sight.blind - workers.keys()) if name in live]
            return replace(chosen, waiting=dict.fromkeys(staying, why))
        case step:
            assert_never(step)


def _find_left(graph: GraphDeployment, workers: Mapping[str, ChildComponent], sight: Sight) -> list[str]:
    """The workers that still have a generation, or pods of one."""
    return sorted(
        name
        for name, one in workers.items()
        if (one.suffix and name not in sight.hand_set) or has_left_pods(one, graph, name)
    )
