"""An origin for a person: one leaf in sections, or many leaves in a line each."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from hooks.ground.k8s.types import Json
from hooks.tools.offline.explain.edits import MARK
from hooks.tools.offline.explain.leaf_sources import (
    Influence,
    LeafSources,
    Lever,
    Mode,
    OfRelease,
    Overridden,
    Source,
    SourceKind,
)
from hooks.tools.offline.explain.leaves import ObjectKey

Style = Callable[[str], str]
_MOST = 8
_HIDDEN = "(not shown)"


def write_leaf_sources(origin: LeafSources, style: Style = str, *, variable: str = "") -> str:
    """All that is known of a leaf; ends with a newline. `variable` is the one that was asked for, if any."""
    is_shown = origin.is_shown(variable)
    copied, made, deciding = (origin.by(mode) for mode in Mode)
    usual = origin.kubernetes_default if is_shown else None
    sections = (
        ("copied from", [_describe_influence(one, is_shown=is_shown) for one in copied]),
        ("made from", [_describe_influence(one, is_shown=is_shown) for one in made]),
        ("default", ["built in"] if origin.is_built_in else []),
        ("default of Kubernetes", [] if usual is None or usual == origin.value else [show(usual)]),
        ("without that", [line for one in origin.overridden for line in _describe_overridden(one, is_shown=is_shown)]),
        ("decided by", cut([_describe_influence(one, is_shown=is_shown) for one in deciding])),
        ("to change it, write", [_describe_lever(one, is_shown=is_shown) for one in origin.levers if one.follows]),
        ("changed too by", [_describe_lever(one, is_shown=is_shown) for one in origin.levers if not one.follows]),
    )
    lines = [style(f"{origin.place}"), f"  {show(origin.value, is_shown=is_shown)}"]
    for title, found in sections:
        if found:
            lines += ["", style(title), *(f"  {line}" for line in found)]
    return "\n".join(lines) + "\n"


def write_list(leaf_sources: Iterable[LeafSources], style: Style = str) -> str:
    """One line for each leaf, below the object that has it; values of variables are not shown."""
    lines: list[str] = []
    last: ObjectKey | None = None
    for one in leaf_sources:
        if one.place.object != last:
            last = one.place.object
            lines.append(style("/".join(last)))
        lines.append(f"  {one.place.path} = {show(one.value, is_shown=one.is_shown())}  # {summarize(one)}")
    return "\n".join(lines) + "\n"


def summarize(origin: LeafSources) -> str:
    """Half a sentence: the strongest inputs, or that it is built in."""
    if not origin.is_built_in:
        found = origin.by(Mode.COPIED) or origin.by(Mode.PART)
        return ", ".join(name_source(one.source) for one in found[:_MOST])
    deciding = origin.by(Mode.DECIDES)
    return f"built in, decided by {name_source(deciding[0].source)}" if deciding else "built in"


def name_source(source: Source) -> str:
    """An input in a few words: its place in a file, or what else it is."""
    match source.kind:
        case SourceKind.FIELD:
            return f"{source.file}:{source.line} {source.name}"
        case SourceKind.NAMESPACE:
            return "option --namespace"
        case SourceKind.SETTING:
            return f"setting {source.name}"
        case SourceKind.OPTIONAL_KIND:
            return f"option --with {source.name}"
        case SourceKind.SCHEMA:
            return f"default of the schema, {source.name}"
        case SourceKind.OBJECT:
            return source.name


def show(value: Json, *, is_shown: bool = True) -> str:
    """A value as JSON, if it may be seen."""
    return json.dumps(value, ensure_ascii=False) if is_shown else _HIDDEN


def _describe_influence(influence: Influence, *, is_shown: bool) -> str:
    source = influence.source
    given = "" if source.is_private or source.value is None or not is_shown else f": {show(source.value)}"
    shown = f"{name_source(source)}{given}"
    if influence.releases and is_shown:
        return f"{shown}; {_describe_releases(influence.releases)}"
    is_told = influence.mode is Mode.DECIDES and is_shown and not source.is_private
    if not is_told or _is_marked(influence.tried, influence.then):
        return shown
    return f"{shown}; {describe_then(influence.tried, influence.then)}"


def _describe_releases(releases: Sequence[OfRelease]) -> str:
    """`before 1.0 the field is gone, from 1.0 on it is "false", from 1.5 on "true"`."""
    first, *later = releases
    parts = [f"before {later[0].since} {_describe_value(first.value)}"]
    parts += [f"from {one.since} on {_describe_value(one.value)}" for one in later]
    return ", ".join(parts)


def _describe_value(value: Json) -> str:
    return "the field is gone" if value is None else f"it is {show(value)}"


def _is_marked(*values: Json) -> bool:
    return any(MARK in str(value) for value in values)


def describe_then(tried: Json, then: Json) -> str:
    """What a leaf is with another value of an input."""
    with_it = "without it" if tried is None else f"with {show(tried)}"
    return f"{with_it} {_describe_value(then)}"


def _describe_overridden(one: Overridden, *, is_shown: bool) -> Iterator[str]:
    yield f"{show(one.value, is_shown=is_shown)}, if {name_source(one.without)} were not written"
    sources = [name_source(found.source) for found in one.influences if found.mode is not Mode.DECIDES]
    if sources:
        yield f"  from {', '.join(sources)}"
    else:
        yield "  built in"


def _describe_lever(lever: Lever, *, is_shown: bool) -> str:
    name = f"{lever.name} ({' | '.join(lever.values)})" if lever.values else lever.name
    if lever.follows:
        return f"{name}, with all fields beside it" if lever.is_whole else name
    if lever.tried is None or not is_shown:
        return name
    return f"{name}: {describe_then(lever.tried, lever.then)}"


def cut(lines: list[str], most: int = _MOST) -> list[str]:
    """The first lines, and how many more there are."""
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more"]
