"""Worker components that a Go operator from 1.0 on named by their generation: `<graph>-<service>-<8 hex digits>`.

The hooks make no such names. A component that has one keeps it while it lives, because another name would be a second
workload beside the first. Of several generations, the newest that has a component of every such service is current; if
none has, a service has the oldest of its own. The others end once the workers of the current one are ready.

Source: Dynamo operator 1.5, internal/controller/dgd_worker_rollout_reconciler.go.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hooks.ground.k8s.types import ReadManifest, name_of
from hooks.wire.policy.identity import component_name

_GENERATION = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generations:
    """The components of services with generations.

    `current` is by service the name of its component, if that has a generation in it. `ending` are by service the names
    of its other components, the newest first. `is_behind`: some of those are younger than the current ones.
    """

    current: Mapping[str, str] = field(default_factory=dict)
    ending: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_behind: bool = False

    @property
    def all_ending(self) -> frozenset[str]:
        """The names of all components that end."""
        return frozenset(name for names in self.ending.values() for name in names)


NONE = Generations()


def generation_of(component: str, graph: str, service: str) -> str:
    """The eight hex digits in the name of a service's component; empty if its name has none."""
    digits = component.removeprefix(f"{component_name(graph, service)}-")
    return digits if digits != component and _GENERATION.fullmatch(digits) else ""


def find_generations(parent: ReadManifest, components: Iterable[ReadManifest]) -> Generations:
    """Sort the live components of a graph by their generations; its spec may be invalid."""
    graph, spec = name_of(parent), parent.get("spec")
    services = spec.get("services") if isinstance(spec, dict) else None
    named = {component_name(graph, service): service for service in (services if isinstance(services, dict) else ())}
    live = {name_of(one): one for one in components}
    by_service: dict[str, dict[str, ReadManifest]] = defaultdict(dict)
    for name, one in live.items():
        stem = name if name in named else name.rpartition("-")[0]
        if stem in named and (name in named or generation_of(name, graph, named[stem])):
            by_service[named[stem]][name.removeprefix(stem).removeprefix("-")] = one
    found = {service: by for service, by in by_service.items() if by.keys() - {""}}
    if not found:
        return NONE
    chosen = _choose(found)
    current = {service: name_of(by[chosen[service]]) for service, by in found.items() if chosen[service]}
    ending = {
        service: tuple(name_of(one) for one in sorted(by.values(), key=_age, reverse=True) if one is not kept)
        for service, by in found.items()
        if len(by) > 1 and (kept := by[chosen[service]])
    }
    is_behind = any(max(map(_age, by.values())) > _age(by[chosen[service]]) for service, by in found.items())
    return Generations(current=current, ending=ending, is_behind=is_behind)


def _choose(found: Mapping[str, Mapping[str, ReadManifest]]) -> dict[str, str]:
    """The current generation of each service; the one before 1.0, which names do not show, is the empty text."""
    generations = {key for by in found.values() for key in by}
    ages = {key: min(_age(by[key]) for by in found.values() if key in by) for key in generations}
    oldest_first = sorted(generations, key=lambda key: (ages[key], key))
    whole = [key for key in oldest_first if all(key in by for by in found.values())]
    if whole:
        return dict.fromkeys(found, whole[-1])
    return {service: next(key for key in oldest_first if key in by) for service, by in found.items()}


def _age(component: ReadManifest) -> tuple[str, str]:
    """What sorts components by their age, the oldest first."""
    return str(component["metadata"].get("creationTimestamp") or ""), name_of(component)
