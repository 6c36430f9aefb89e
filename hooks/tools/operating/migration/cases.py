"""What the hook says about one parent's objects, before anything is changed.

It is asked twice: about adopted children, for what it wants and for the digest of the spec; then about marked ones, for
what it really will do. So the plan is what happens.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hooks.graph.seen.live_path import GraphPath, find_live_path
from hooks.graph.seen.upstream_generations import NONE as NO_GENERATIONS
from hooks.graph.seen.upstream_generations import Generations, find_generations
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import count_running_pods
from hooks.ground.k8s.readiness import has_ready_pods
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of, name_of
from hooks.ground.settings.facts import Facts
from hooks.tools.operating.migration.changes import find_obstacle, make_change, read_content, refer_beside, unmark
from hooks.tools.operating.migration.claims import OUTLIVING, Claims
from hooks.tools.operating.migration.first_sync import FirstSync, Key, ask, predict
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.steps import Change, OwnerReference
from hooks.wire.metacontroller.controllers import Strategy, strategy_of
from hooks.wire.policy.new_defaults import MARKED
from hooks.wire.policy.rendering_mark import FOREIGN_REVISION, RenderingMark, digest_component, read_mark
from hooks.wire.world.objects import ObjectId, World
from hooks.wire.world.ownership import controller_reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One parent with its objects: as they are, and as the changes make them.

    `first` is the hook's answer about adopted children, `second` that about marked ones, `fresh` that for the parent as
    it is rendered once nothing is held. `after` are the children after Metacontroller has applied `second`. `serving`
    are marked components whose workloads have ready pods. `left` are workloads of the path that a graph has left, and
    `ending` components of earlier generations.
    """

    parent: ReadManifest
    claims: Claims
    changes: Mapping[Key, Change]
    first: FirstSync
    second: FirstSync
    fresh: FirstSync
    after: Mapping[Key, Manifest]
    serving: frozenset[Key] = frozenset()
    left: frozenset[Key] = frozenset()
    ending: frozenset[Key] = frozenset()

    def is_wanted(self, key: Key) -> bool:
        """Whether the object becomes a child, and stays one."""
        return self.changes[key].owner is not None and key in self.second.wanted


def judge(parent: ReadManifest, claims: Claims, found: Found, facts: Facts, *, fresh: ReadManifest) -> Case:
    """Ask the parent's hook about its objects; `fresh` is the parent as it is rendered once nothing is held."""
    asking = _Asking(found=found, facts=facts)
    serving = frozenset(key for key in claims.all if _serves(key, parent, found))
    objects = {key: _say_ready(live) if key in serving else live for key, live in claims.all.items()}
    left = _find_other_path(parent, objects)
    beside = Change(beside=(refer_beside(parent),))
    adopted = {key: beside if key in left else _adopt(live, parent, found) for key, live in objects.items()}
    unmarked = {key: unmark(live) for key, live in objects.items()}
    first = asking.ask(parent, unmarked, adopted)
    generations = _find_generations(parent, objects)
    changes = {
        key: _mark_for_both(decided, parent, found)
        for key, change in adopted.items()
        for decided in [_decide(change, objects[key], first.wanted.get(key), generations=generations, found=found)]
    }
    marked = asking.change(parent, objects, changes)
    second = first if first.is_silent else ask(parent, marked, facts)
    if second.is_silent:
        kept = {key: read_content(live) for key, live in objects.items() if key not in left}
        after = predict(kept, parent, asking.change(parent, objects, adopted))
        return _keep(parent, claims, failed=second, changes=adopted, kept=kept, after=after)
    return Case(
        parent=parent,
        claims=claims,
        changes=changes,
        first=first,
        second=second,
        fresh=first if fresh is parent else asking.ask(fresh, unmarked, adopted),
        after=predict(second.wanted, parent, marked),
        serving=frozenset(key for key in serving if changes[key].mark),
        left=left,
        ending=frozenset((contract.COMPONENT, name) for name in generations.all_ending),
    )


def _keep(
    parent: ReadManifest,
    claims: Claims,
    *,
    failed: FirstSync,
    changes: Mapping[Key, Change],
    kept: Mapping[Key, Manifest],
    after: Mapping[Key, Manifest],
) -> Case:
    """The case of a hook that gives no answer: Metacontroller changes nothing, so all that is there stays."""
    same = FirstSync(wanted=kept)
    left = frozenset(changes.keys() - kept.keys())
    return Case(
        parent=parent, claims=claims, changes=changes, first=failed, second=same, fresh=same, after=after, left=left
    )


def count_pods(live: ReadManifest, found: Found) -> int:
    """The number of pods that a workload has, or that the workloads of a component have."""
    if gvk_of(live) != contract.COMPONENT:
        return count_running_pods(live)
    return sum(map(count_running_pods, _workloads_of(name_of(live), live["metadata"]["namespace"], found)))


def _find_generations(parent: ReadManifest, objects: Mapping[Key, ReadManifest]) -> Generations:
    if gvk_of(parent) != contract.GRAPH:
        return NO_GENERATIONS
    components = [live for key, live in objects.items() if key[0] == contract.COMPONENT]
    return find_generations(parent, components)


def _decide(
    change: Change, live: ReadManifest, wanted: Manifest | None, *, generations: Generations, found: Found
) -> Change:
    """The change of an object of the parent: what has pods stays its child, whether or not the hook wants it.

    Components of a generation that is not the newest are not of the graph's present spec, so they are not held.
    """
    if change.owner is None:
        return change
    if wanted is None:
        ends = name_of(live) in generations.all_ending or count_pods(live, found)
        return change if ends else Change(beside=(_refer(change.owner),))
    is_old = generations.is_behind and name_of(live) in generations.current.values()
    return change if is_old and gvk_of(live) == contract.COMPONENT else _mark(change, live, wanted)


def _refer(owner: OwnerReference) -> OwnerReference:
    """The owner's reference without control."""
    return {key: value for key, value in owner.items() if key not in {"controller", "blockOwnerDeletion"}}


def _serves(key: Key, parent: ReadManifest, found: Found) -> bool:
    """Whether the workloads of a component have ready pods, whatever the component's status says."""
    kind, name = key
    if kind != contract.COMPONENT:
        return False
    return any(map(has_ready_pods, _workloads_of(name, parent["metadata"]["namespace"], found)))


def _workloads_of(component: str, namespace: str, found: Found) -> Iterator[ReadManifest]:
    """The workloads of a component of that name."""
    yield from (one for one in found.world.of_kind(kinds.DEPLOYMENT, namespace) if name_of(one) == component)
    for one in found.world.of_kind(kinds.LEADER_WORKER_SET, namespace):
        if name_of(one).rpartition("-")[0] == component:
            yield one


def _say_ready(component: ReadManifest) -> ReadManifest:
    """The component with the status that it has once it has its workload back; the step for it waits for that."""
    status = component.get("status") or {}
    conditions = [one for one in status.get("conditions") or () if one.get("type") != "Available"]
    available = {"type": "Available", "status": "True", "reason": "", "message": ""}
    return {**component, "status": {**status, "conditions": [*conditions, available]}}


def _find_other_path(parent: ReadManifest, objects: Mapping[Key, ReadManifest]) -> frozenset[Key]:
    """Workloads of the path that a graph has left: with those of both paths as children, the hook returns neither."""
    components = {key: live for key, live in objects.items() if key[0] == contract.COMPONENT}
    sets = {key: live for key, live in objects.items() if key[0] == kinds.POD_CLIQUE_SET}
    if not components or not sets:
        return frozenset()
    path = find_live_path(tuple(components.values()), tuple(sets.values()), parent.get("status"))
    return frozenset(components if path is GraphPath.GROVE else sets)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """How a hook is asked: what the cluster has, and the settings."""

    found: Found
    facts: Facts

    def ask(
        self, parent: ReadManifest, objects: Mapping[Key, ReadManifest], changes: Mapping[Key, Change]
    ) -> FirstSync:
        """The answer of the parent's hook about the changed objects, which replace the unchanged ones everywhere."""
        return ask(parent, self.change(parent, objects, changes), self.facts)

    def change(self, parent: ReadManifest, objects: Mapping[Key, ReadManifest], changes: Mapping[Key, Change]) -> World:
        """The parent's namespace, and what has none, with the changed objects instead of the unchanged ones."""
        by_uid = {live["metadata"].get("uid"): make_change(changes[key], live) for key, live in objects.items()}
        places = {"", parent["metadata"]["namespace"]}
        near = (one.manifest for key, one in self.found.world.objects.items() if key.namespace in places)
        return World.live((by_uid.get(one["metadata"].get("uid"), one) for one in near), self.found.world.installed)


def _adopt(live: ReadManifest, parent: ReadManifest, found: Found) -> Change:
    """The change by which Metacontroller takes the object for a child, and finds what it would have applied last."""
    if gvk_of(parent) == contract.GRAPH_REQUEST:
        lasting = found.world.of_kind(kinds.NAMESPACE) if gvk_of(live) in OUTLIVING else ()
        named = [one for one in lasting if name_of(one) == parent["metadata"]["namespace"]]
        return Change(owner=controller_reference(parent), beside=tuple(refer_beside(one) for one in named))
    is_updated = strategy_of(gvk_of(parent), gvk_of(live)) is not Strategy.ON_DELETE
    return Change(owner=controller_reference(parent), is_recorded=is_updated and not find_obstacle(live))


def _mark_for_both(change: Change, component: ReadManifest, found: Found) -> Change:
    """The change with a mark that also holds while the component is as it is, before its graph has changed it."""
    live = found.world.find(ObjectId.of(component))
    if not change.mark or live is None or gvk_of(component) != contract.COMPONENT:
        return change
    digest = digest_component(live["spec"])
    return change if change.mark.endswith(f".{digest}") else replace(change, mark=f"{change.mark}.{digest}")


def _mark(change: Change, live: ReadManifest, wanted: Manifest) -> Change:
    """The change with the mark of a held workload, if the hook marks such objects and the object can be recorded."""
    found = read_mark(wanted) if change.is_recorded and gvk_of(live) in MARKED else None
    return change if found is None else replace(change, mark=str(RenderingMark(FOREIGN_REVISION, found.digest)))
