"""Which value a leaf has from which release of Dynamo on: measured by builds with each release that changes defaults.

What decides by a release is the tag of an image, or `runtimeVersionOverride`.
"""

import re
from collections.abc import Iterator

from hooks.component.image import runtime_version
from hooks.component.image.runtime_version import RuntimeVersion
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.edits import put
from hooks.tools.offline.explain.experiments import align
from hooks.tools.offline.explain.leaf_sources import OfRelease, Source, SourceKind
from hooks.tools.offline.explain.leaves import LeafPlace, RenderedObjects

_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_EARLIEST = RuntimeVersion(0, 1)
_FIELDS = frozenset({"image", "runtimeVersionOverride"})


def find_releases(build: Build, base: RenderedObjects, place: LeafPlace, source: Source) -> tuple[OfRelease, ...]:
    """The values of a leaf by release, if the field names one and the leaf depends on it."""
    if source.kind is not SourceKind.FIELD or not source.parts or source.parts[-1] not in _FIELDS:
        return ()
    written = str(source.value)
    found = list(_RELEASE.finditer(written))
    if not found:
        return ()
    start, end = found[-1].span()
    runs: list[OfRelease] = []
    for release, since in ((_EARLIEST, ""), *((one, _short(one)) for one in _list_releases())):
        changed = build.with_written(
            put(build.written, source.parts, f"{written[:start]}{release}{written[end:]}")
        ).make()
        if changed is None or place.object not in align(base, changed):
            continue
        value = changed.value(place)
        if not runs or runs[-1].value != value:
            runs.append(OfRelease(since=since, value=value))
    return tuple(runs) if len(runs) > 1 else ()


def _list_releases() -> list[RuntimeVersion]:
    """The releases at which defaults change."""
    return sorted({value for name, value in _constants() if name.endswith("_SINCE")})


def _constants() -> Iterator[tuple[str, RuntimeVersion]]:
    for name, value in vars(runtime_version).items():
        if isinstance(value, RuntimeVersion):
            yield name, value


def _short(release: RuntimeVersion) -> str:
    return str(release) if release.patch else f"{release.major}.{release.minor}"
