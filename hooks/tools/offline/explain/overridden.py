"""What a leaf would be without the field that it is copied from, step by step down to the default."""

from collections.abc import Callable, Iterator

from hooks.ground.k8s.types import Json
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.edits import Parts, drop
from hooks.tools.offline.explain.inputs import source_of
from hooks.tools.offline.explain.leaf_sources import Influence, LeafSources, Mode, Overridden, SourceKind
from hooks.tools.offline.explain.leaves import LeafPlace
from hooks.tools.offline.explain.services import places_of_services
from hooks.tools.offline.manifests.document import Document

_MOST = 6
Measure = Callable[[Build, LeafPlace], tuple[Influence, ...]]


def find_overridden(build: Build, origin: LeafSources, document: Document, measure: Measure) -> Iterator[Overridden]:
    """What stands behind the user's value, the nearest first; nothing if the leaf would be gone without it."""
    place, influences = origin.place, origin.influences
    for _ in range(_MOST):
        copied = next((one for one in influences if _is_written(one)), None)
        found = _take_away(build, place, copied.source.parts) if copied else None
        if found is None:
            return
        build, removed, value = found
        influences = measure(build, place)
        yield Overridden(
            without=source_of(removed, None, document, document.written),
            value=value,
            influences=influences,
        )


def _is_written(influence: Influence) -> bool:
    return influence.mode is Mode.COPIED and influence.source.kind is SourceKind.FIELD


def _take_away(build: Build, place: LeafPlace, parts: Parts) -> tuple[Build, Parts, Json] | None:
    """The build without the field, or the nearest map or list around it without which the leaf is still there."""
    services = places_of_services(build.written).values()
    floor = 1 + max((len(one) for one in services if one == parts[: len(one)]), default=1)
    if parts and isinstance(parts[-1], int):
        parts = parts[:-1]  # the items behind it would move
    while len(parts) >= floor and parts[0] != "metadata":
        less = build.with_written(drop(build.written, parts))
        made = less.make()
        if made is not None and place in made.leaves_of(place.object):
            return less, parts, made.value(place)
        parts = parts[:-1]
    return None
