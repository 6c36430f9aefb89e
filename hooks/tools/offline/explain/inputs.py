"""All inputs of a build, each with the builds in which it alone is another one."""

from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from hooks.component.spec.subject import ComponentType
from hooks.ground.k8s import kinds
from hooks.ground.k8s.private_fields import SECRET_FIELDS
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, gvk_of, name_of
from hooks.ground.settings import Settings
from hooks.language.api.structural import schema_of
from hooks.language.crds.definitions import read_root_schema
from hooks.language.crds.paths import name_path
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.edits import MARK, Parts, alternatives, drop, put, walk_parts
from hooks.tools.offline.explain.leaf_sources import Source, SourceKind
from hooks.tools.offline.explain.services import places_of_services
from hooks.tools.offline.manifests.document import Document
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS

_METADATA = frozenset({"name", "namespace", "labels", "annotations"})
_VARIABLES = frozenset({"env", "envs"})
_NAMESPACE: Parts = ("metadata", "namespace")
_OTHER_DATA = b64encode(MARK.encode()).decode()
"""Another value in the data of a Secret."""
_SAMPLES = (
    MARK,
    f"http://{MARK}:1234",
    f"nats://{MARK}:4222",
    "1h1m1s",
    1234,
)
"""Values for a setting that has none, or that is no plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A build in which an input has the value `tried`; None if it was taken away."""

    build: Build
    tried: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input, and groups of trials with it: of each group, the first that is not refused counts."""

    source: Source
    trials: tuple[tuple[Trial, ...], ...]


def list_inputs(build: Build, document: Document, *, without: Collection[str] = ()) -> Iterator[Input]:
    """All inputs of the build of a document, except the fields of the services in `without`."""
    left_out = [parts for name, parts in places_of_services(build.written).items() if name in without]
    for one in (*written_inputs(build, document), *_name_inputs(build, document)):
        if not any(one.source.parts[: len(parts)] == parts for parts in left_out):
            yield one
    yield from _filled_inputs(build)
    yield from _object_inputs(build)
    yield from _kind_inputs(build)
    yield from setting_inputs(build)


def written_inputs(build: Build, document: Document) -> Iterator[Input]:
    """The fields that the user wrote, and the namespace that the object got."""
    schema = read_root_schema(build.written)
    for parts, value in walk_parts(build.written):
        if not _is_input(parts):
            continue
        others = [
            tuple(Trial(build=build.with_written(put(build.written, parts, new)), tried=new) for new in group)
            for group in (*_choices(parts, value), *alternatives(value, _schema_at(parts, schema)))
        ]
        others += [(Trial(build=renamed, tried=new),) for renamed, new in _renamed_together(build, parts, value)]
        is_needed = (parts[0] == "metadata" and len(parts) == 2) or isinstance(
            parts[-1], int
        )  # the next one would move
        gone = () if is_needed else (_without(build, parts),)
        source = source_of(parts, value, document, build.written)
        yield Input(source=source, trials=(*others, *((one,) for one in gone)))


def _renamed_together(build: Build, parts: Parts, value: Json) -> Iterator[tuple[Build, Json]]:
    """The build in which an object of another project, and the field that names it, have another name."""
    names = [one["metadata"].get("name") for one in build.others]
    if value in names:
        new = f"{value}{MARK}"
        others = tuple(
            put(one, ("metadata", "name"), new) if name == value else one
            for one, name in zip(build.others, names, strict=True)
        )
        yield replace(build, others=others, written=put(build.written, parts, new)), new


def _name_inputs(build: Build, document: Document) -> Iterator[Input]:
    """The names of the services of a graph, where they are keys of a map."""
    for name, parts in places_of_services(build.written).items():
        if parts[-1] == name:
            fields = build.written["spec"]["services"]
            renamed = {name + MARK if key == name else key: value for key, value in fields.items()}
            trial = Trial(build=build.with_written(put(build.written, parts[:-1], renamed)), tried=name + MARK)
            source = source_of(parts, name, document, build.written)
            yield Input(source=source, trials=((trial,),))


def source_of(parts: Parts, value: Json, document: Document, written: ReadManifest) -> Source:
    """A field of the document as a source."""
    file, mark = document.find(parts)
    is_given = parts == _NAMESPACE and parts not in document.marks and parts not in document.elsewhere
    return Source(
        kind=SourceKind.NAMESPACE if is_given else SourceKind.FIELD,
        name=str(name_path(parts, read_root_schema(written))),
        value=value,
        file="" if is_given else file,
        line=0 if is_given else mark.line,
        parts=parts,
        is_private=parts[-1] == "value" and not _VARIABLES.isdisjoint(parts),
    )


def setting_inputs(build: Build) -> Iterator[Input]:
    """The settings."""
    for name in Settings.model_fields:
        value = getattr(build.settings, name)
        trials = tuple(
            tuple(
                Trial(build=replace(build, settings=changed), tried=new)
                for new in group
                if (changed := _with_setting(build.settings, name, new)) is not None
            )
            for group in _setting_values(name, value)
        )
        yield Input(source=Source(kind=SourceKind.SETTING, name=name, value=_plain(value)), trials=trials)


def _choices(parts: Parts, value: Json) -> Iterator[list[Json]]:
    """The other values of a field that takes any text, and of which the hooks know some."""
    if parts[-1] == "componentType":
        yield from ([str(kind)] for kind in ComponentType if kind is not ComponentType.OTHER and kind != value)


def _is_input(parts: Parts) -> bool:
    if parts[0] == "metadata":
        return len(parts) > 1 and parts[1] in _METADATA
    return parts[0] not in {"apiVersion", "kind", "status"}


def _without(build: Build, parts: Parts) -> Trial:
    return Trial(build=build.with_written(drop(build.written, parts)), tried=None)


def _schema_at(parts: Parts, schema: Mapping[str, Any] | None) -> dict[str, Json] | None:
    found = dict(schema) if schema else None
    for part in parts:
        if found is None:
            return None
        found = found.get("items") if isinstance(part, int) else schema_of(part, found)
    return found


def _filled_inputs(build: Build) -> Iterator[Input]:
    """Fields that the schema fills in: those that are stored although they are not written."""
    stored = build.stored()
    bare = dict(walk_parts(build.unfilled()))
    for parts, value in walk_parts(stored):
        if parts not in bare and parts[0] == "spec":
            trials = tuple(
                tuple(Trial(build=replace(build, filled={**build.filled, parts: new}), tried=new) for new in group)
                for group in alternatives(value)
            )
            name = str(name_path(parts, read_root_schema(stored)))
            yield Input(source=Source(kind=SourceKind.SCHEMA, name=name, value=value), trials=trials)


def _object_inputs(build: Build) -> Iterator[Input]:
    """The other objects of the files, if the build reads any of them: each as a whole, then its names and labels."""
    if not build.others or build.make() == replace(build, others=()).make():
        return
    for index, other in enumerate(build.others):
        without = replace(build, others=tuple(one for at, one in enumerate(build.others) if at != index))
        title = f"{gvk_of(other).kind}/{name_of(other)}"
        yield Input(source=Source(kind=SourceKind.OBJECT, name=title), trials=((Trial(build=without, tried=None),),))
        for parts, value in walk_parts(other):
            if not _is_input(parts):
                continue
            is_secret = gvk_of(other) == kinds.SECRET and parts[0] in SECRET_FIELDS
            groups = [[_OTHER_DATA]] if is_secret else alternatives(value)
            trials = tuple(
                tuple(Trial(build=_with_other(build, index, put(other, parts, new)), tried=new) for new in group)
                for group in groups
            )
            name = f"{title}: {name_path(parts, None)}"
            source = Source(kind=SourceKind.OBJECT, name=name, value=value, is_private=is_secret)
            yield Input(source=source, trials=trials)


def _with_other(build: Build, index: int, other: Manifest) -> Build:
    return replace(build, others=tuple(other if at == index else one for at, one in enumerate(build.others)))


def _kind_inputs(build: Build) -> Iterator[Input]:
    for name in OPTIONAL_KINDS:
        other = replace(build, installed=build.installed ^ {name})
        source = Source(kind=SourceKind.OPTIONAL_KIND, name=name, value=name in build.installed)
        yield Input(source=source, trials=((Trial(build=other, tried=name not in build.installed),),))


def _setting_values(name: str, value: object) -> Sequence[Sequence[Json]]:
    """Groups of other values of a setting."""
    annotation = Settings.model_fields[name].annotation
    allowed = get_args(annotation) if get_origin(annotation) is not None else ()
    if isinstance(value, StrEnum):
        allowed = tuple(type(value))
    if allowed and isinstance(value, str):
        return [[str(other)] for other in allowed if other != value]
    if isinstance(value, str) and value:
        return [[*(new for group in alternatives(value) for new in group), *_SAMPLES]]
    return [list(_SAMPLES)] if isinstance(value, str) else alternatives(_plain(value))


def _with_setting(settings: Settings, name: str, value: Json) -> Settings | None:
    try:
        return Settings.model_validate({**settings.model_dump(), name: value})
    except ValidationError:
        return None


def _plain(value: object) -> Json:
    return str(value) if isinstance(value, StrEnum) else list(value) if isinstance(value, tuple) else value
