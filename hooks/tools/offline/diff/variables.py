"""A difference without the values of variables and of headers, which may be secrets that were written as literals."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath
from hooks.tools.offline.diff.fields import FieldChange
from hooks.tools.offline.diff.plan import Difference

NOTE = "values of environment variables and of headers are not shown; --show-values shows them"
_NOT_SHOWN = "(not shown)"
_VARIABLES = frozenset({"env", "envs", "httpHeaders"})
_MANIFEST_WITH_VARIABLES = re.compile(r"""\benvs?["']?\s*:""")
"""In a text that holds a manifest, such as an annotation or the data of a ConfigMap."""


def without_values(difference: Difference) -> Difference:
    """The difference with the same fields, and a note if the value of a variable is left out."""
    objects = tuple(replace(one, fields=tuple(map(hide_field, one.fields))) for one in difference.objects)
    pods = tuple(replace(one, why=tuple(map(hide_field, one.why))) for one in difference.pods)
    if (objects, pods) == (difference.objects, difference.pods):
        return difference
    return replace(difference, objects=objects, pods=pods, notes=(*difference.notes, NOTE))


def hide_field(change: FieldChange) -> FieldChange:
    """The field without values that may be secrets; the same if it has none."""
    inside = _is_of_variables(change.path)
    is_value = inside and change.path.parts[-1] == "value"
    if is_value or any(map(_is_manifest, (change.old, change.new, change.old_default, change.new_default))):
        return FieldChange(path=change.path, is_variable=True)
    sides = {side: getattr(change, side) for side in ("old", "new", "old_default", "new_default")}
    return replace(change, **{side: _blank(value, inside=inside) for side, value in sides.items()})


def _is_of_variables(path: FieldPath) -> bool:
    return any(type(part) is str and part in _VARIABLES for part in path.parts)  # a `Key` is no name of a field


def _is_manifest(value: Json) -> bool:
    return isinstance(value, str) and _MANIFEST_WITH_VARIABLES.search(value) is not None


def _blank(value: Json, *, inside: bool) -> Any:
    """The same JSON with a placeholder for values of variables and for texts that hold some."""
    if isinstance(value, list | tuple):
        return [_blank(item, inside=inside) for item in value]
    if isinstance(value, Mapping):
        return {
            key: _NOT_SHOWN if inside and key == "value" else _blank(item, inside=inside or key in _VARIABLES)
            for key, item in value.items()
        }
    return _NOT_SHOWN if _is_manifest(value) else value
