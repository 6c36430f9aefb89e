"""Paths of fields by a kind's schema, which says which names are fields and which are keys of maps."""

import re
from collections.abc import Iterable

from hooks.ground.problems import HERE, FieldPath, Key
from hooks.language.api.structural import SchemaNode, schema_of

_FIELD = re.compile(r"[A-Za-z_$][A-Za-z0-9_]*")


def name_path(parts: Iterable[str | int], schema: SchemaNode | None) -> FieldPath:
    """The path of these names and indices in an object with that schema; None if the schema is unknown."""
    path = HERE
    for part in parts:
        if isinstance(part, int):
            path, schema = path / part, schema and schema.get("items")
        else:
            path, schema = add_name(path, part, schema), schema and schema_of(part, schema)
    return path


def add_name(path: FieldPath, name: str, schema: SchemaNode | None) -> FieldPath:
    """The path of a field or key of an object with that schema; a name that no field can have is a key."""
    is_key = bool(schema and "additionalProperties" in schema) or not _FIELD.fullmatch(name)
    return FieldPath((*path.parts, Key(name) if is_key else name))
