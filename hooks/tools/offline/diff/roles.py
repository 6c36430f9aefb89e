"""Which workers of a graph roll together in complete sets after a change: decided by the graph hook itself."""

from collections.abc import Iterator, Mapping

from hooks.graph.change.complete_sets import WorkerPods
from hooks.graph.change.pacing import plan_rollout
from hooks.graph.seen.observe import observe
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.settings import Settings
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import Beside, ObjectId
from hooks.wire.world.sync_request import build_request

Place = tuple[str, str, str]
"""Namespace, graph and service."""


def find_roles(before: Settled, after: Settled, settings: Settings) -> dict[Place, WorkerPods]:
    """The workers that roll in sets, as they are before the first new pod; other workers are not in it."""
    return {
        (key.namespace, key.name, service): role
        for key in after.world.parents
        if key.is_a(contract.GRAPH) and key in before.world.objects
        for service, role in _roles_of(key, before, after, settings).items()
    }


def _roles_of(key: ObjectId, before: Settled, after: Settled, settings: Settings) -> Mapping[str, WorkerPods]:
    had, gets = ([*_components(settled, key)] for settled in (before, after))
    if had == gets:
        return {}
    graph = before.world.objects[key].manifest
    seen = observe(build_request(graph, Beside(world=before.world, children=[*map(_say_seen, had)])), settings)
    return plan_rollout(gets, seen, settings).roles


def _components(settled: Settled, key: ObjectId) -> Iterator[Manifest]:
    found = settled.world.owned.get(key, {}).values()
    return (one for one in found if gvk_of(one) == contract.COMPONENT)


def _say_seen(component: Manifest) -> Manifest:
    """The component with a status: in files none has one."""
    return {**component, "status": {"observedGeneration": 1, **(component.get("status") or {})}}
