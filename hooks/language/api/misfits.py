"""Fields of an object that do not fit its model: their problems, and the object with these fields replaced.

A number or boolean in place of a string becomes a string. Any other field that does not fit is left out; an entry of a
list or map becomes empty instead.
"""

import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.api.annotations import SCALAR_TYPES, without_none
from hooks.language.rules import schema as rules

_EMPTY: Mapping[str, Any] = {"string": "", "integer": 0, "boolean": False, "array": (), "object": {}}
_LEFT_OUT = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """A field that does not fit, and the value that replaces it."""

    problem: Problem
    replacement: Any

    @property
    def path(self) -> FieldPath:
        """The path of the field."""
        return self.problem.path


def find_misfits(model: type[BaseModel], error: ValidationError) -> tuple[Misfit, ...]:
    """The fields that do not fit the model, each once."""
    faults = error.errors(include_url=False, include_context=False)
    found = [_find_misfit(model, fault["loc"], fault["type"], fault["input"]) for fault in faults]
    return tuple({misfit.path: misfit for misfit in reversed(found)}.values())


def repair(manifest: ReadManifest, misfits: Iterable[Misfit]) -> ReadManifest:
    """The object with the fields replaced."""
    repaired: Any = manifest
    for misfit in misfits:
        repaired = _put(repaired, misfit.path.parts, misfit.replacement)
    return dict(repaired)


def _find_misfit(model: type[BaseModel], loc: tuple[int | str, ...], kind: str, value: Any) -> Misfit:
    path, annotation, is_entry = _follow(model, loc)
    wanted = _types_of(annotation)
    if kind == "missing":
        return Misfit(problem=rules.REQUIRED.at(path), replacement=_empty(wanted))
    problem = rules.find_wrong_type(path, value, wanted)
    if "string" in wanted and isinstance(value, bool | int | float):
        return Misfit(problem=problem, replacement=json.dumps(value))
    return Misfit(problem=problem, replacement=_empty(wanted) if is_entry else _LEFT_OUT)


def _follow(annotation: Any, loc: Iterable[int | str]) -> tuple[FieldPath, Any, bool]:
    """The path of a place in a model, its type, and whether it is an entry of a list or map.

    pydantic's locations also name the member of a union, which is not part of a path.
    """
    parts: list[int | str] = []
    is_entry = False
    for part in loc:
        origin = get_origin(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = annotation.model_fields.items()
            field = next(field for name, field in fields if part in (field.alias, name))
            parts.append(part)
            annotation, is_entry = without_none(field.annotation), False
        elif origin is tuple:
            parts.append(part)
            annotation, is_entry = without_none(get_args(annotation)[0]), True
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            parts.append(Key(part))
            annotation, is_entry = without_none(get_args(annotation)[1]), True
        else:
            break
    return FieldPath(tuple(parts)), annotation, is_entry


def _types_of(annotation: Any) -> tuple[str, ...]:
    """The JSON schema's names of a type, several for a union."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return tuple(name for member in get_args(annotation) for name in _types_of(member))
    if origin is tuple:
        return ("array",)
    return (SCALAR_TYPES.get(annotation, "object"),)


def _empty(wanted: tuple[str, ...]) -> Any:
    return _EMPTY[wanted[0]]


def _put(value: Any, parts: tuple[int | str, ...], replacement: Any) -> Any:
    if not parts:
        return replacement
    first, rest = parts[0], parts[1:]
    if isinstance(value, list | tuple) and isinstance(first, int):
        return [*value[:first], _put(value[first], rest, replacement), *value[first + 1 :]]
    if not rest and replacement is _LEFT_OUT:
        return {key: item for key, item in value.items() if key != first}
    return {**value, first: _put(value.get(first), rest, replacement)}
