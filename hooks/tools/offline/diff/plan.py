"""What a change does: to objects, to pods, to resources, and what is lost, refused or held back by it. Decides all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.diff.courses import Course, find_courses, with_roles
from hooks.tools.offline.diff.defaults import with_defaults, with_rendered
from hooks.tools.offline.diff.fields import FieldChange, compare_objects
from hooks.tools.offline.diff.fitting import Fit
from hooks.tools.offline.diff.live_state import LiveState
from hooks.tools.offline.diff.lost import find_lost
from hooks.tools.offline.diff.refusals import find_refusals
from hooks.tools.offline.diff.resources import ResourceRow, add_up
from hooks.tools.offline.diff.roles import find_roles
from hooks.tools.offline.diff.rollouts import PodChange, plan_pods
from hooks.tools.offline.diff.starts import find_failing
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import ObjectId

WrittenPair = tuple[ReadManifest, ReadManifest]


class Fate(StrEnum):
    """What becomes of an object; a recreated one is deleted, and created again with the same name."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RECREATED = "recreated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """One object that does not stay as it is; `owner` is None for one that the user writes.

    `is_between`: it is made of another object and makes others, so its fields repeat those of both.
    """

    id: ObjectId
    owner: ObjectId | None
    fate: Fate
    fields: tuple[FieldChange, ...] = ()
    is_between: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A sentence about one object."""

    id: ObjectId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that a change does.

    `pods` are all sets of pods, also those that stay; `lost` are claims, Services and names that are gone afterwards;
    `failing` are workloads whose new pods cannot start well;
    `refused` is what the API server or admission do not let happen, `stored` what is stored although a rule is broken;
    `notes` are what is good to know; `fit` says whether the pods find nodes, if that was asked; `courses` are the
    rollouts of graphs' workers.
    """

    objects: tuple[ObjectChange, ...] = ()
    pods: tuple[PodChange, ...] = ()
    resources: tuple[ResourceRow, ...] = ()
    failing: tuple[Notice, ...] = ()
    lost: tuple[Notice, ...] = ()
    refused: tuple[Notice, ...] = ()
    stored: tuple[Notice, ...] = ()
    notes: tuple[str, ...] = ()
    owners: Mapping[ObjectId, ObjectId | None] = field(default_factory=dict)
    fit: Fit | None = None
    live: LiveState | None = None
    courses: tuple[Course, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes, and nothing is said of a change."""
        return not (self.objects or self.refused or self.stored)


def plan_difference(
    before: Settled,
    after: Settled,
    *,
    written: Mapping[ObjectId, WrittenPair] | None = None,
    refused: Iterable[Notice] = (),
    stored: Iterable[Notice] = (),
    notes: Iterable[str] = (),
) -> Difference:
    """Compare two worlds; `written` are the objects that the user wrote, as they are to be compared.

    `refused` are changes that are left out of `after`, because the API server would not take them.
    """
    owners = {key: one.owner for side in (before, after) for key, one in side.world.objects.items()}
    objects = tuple(_show_rendered(tuple(_find_changes(before, after, written or {})), owners))
    pods = plan_pods(before, after)
    said = (*refused, *(Notice(id=key, text=text) for key, text in find_refusals(before, after)))
    return Difference(
        objects=objects,
        pods=tuple(pods),
        resources=add_up(one.rollout for one in pods),
        failing=tuple(Notice(id=key, text=text) for key, text in find_failing(pods, before, after)),
        lost=tuple(Notice(id=key, text=text) for key, text in find_lost(before, after)),
        refused=said,
        stored=tuple(stored),
        notes=(*notes, *after.held),
        owners=owners,
    )


def with_courses(found: Difference, before: Settled, after: Settled, facts: Facts) -> Difference:
    """The difference, with how the workers of each graph roll, which also says how much they request meanwhile."""
    pods = with_roles(found.pods, find_roles(before, after, facts))
    return replace(
        found,
        pods=pods,
        resources=add_up(one.rollout for one in pods),
        courses=find_courses(pods, before, after),
    )


def _show_rendered(
    changes: Iterable[ObjectChange], owners: Mapping[ObjectId, ObjectId | None]
) -> Iterable[ObjectChange]:
    """The changes; those of what a user writes with the defaults that their children show."""
    found = tuple(changes)
    below: dict[ObjectId, list[FieldChange]] = {}
    for change in found:
        owner = owners.get(change.id)
        while owner is not None:
            below.setdefault(owner, []).extend(change.fields if not change.is_between else ())
            owner = owners.get(owner)
    for change in found:
        yield replace(change, fields=tuple(with_rendered(change.fields, below.get(change.id, ()))))


def _find_changes(before: Settled, after: Settled, written: Mapping[ObjectId, WrittenPair]) -> Iterable[ObjectChange]:
    parents = before.world.parents | after.world.parents
    for key in dict.fromkeys([*after.world.objects, *before.world.objects]):
        old, new = before.world.objects.get(key), after.world.objects.get(key)
        if new is None or old is None:
            owner = next(one.owner for one in (new, old) if one is not None)
            yield ObjectChange(id=key, owner=owner, fate=Fate.REMOVED if new is None else Fate.ADDED)
            continue
        is_between = new.owner is not None and key in parents
        pair: tuple[ReadManifest | Manifest, ReadManifest | Manifest] = written.get(key) or (old.manifest, new.manifest)
        fields = tuple(with_defaults(compare_objects(*pair), *pair))
        if key in after.recreated or fields:
            fate = Fate.RECREATED if key in after.recreated else Fate.CHANGED
            yield ObjectChange(id=key, owner=new.owner, fate=fate, fields=fields, is_between=is_between)
