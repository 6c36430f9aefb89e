"""An origin for a person: one leaf in sections, or many leaves in a line each."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from hooks.k8s.types import Json
from hooks.offline.explain.edits import MARK
from hooks.offline.explain.leaves import ObjectKey
from hooks.offline.explain.origins import Influence, Lever, Mode, Origin, Overridden, Source, SourceKind, Writer

Style = Callable[[str], str]
_MOST = 8
_HIDDEN = "(not shown)"


def write_origin(origin: Origin, style: Style = str, *, variable: str = "") -> str:
    """All that is known of a leaf; ends with a newline. `variable` is the one that was asked for, if any."""
    is_shown = origin.is_shown(variable)
    copied, made, deciding = (origin.by(mode) for mode in Mode)
    home = "put together in" if made else "default of"
    sections = (
        ("copied from", [_describe_influence(one, is_shown=is_shown) for one in copied]),
        ("made from", [_describe_influence(one, is_shown=is_shown) for one in made]),
        (home, [] if copied else _describe_writer(origin.writer)),
        ("without that", [line for one in origin.overridden for line in _describe_overridden(one, is_shown=is_shown)]),
        ("decided by", _cut([_describe_influence(one, is_shown=is_shown) for one in deciding])),
        ("to change it, write", [_describe_lever(one, is_shown=is_shown) for one in origin.levers if one.follows]),
        ("changed too by", [_describe_lever(one, is_shown=is_shown) for one in origin.levers if not one.follows]),
    )
    lines = [style(f"{origin.place}"), f"  {_show(origin.value, is_shown=is_shown)}"]
    for title, found in sections:
        if found:
            lines += ["", style(title), *(f"  {line}" for line in found)]
    return "\n".join(lines) + "\n"


def write_list(origins: Iterable[Origin], style: Style = str) -> str:
    """One line for each leaf, below the object that has it; values of variables are not shown."""
    lines: list[str] = []
    last: ObjectKey | None = None
    for one in origins:
        if one.place.object != last:
            last = one.place.object
            lines.append(style("/".join(last)))
        lines.append(f"  {one.place.path} = {_show(one.value, is_shown=one.is_shown())}  # {summarize(one)}")
    return "\n".join(lines) + "\n"


def summarize(origin: Origin) -> str:
    """Half a sentence: the strongest inputs, or the home of a default."""
    copied, made = origin.by(Mode.COPIED), origin.by(Mode.PART)
    if copied or made:
        return ", ".join(name_source(one.source) for one in (copied or made)[:_MOST])
    deciding = origin.by(Mode.DECIDES)
    home = f"default of {origin.writer.file}" if origin.writer else "computed"
    return f"{home}, by {name_source(deciding[0].source)}" if deciding else home


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


def _show(value: Json, *, is_shown: bool = True) -> str:
    return json.dumps(value, ensure_ascii=False) if is_shown else _HIDDEN


def _describe_influence(influence: Influence, *, is_shown: bool) -> str:
    source = influence.source
    given = "" if source.is_private or source.value is None or not is_shown else f": {_show(source.value)}"
    shown = f"{name_source(source)}{given}"
    is_told = influence.mode is Mode.DECIDES and is_shown and not source.is_private
    if not is_told or _is_marked(influence.tried, influence.then):
        return shown
    return f"{shown}; {_describe_then(influence.tried, influence.then)}"


def _is_marked(*values: Json) -> bool:
    return any(MARK in str(value) for value in values)


def _describe_then(tried: Json, then: Json) -> str:
    with_it = "without it" if tried is None else f"with {_show(tried)}"
    return f"{with_it} the field is gone" if then is None else f"{with_it} it is {_show(then)}"


def _describe_writer(writer: Writer | None) -> Sequence[str]:
    if writer is None:
        return []
    own = [f"{writer.function}: {writer.sentence}"] if writer.sentence else [writer.function]
    return [f"{writer.file}: {writer.about}", *own]


def _describe_overridden(one: Overridden, *, is_shown: bool) -> Iterator[str]:
    yield f"{_show(one.value, is_shown=is_shown)}, if {name_source(one.without)} were not written"
    sources = [name_source(found.source) for found in one.influences if found.mode is not Mode.DECIDES]
    if sources:
        yield f"  from {', '.join(sources)}"
    elif one.writer:
        yield f"  default of {one.writer.file}: {one.writer.about}"


def _describe_lever(lever: Lever, *, is_shown: bool) -> str:
    if lever.follows:
        return f"{lever.name}, with all fields beside it" if lever.is_whole else lever.name
    if lever.tried is None or not is_shown:
        return lever.name
    return f"{lever.name}: {_describe_then(lever.tried, lever.then)}"


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"and {len(lines) - _MOST} more"]
