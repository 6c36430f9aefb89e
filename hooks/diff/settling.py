"""What the hooks and Metacontroller make of manifests, on top of what exists: asked again until nothing changes.

The hooks themselves are asked about the existing children, and every answer is applied with Metacontroller's own merge.
So what a hook keeps, holds back or takes away first is kept, held back or taken away here too. Pods are taken to become
ready, and a restart is taken to its end. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hooks import contract
from hooks.diff.estate import Estate, ObjectId, Owned, index_owned, join_estates
from hooks.errors import InvalidSpec
from hooks.facts import Facts
from hooks.k8s.types import GroupVersionKind, Json, Manifest, ReadManifest, gvk_of, labels_of, sort_manifests
from hooks.metacontroller.controllers import NEVER_UPDATED, declared_kinds
from hooks.metacontroller.holding import HELD
from hooks.metacontroller.protocol import CustomizeRequest, Objects, SyncAnswer, SyncRequest
from hooks.problems import Problem
from hooks.rendering import HOOKS, ObjectIndex, find_related, index_objects
from hooks.simulator.metacontroller.merge import MergeRefused, apply_update, is_stable, with_last_applied
from hooks.spreading import Spread, in_one_part

_ROUNDS = 6
"""A move between Grove and components takes three answers; more than this means that an answer never settles."""
_COMPLETE_AT_ONCE = frozenset({contract.GRAPH, contract.COMPONENT})
"""Kinds whose first answer, when no child exists, is their last one; a request's depends on how far its job is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What the hooks see beside the manifests: `world` are the objects that may be related ones."""

    facts: Facts
    world: Sequence[ReadManifest] = ()
    installed: frozenset[str] = frozenset()
    spread: Spread = in_one_part


def settle(roots: Iterable[ReadManifest], before: Estate, grounds: Grounds, *, is_settled: bool = False) -> Estate:
    """The objects that exist at the end, if the roots replace those of their names in `before`.

    Objects of `before` that belong to no root are left out. `is_settled`: `before` was made by this function on the
    same grounds, so what belongs to an unchanged object is as it was.
    """
    written = {ObjectId.of(root): dict(root) for root in roots}
    around = _Around(
        facts=grounds.facts,
        before=_index_rewritten(before, written),
        settled=before.objects if is_settled else {},
        world=index_objects(grounds.world),
        declared=declared_kinds(grounds.installed),
    )
    ordered = sorted(written, key=lambda key: _is_child(before, key))  # children last: their owner may add them
    fresh = [key for key in ordered if not around.has_settled(key, written[key])]
    made = grounds.spread(partial(_settle_part, around=around), [written[key] for key in fresh])
    parts = dict(zip(fresh, made, strict=True))
    settled: dict[ObjectId, Owned] = {}
    added: list[Estate] = []
    for key in ordered:
        if key not in settled:
            added.append(parts[key] if key in parts else _settle_one(written[key], around))
            settled.update(added[-1].objects)
    handed_over = (key for key in settled if _is_handed_over(before.objects.get(key), settled[key]))
    whole = join_estates(added)
    return replace(whole, recreated=frozenset({*whole.recreated, *handed_over}))


def _index_rewritten(
    before: Estate, written: Mapping[ObjectId, Manifest]
) -> Mapping[ObjectId, Mapping[ObjectId, Manifest]]:
    """The children by owner, with those that the user writes too, such as a scaling adapter, as they are written."""
    owned = index_owned(before)
    return {owner: {key: written.get(key, one) for key, one in found.items()} for owner, found in owned.items()}


def _is_child(estate: Estate, key: ObjectId) -> bool:
    found = estate.objects.get(key)
    return found is not None and found.owner is not None


def _is_handed_over(old: Owned | None, new: Owned) -> bool:
    """Whether the object had another owner: it is deleted with that one, and created by the new one."""
    return old is not None and None not in {old.owner, new.owner} and old.owner != new.owner


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What is the same for all roots; `before` are the children that exist, by owner."""

    facts: Facts
    before: Mapping[ObjectId, Mapping[ObjectId, Manifest]]
    settled: Mapping[ObjectId, Owned]
    world: ObjectIndex
    declared: Sequence[GroupVersionKind]

    def has_settled(self, key: ObjectId, manifest: ReadManifest) -> bool:
        """Whether the object is as it was, so that what belongs to it is as it was too."""
        return key in self.settled and self.settled[key].manifest == manifest


def _settle_part(roots: Sequence[Manifest], *, around: _Around) -> list[Estate]:
    return [_settle_one(root, around) for root in roots]


def _settle_one(root: Manifest, around: _Around) -> Estate:
    """A root and all that it leads to."""
    settling = _Settling(around=around)
    settling.add(root, None)
    return Estate(
        objects=settling.objects,
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
        existing = self.around.before.get(key) or {}
        present, missed = existing, set[ObjectId]()
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
            children = list(answer.children)
            if children == applied:
                break
            after = {ObjectId.of(one): one for one in _apply(children, present, parent)}
            missed |= existing.keys() - after.keys()
            if after == present:
                break
            present, applied = after, children if all(map(is_stable, children)) else None
        if problems:
            self.problems[key] = problems
        self.held.extend(held)
        self.recreated |= missed & present.keys()
        return present

    def _ask(self, parent: Manifest, children: Mapping[ObjectId, Manifest]) -> SyncAnswer:
        hook, asked = HOOKS[gvk_of(parent)], _restarting_at_once(parent)
        by_kind: dict[str, dict[str, ReadManifest]] = {kind.key: {} for kind in self.around.declared}
        for child in children.values():
            by_kind.setdefault(gvk_of(child).key, {})[_name_in_namespace(child)] = child
        question = CustomizeRequest(parent=asked, child_kinds=frozenset(self.around.declared))
        rules = hook.customize(question, self.around.facts)
        related = find_related(rules, self.around.world)
        request = SyncRequest(parent=asked, children=Objects(by_kind), related=related)
        return hook.sync(request, self.around.facts)


def _restarting_at_once(parent: Manifest) -> Manifest:
    """The graph with a restart of all services together: the end is that of a restart in order."""
    restart = (parent.get("spec") or {}).get("restart")
    if gvk_of(parent) != contract.GRAPH or not isinstance(restart, Mapping) or not restart.get("id"):
        return parent
    return {**parent, "spec": {**parent["spec"], "restart": {**restart, "strategy": {"type": "Parallel"}}}}


def _apply(
    wanted: Iterable[Manifest], present: Mapping[ObjectId, Manifest], parent: ReadManifest
) -> Iterable[Manifest]:
    """The children after Metacontroller has applied the answer; those that are not wanted are gone."""
    namespace = str(parent["metadata"].get("namespace") or "")
    for child in wanted:
        placed = {**child, "metadata": {"namespace": namespace, **child["metadata"]}}
        live = present.get(ObjectId.of(placed))
        if live is None:
            yield with_last_applied(_adopt(placed, parent), placed)
        elif gvk_of(child) in NEVER_UPDATED[gvk_of(parent)]:
            yield live
        else:
            yield _update(live, placed)


def _update(live: Manifest, wanted: Manifest) -> Manifest:
    uid = labels_of(live).get(contract.LABEL_CONTROLLER_UID)
    labels = {"labels": {**labels_of(wanted), contract.LABEL_CONTROLLER_UID: uid}} if uid else {}
    try:
        return apply_update(live, {**wanted, "metadata": {**wanted["metadata"], **labels}})
    except MergeRefused:
        return live


def _adopt(child: Manifest, owner: ReadManifest) -> Manifest:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {**child, "metadata": {**child["metadata"], "ownerReferences": [reference]}}


def _find_held(status: Mapping[str, Json] | None, key: ObjectId) -> Iterable[str]:
    for condition in (status or {}).get("conditions") or ():
        if condition.get("type") == HELD and condition.get("status") == "True":
            yield f"{key}: {condition.get('message', '')}"


def _name_in_namespace(manifest: ReadManifest) -> str:
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
