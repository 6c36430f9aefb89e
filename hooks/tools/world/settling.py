"""What the hooks and Metacontroller make of manifests, on top of what exists: asked again until nothing changes.

So what a hook keeps, holds back or takes away first is kept, held back or taken away here too. Pods are taken to become
ready, a restart or a rollout is taken to its end, and a child that is being deleted is taken to be gone once nothing
else changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hooks.graph.change.pacing import has_pace, with_pace
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, gvk_of, is_deleting, sort_manifests
from hooks.ground.problems import Problem
from hooks.ground.settings.facts import Facts
from hooks.tools.world.composite_hooks import HOOKS, ask
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.new_defaults import HELD
from hooks.wire.world.applying import apply
from hooks.wire.world.merge import is_stable
from hooks.wire.world.objects import Beside, ObjectId, Owned, World
from hooks.wire.world.spreading import Spread, in_one_part

_ROUNDS = 6
"""A move between Grove and components takes three answers; more than this means that an answer never settles."""
_COMPLETE_AT_ONCE = frozenset({contract.GRAPH, contract.COMPONENT})
"""Kinds whose first answer, when no child exists, is their last one; a request's depends on how far its job is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What the hooks see beside the manifests: `world` are the objects that may be related ones."""

    facts: Facts
    world: World
    spread: Spread = in_one_part


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The world in which nothing changes any more, owners before what they own.

    `recreated` are objects that are deleted and created again on the way here. `problems` are those of objects whose
    spec cannot be rendered, so that their children stay. `held` are sentences about workloads that wait.
    """

    world: World = field(default_factory=World)
    recreated: frozenset[ObjectId] = frozenset()
    problems: Mapping[ObjectId, tuple[Problem, ...]] = field(default_factory=dict)
    held: tuple[str, ...] = ()


def settle(roots: Iterable[ReadManifest], before: World, grounds: Grounds, *, is_settled: bool = False) -> Settled:
    """The objects that exist at the end, if the roots replace those of their names in `before`.

    Objects of `before` that belong to no root are left out. `is_settled`: `before` was made by this function on the
    same grounds, so what belongs to an unchanged object is as it was.
    """
    written = {ObjectId.of(root): dict(root) for root in roots}
    around = _Around(
        facts=grounds.facts,
        world=grounds.world,
        before=_index_rewritten(before, written),
        settled=before.objects if is_settled else {},
    )
    ordered = sorted(written, key=lambda key: _is_child(before, key))  # children last: their owner may add them
    fresh = [key for key in ordered if not around.has_settled(key, written[key])]
    made = grounds.spread(partial(_settle_part, around=around), [written[key] for key in fresh])
    parts = dict(zip(fresh, made, strict=True))
    objects: dict[ObjectId, Owned] = {}
    added: list[Settled] = []
    for key in ordered:
        if key not in objects:
            added.append(parts[key] if key in parts else _settle_one(written[key], around))
            objects.update(added[-1].world.objects)
    handed_over = (key for key, one in objects.items() if _is_handed_over(before.objects.get(key), one))
    return Settled(
        world=replace(grounds.world, objects=objects),
        recreated=frozenset({*handed_over, *(key for part in added for key in part.recreated)}),
        problems={key: found for part in added for key, found in part.problems.items()},
        held=tuple(dict.fromkeys(sentence for part in added for sentence in part.held)),
    )


def _index_rewritten(
    before: World, written: Mapping[ObjectId, Manifest]
) -> Mapping[ObjectId, Mapping[ObjectId, Manifest]]:
    """The children by owner, with those that the user writes too, such as a scaling adapter, as they are written."""
    return {owner: {key: written.get(key, one) for key, one in found.items()} for owner, found in before.owned.items()}


def _is_child(world: World, key: ObjectId) -> bool:
    found = world.objects.get(key)
    return found is not None and found.owner is not None


def _is_handed_over(old: Owned | None, new: Owned) -> bool:
    """Whether the object had another owner: it is deleted with that one, and created by the new one."""
    return old is not None and None not in {old.owner, new.owner} and old.owner != new.owner


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What is the same for all roots; `before` are the children that exist, by owner."""

    facts: Facts
    world: World
    before: Mapping[ObjectId, Mapping[ObjectId, Manifest]]
    settled: Mapping[ObjectId, Owned]

    def has_settled(self, key: ObjectId, manifest: ReadManifest) -> bool:
        """Whether the object is as it was, so that what belongs to it is as it was too."""
        return key in self.settled and self.settled[key].manifest == manifest


def _settle_part(roots: Sequence[Manifest], *, around: _Around) -> list[Settled]:
    return [_settle_one(root, around) for root in roots]


def _settle_one(root: Manifest, around: _Around) -> Settled:
    """A root and all that it leads to."""
    settling = _Settling(around=around)
    settling.add(root, None)
    return Settled(
        world=World(objects=settling.objects),
        recreated=frozenset(settling.recreated),
        problems=settling.problems,
        held=tuple(settling.held),
    )


@dataclass(slots=True, kw_only=True)
class _Settling:
    around: _Around
    objects: dict[ObjectId, Owned] = field(default_factory=dict)
    recreated: set[ObjectId] = field(default_factory=set)
    problems: dict[ObjectId, tuple[Problem, ...]] = field(default_factory=dict)
    held: list[str] = field(default_factory=list)

    def add(self, manifest: Manifest, owner: ObjectId | None) -> None:
        """Add an object and all that it leads to."""
        key = ObjectId.of(manifest)
        self.objects[key] = Owned(manifest=manifest, owner=owner)
        if gvk_of(manifest) not in HOOKS:
            return
        if self.around.has_settled(key, manifest):
            for child in (self.around.before.get(key) or {}).values():
                self.add(child, key)
        else:
            for child in sort_manifests(list(self._settle_children(key, manifest).values())):
                self.add(child, key)

    def _settle_children(self, key: ObjectId, parent: Manifest) -> Mapping[ObjectId, Manifest]:
        """The parent's children at the end; with a parent that is created again, they are too."""
        had = self.around.before.get(key) or {}
        existing = {} if key in self.recreated else had
        missed = {*had} - {*existing}
        present = existing
        problems: tuple[Problem, ...] = ()
        held: Iterable[str] = ()
        is_complete = not existing and gvk_of(parent) in _COMPLETE_AT_ONCE
        answer: SyncAnswer | None = None
        applied: list[Manifest] | None = None  # what changes nothing if it is answered and applied once more
        for _ in range(_ROUNDS):
            try:
                answer = answer if answer and is_complete else self._ask(parent, present)
            except InvalidSpec as error:
                self.problems[key] = error.problems
                return existing
            problems, held = answer.problems, _find_held(answer.status, key)
            children = [*map(without_pace, answer.children)]
            after = present if children == applied else self._apply(children, parent, present)
            is_whole = after.keys() >= {ObjectId.of(child, key.namespace) for child in children}
            applied = children if is_whole and all(map(is_stable, children)) else None
            if after == present:
                after, applied = _drop_deleted(present), None
            missed |= existing.keys() - after.keys()
            if after == present:
                break
            present = after
        if problems:
            self.problems[key] = problems
        self.held.extend(held)
        self.recreated |= missed & present.keys()
        return present

    def _ask(self, parent: Manifest, children: Mapping[ObjectId, Manifest]) -> SyncAnswer:
        reader = Beside(world=self.around.world, children=children.values())
        return ask(_restarting_at_once(parent), reader, self.around.facts)

    def _apply(
        self, wanted: Iterable[Manifest], parent: Manifest, children: Mapping[ObjectId, Manifest]
    ) -> Mapping[ObjectId, Manifest]:
        world = World(installed=self.around.world.installed).with_children(parent, children)
        after = apply(wanted, parent, world).owned.get(ObjectId.of(parent), {})
        return {key: one if one == children.get(key) else _roll_out(one) for key, one in after.items()}


def _roll_out(child: Manifest) -> Manifest:
    """The changed child without the Dynamo namespace in its status: its pods of before are taken to be gone."""
    status = child.get("status") or {}
    if gvk_of(child) != contract.COMPONENT or "runtimeNamespace" not in (status.get("service") or {}):
        return child
    service = {key: value for key, value in status["service"].items() if key != "runtimeNamespace"}
    return {**child, "status": {**status, "service": service}}


def without_pace(child: Manifest) -> Manifest:
    """The child as it is once its rollout is over: a component without the pace that its graph sets meanwhile."""
    return with_pace(child, {}) if has_pace(child) else child


def _drop_deleted(children: Mapping[ObjectId, Manifest]) -> Mapping[ObjectId, Manifest]:
    """The children without those that are being deleted, which are gone in the end."""
    return {key: one for key, one in children.items() if not is_deleting(one)}


def _restarting_at_once(parent: Manifest) -> Manifest:
    """The graph with a restart of all services together: the end is that of a restart in order."""
    restart = (parent.get("spec") or {}).get("restart")
    if gvk_of(parent) != contract.GRAPH or not isinstance(restart, Mapping) or not restart.get("id"):
        return parent
    return {**parent, "spec": {**parent["spec"], "restart": {**restart, "strategy": {"type": "Parallel"}}}}


def _find_held(status: Mapping[str, Json] | None, key: ObjectId) -> Iterable[str]:
    for condition in (status or {}).get("conditions") or ():
        if condition.get("type") == HELD and condition.get("status") == "True":
            yield f"{key}: {condition.get('message', '')}"
