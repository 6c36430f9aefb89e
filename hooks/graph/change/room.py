"""The room that new pods of rolling workers lack: since when, and how many GPUs for the set in work."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hooks.component.spec.gpu_shape import resolve_gpu_shape
from hooks.graph.change.complete_sets import WorkerPods, count_sets, find_done
from hooks.graph.change.worker_pods import SeenWorker
from hooks.graph.seen.observe import ChildComponent
from hooks.ground.k8s.deadlines import seconds_since
from hooks.ground.k8s.not_ready import NotReadyReason
from hooks.ground.k8s.types import Json
from hooks.ground.settings.facts import Facts
from hooks.language.api.component_spec import ComponentSpec

_NO_ROOM = frozenset({NotReadyReason.UNSCHEDULABLE.value, NotReadyReason.QUOTA_DENIED.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class LackOfRoom:
    """The services whose new pods find no room, whether that lasts, and by service the GPUs that the next set lacks."""

    crowded: tuple[str, ...] = ()
    is_lasting: bool = False
    gpus: Mapping[str, int] = field(default_factory=dict)


def find_shortage(
    units: Mapping[str, SeenWorker],
    live: Mapping[str, ChildComponent],
    roles: Mapping[str, WorkerPods],
    facts: Facts,
) -> LackOfRoom:
    """What the new pods lack, as the live components and the scheduler say it."""
    crowded = tuple(sorted(one for one, found in live.items() if found.reason in _NO_ROOM))
    if not crowded:
        return LackOfRoom()
    waited = (seconds_since(_find_since(units[one], live[one]), facts.now) for one in crowded)
    return LackOfRoom(
        crowded=crowded,
        is_lasting=max(waited) >= facts.settings.rollout_room_after,
        gpus=dict(_count_gpus(units, roles)),
    )


def _find_since(units: SeenWorker, live: ChildComponent) -> str:
    """Since when a worker's pods find no room: the first one without a node, or the condition of the component."""
    return min(filter(None, units.without_room), default=live.unready_since)


def _count_gpus(units: Mapping[str, SeenWorker], roles: Mapping[str, WorkerPods]) -> Iterator[tuple[str, int]]:
    """By service the GPUs for those pods of the next set that have no node; services without any are left out."""
    sets, done = count_sets(roles), find_done(roles)
    for name, worker in sorted(units.items()):
        shape = _shape_of(worker.spec)
        target = min(worker.wanted, int(done * worker.wanted) + max(1, worker.wanted // max(1, sets)))
        lacking = target - sum(one.has_room for one in worker.newest)
        if shape > 0 and lacking > 0:
            yield name, shape * lacking


def _shape_of(spec: Mapping[str, Json]) -> int:
    """The GPUs of one replica; 0 where they are not known."""
    shape = resolve_gpu_shape(ComponentSpec.model_validate(spec))
    return shape.per_replica if shape is not None else 0
