"""What this version does to the objects of a cluster: which pods restart or wait, which statuses say otherwise.

The hooks are asked about each object until nothing changes; what they make of it is compared with what runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import makes_pods
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of, is_deleting, plural_of
from hooks.ground.settings import Settings
from hooks.tools.offline.diff.at_rest import at_rest
from hooks.tools.offline.diff.fields import compare_objects
from hooks.tools.offline.diff.plan import Difference, Notice, plan_difference
from hooks.tools.offline.diff.rollouts import PodChange, plan_pods
from hooks.tools.offline.diff.variables import hide_field, without_values
from hooks.tools.operating.upgrade.judging import JudgedObject, judge_part
from hooks.tools.operating.upgrade.statuses import StatusChange
from hooks.tools.world.composite_hooks import ASKED
from hooks.tools.world.settling import Grounds, Settled, settle
from hooks.wire.metacontroller.installation import read_installation
from hooks.wire.policy.new_defaults import NOW
from hooks.wire.world.objects import ObjectId, Owned, World


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldStatus:
    """What a status says otherwise; `passing`: only until the object's children are as they will be."""

    id: ObjectId
    change: StatusChange
    passing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLine:
    """What happens to one graph, or to another object that the user wrote.

    `restarts` and `held` are numbers of pods, `objects` of objects below it that change, `statuses` of objects whose
    status changes.
    """

    id: ObjectId
    restarts: int = 0
    held: int = 0
    objects: int = 0
    statuses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePlan:
    """All that differs; `difference` has the objects, pods and resources, in the words of `diff`.

    `held` are the sets of pods that would restart if new defaults did not wait; `held_before` are workloads of which a
    status says already that they wait. `failed` are objects of which this version says that they are wrong. `unread` is
    what the plan lacks.
    """

    lines: tuple[GraphLine, ...] = ()
    difference: Difference = field(default_factory=Difference)
    held: tuple[PodChange, ...] = ()
    held_before: frozenset[ObjectId] = frozenset()
    told: tuple[ToldStatus, ...] = ()
    failed: tuple[Notice, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes; what waited before and goes on waiting is no change."""
        return self.difference.is_empty and not (self.told or self.failed)


def plan_upgrade(world: World, grounds: Grounds, *, is_whole: bool = True) -> UpgradePlan:
    """Compare what runs with what this version makes of it.

    `is_whole`: the world has all objects; else only those of the kinds of which it has any.
    """
    world = replace(world, objects=dict(sorted(world.objects.items())))
    served, notes = _choose(world, grounds.facts.settings)
    roots = [one for one in served if world.objects[ObjectId.of(one)].owner is None]
    before = world.below(sorted(roots, key=lambda one: gvk_of(one) != contract.GRAPH))
    rested, settled = _settle_at_rest(roots, before, grounds)
    after, missing = (settled, ()) if is_whole else _without_unknown(world, settled)
    known = None if is_whole else _kinds(world)
    meanwhile = _keep_rolling(before, rested, after)
    judging = partial(judge_part, before=before, after=meanwhile, grounds=grounds, known=known)
    judged: Sequence[JudgedObject] = grounds.spread(
        judging, [key for key in _parents(before) if key in after.world.objects]
    )
    difference = plan_difference(Settled(world=rested), replace(after, held=()))
    waiting = {_root(difference.owners, one.id) for one in judged if one.is_held}
    released = [one for one in roots if ObjectId.of(one) in waiting]
    held = _find_held(released, after.world, grounds) if released else ()
    told = tuple(line for one in judged for line in _tell(one))
    return UpgradePlan(
        lines=tuple(_count(roots, difference, held, told)),
        difference=difference,
        held=held,
        held_before=_find_held_before(judged, before, held),
        told=told,
        failed=tuple(Notice(id=one.id, text=one.fault) for one in judged if one.fault),
        unread=(*world.unread, *missing, *_find_unjudged(judged)),
        notes=tuple(notes),
    )


def _settle_at_rest(roots: Sequence[Manifest], before: World, grounds: Grounds) -> tuple[World, Settled]:
    """What runs, with rollouts in sets taken to their end, and what is made of it: the pace goes without an upgrade."""
    settled = settle(roots, before, grounds)
    rested = at_rest(Settled(world=before), settled).world
    return rested, settled if rested is before else settle(roots, rested, grounds)


def _keep_rolling(before: World, rested: World, after: Settled) -> Settled:
    """What is made of it; what only goes on to roll is as it runs now, so that its status is judged as it is."""
    kept = {
        key: before.objects[key]
        for key, one in after.world.objects.items()
        if key in before.objects and not compare_objects(rested.objects[key].manifest, one.manifest)
    }
    return replace(after, world=replace(after.world, objects={**after.world.objects, **kept}))


def hide_values(plan: UpgradePlan) -> UpgradePlan:
    """The plan without values of variables, which may be secrets."""
    held = tuple(replace(one, why=tuple(map(hide_field, one.why))) for one in plan.held)
    told = tuple(
        replace(one, change=replace(one.change, fields=tuple(map(hide_field, one.change.fields)))) for one in plan.told
    )
    return replace(plan, difference=without_values(plan.difference), held=held, told=told)


def _choose(world: World, settings: Settings) -> tuple[list[Manifest], list[str]]:
    """The objects that hooks with these settings serve, and what is said of the others."""
    ours = [one.manifest for one in world.objects.values() if gvk_of(one.manifest) in ASKED]
    served = [one for one in ours if _is_served(one, settings) and not is_deleting(one)]
    deleted, foreign = sum(map(is_deleting, ours)), sum(not _is_served(one, settings) for one in ours)
    notes = [f"{deleted} {_are(deleted)} left out, because they are being deleted"] if deleted else []
    notes += [f"{foreign} {_are(foreign)} left out, because another installation serves them"] if foreign else []
    if world.of_kind(contract.MODEL):
        notes.append("statuses of DynamoModels are not compared, because they say what engines answer")
    return served, notes


def _are(number: int) -> str:
    return "object is" if number == 1 else "objects are"


def _is_served(one: ReadManifest, settings: Settings) -> bool:
    only = settings.installation_namespace if settings.installation else ""
    return (read_installation(one) or "") == settings.installation and only in {"", one["metadata"].get("namespace")}


def _parents(world: World) -> Iterator[ObjectId]:
    return (key for key, one in world.objects.items() if gvk_of(one.manifest) in ASKED)


def _root(owners: Mapping[ObjectId, ObjectId | None], key: ObjectId) -> ObjectId:
    """The object that a user wrote, below which the one with that key is."""
    owner = owners.get(key)
    return key if owner is None else _root(owners, owner)


def _kinds(world: World) -> frozenset[str]:
    return frozenset(plural_of(gvk_of(one.manifest)) for one in world.objects.values())


def _without_unknown(world: World, settled: Settled) -> tuple[Settled, tuple[str, ...]]:
    """Without new objects of kinds of which the files have none: whether they exist is not known."""
    known = _kinds(world)
    unknown: dict[ObjectId, Owned] = {
        key: one
        for key, one in settled.world.objects.items()
        if key not in world.objects and plural_of(gvk_of(one.manifest)) not in known
    }
    kinds = sorted({plural_of(gvk_of(one.manifest)) for one in unknown.values()})
    if not kinds:
        return settled, ()
    has_pods = any(makes_pods(gvk_of(one.manifest)) for one in unknown.values())
    weight = "; without workloads it is not known which pods restart" if has_pods else ""
    text = f"the files have no {', '.join(kinds)}, so what happens to these is not known{weight}"
    return replace(settled, world=settled.world.without(unknown)), (text,)


def _find_held(roots: Iterable[Manifest], after: World, grounds: Grounds) -> tuple[PodChange, ...]:
    """The pods that would restart now if no new default waited."""
    present = after.below(after.objects[ObjectId.of(one)].manifest for one in roots)
    settings = grounds.facts.settings.model_copy(update={"new_defaults": NOW})
    released = replace(grounds, facts=replace(grounds.facts, settings=settings))
    taken = settle(roots, present, released)
    return tuple(one for one in plan_pods(Settled(world=present), taken) if one.restarts)


def _find_held_before(judged: Iterable[JudgedObject], before: World, held: Iterable[PodChange]) -> frozenset[ObjectId]:
    """The held workloads whose owner, or the owner of that, says already that something waits."""
    said = {one.id for one in judged if one.was_held}
    workloads = {one.set.workload for one in held if one.set.workload in before.objects}
    return frozenset(one for one in workloads if before.objects[one].owner in said)


def _tell(one: JudgedObject) -> Iterator[ToldStatus]:
    if one.lasting:
        yield ToldStatus(id=one.id, change=one.lasting)
    if one.passing:
        yield ToldStatus(id=one.id, change=one.passing, passing=True)


def _find_unjudged(judged: Iterable[JudgedObject]) -> Iterator[str]:
    """The kinds for which statuses are not compared, in one sentence."""
    found = [one for one in judged if one.lacking]
    if found:
        kinds = ", ".join(sorted({kind for one in found for kind in one.lacking}))
        number = len(found)
        yield f"the status of {number} objects is not compared: it depends on {kinds}, of which the files have none"


def _count(
    roots: Iterable[ReadManifest], difference: Difference, held: Iterable[PodChange], told: Iterable[ToldStatus]
) -> Iterator[GraphLine]:
    lines = {ObjectId.of(one): GraphLine(id=ObjectId.of(one)) for one in roots}

    def add(key: ObjectId, name: str, number: int) -> None:
        if (line := lines.get(_root(difference.owners, key))) is not None:
            lines[line.id] = replace(line, **{name: getattr(line, name) + number})

    for pods in difference.pods:
        add(pods.set.workload, "restarts", pods.restarts)
    for pods in held:
        add(pods.set.workload, "held", pods.restarts)
    for change in difference.objects:
        add(change.id, "objects", 1)
    for key in {one.id for one in told if not one.passing}:
        add(key, "statuses", 1)
    yield from sorted(lines.values(), key=lambda one: one.id)
