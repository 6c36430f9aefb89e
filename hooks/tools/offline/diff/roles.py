"""Which workers of a graph roll together in complete sets after a change: decided by the graph hook itself."""

from collections.abc import Iterator
from dataclasses import dataclass

from hooks.graph.change.complete_sets import WorkerPods
from hooks.graph.change.pacing import plan_rollout
from hooks.graph.seen.observe import observe
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.settings.facts import Facts
from hooks.tools.world.settling import Settled
from hooks.wire.policy.rollout_wishes import RolloutWishes
from hooks.wire.world.objects import Beside, ObjectId
from hooks.wire.world.sync_request import build_request

Place = tuple[str, str, str]
"""Namespace, graph and service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleInSets:
    """A worker that rolls in sets: its replicas before the first new one, and what a person wishes of its graph."""

    replicas: WorkerPods
    wishes: RolloutWishes


def find_roles(before: Settled, after: Settled, facts: Facts) -> dict[Place, RoleInSets]:
    """The workers that roll in sets; other workers are not in it."""
    return {
        (key.namespace, key.name, service): role
        for key in after.world.parents
        if key.is_a(contract.GRAPH) and key in before.world.objects
        for service, role in _roles_of(key, before, after, facts)
    }


def _roles_of(key: ObjectId, before: Settled, after: Settled, facts: Facts) -> Iterator[tuple[str, RoleInSets]]:
    had, gets = ([*_components(settled, key)] for settled in (before, after))
    if had == gets:
        return
    live = Beside(world=before.world, children=[*map(_say_seen, had)])
    request = build_request(after.world.objects[key].manifest, live)
    rollout = plan_rollout(gets, observe(request, facts.settings), request, facts)
    for service, replicas in rollout.roles.items():
        yield service, RoleInSets(replicas=replicas, wishes=rollout.wishes)


def _components(settled: Settled, key: ObjectId) -> Iterator[Manifest]:
    found = settled.world.owned.get(key, {}).values()
    return (one for one in found if gvk_of(one) == contract.COMPONENT)


def _say_seen(component: Manifest) -> Manifest:
    """The component with a status: in files none has one."""
    return {**component, "status": {"observedGeneration": 1, **(component.get("status") or {})}}
