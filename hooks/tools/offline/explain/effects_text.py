"""What a field of the manifest does, for a person and as JSON."""

import textwrap
from collections.abc import Iterable, Iterator

from hooks.ground.k8s.types import Json
from hooks.tools.offline.explain.edits import MARK
from hooks.tools.offline.explain.effects import Effect, FieldEffects
from hooks.tools.offline.explain.leaf_sources import Mode
from hooks.tools.offline.explain.leaves import is_secret, is_variable
from hooks.tools.offline.explain.text import Style, cut, describe_then, show

_MOST_OF_GROUP = 12
_TITLES = {
    Mode.COPIED: "its value is the value of",
    Mode.PART: "its value is a part of",
    Mode.DECIDES: "it decides",
}
_WIDTH = 100
_NOTHING_IF_SET = "it changes nothing that is rendered"
_NOTHING = "it would change nothing that is rendered"
_NOT_TRIED = "what it does was not tried: it needs more than itself"


def write_effects(found: FieldEffects, style: Style = str) -> str:
    """The field with its place and meaning, then the leaves by what the field does to them; ends with a newline."""
    lines = [*_write_head(found, style)]
    for mode, title in _TITLES.items():
        effects = [one for one in found.effects if one.influence.mode is mode]
        if effects:
            lines += ["", style("it would change" if found.source is None else title)]
            lines += [f"  {line}" for line in cut([_describe(one, found) for one in effects], _MOST_OF_GROUP)]
    if not found.effects:
        lines += ["", _NOTHING_IF_SET if found.source else _NOT_TRIED if found.was_refused else _NOTHING]
    return "\n".join(lines) + "\n"


def _write_head(found: FieldEffects, style: Style) -> Iterator[str]:
    source = found.source
    yield style(f"{source.file}:{source.line} {found.name}" if source else f"{found.name} is not set")
    if source and not found.fields and not source.is_private:
        yield f"  {show(source.value)}"
    yield from (f"  {line}" for line in textwrap.wrap(found.description, _WIDTH))
    if found.fields:
        yield from (f"  {line}" for line in textwrap.wrap(f"fields: {', '.join(found.fields)}", _WIDTH))
    if found.values:
        yield f"  values: {', '.join(found.values)}"
    if source is None and found.tried is not None and MARK not in str(found.tried):
        yield f"  tried: {show(found.tried)}"


def _describe(one: Effect, found: FieldEffects) -> str:
    if not is_shown(one):
        return str(one.place)
    influence = one.influence
    if found.source is None:
        then = "" if MARK in f"{influence.then}" else f" → {show(influence.then)}"
        before = "" if one.value is None else f" = {show(one.value)}"
        return f"{one.place}{before}{then}" if influence.then is not None else f"{one.place} is gone"
    if influence.mode is not Mode.DECIDES or MARK in f"{influence.tried}{influence.then}":
        return f"{one.place} = {show(one.value)}"
    return f"{one.place} = {show(one.value)}; {describe_then(influence.tried, influence.then)}"


def is_shown(one: Effect) -> bool:
    """Whether a person may see the value; those of variables and Secrets are asked for by their own names."""
    return not is_variable(one.place) and not is_secret(one.place)


def write_effects_json(found: FieldEffects) -> Json:
    """The same for programs."""
    source = found.source
    is_plain = source is not None and not source.is_private and not found.fields
    return {
        "field": found.name,
        "description": found.description,
        "isSet": source is not None,
        **({"file": source.file, "line": source.line} if source else {}),
        **({"value": source.value} if source is not None and is_plain else {}),
        **({"fields": list(found.fields)} if found.fields else {}),
        **({"values": list(found.values)} if found.values else {}),
        **({"tried": found.tried} if source is None and MARK not in str(found.tried) else {}),
        "effects": list(_write_all(found.effects)),
    }


def _write_all(effects: Iterable[Effect]) -> Iterator[Json]:
    for one in effects:
        influence = one.influence
        tells = is_shown(one) and MARK not in f"{influence.tried}{influence.then}"
        yield {
            "object": {"kind": one.place.kind, "name": one.place.name},
            "path": str(one.place.path),
            "mode": influence.mode.value,
            **({"value": one.value} if is_shown(one) else {}),
            **({"tried": influence.tried, "then": influence.then} if tells else {}),
        }
