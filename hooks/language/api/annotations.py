"""The type annotations of the models' fields, in JSON's terms."""

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

SCALAR_TYPES: Mapping[Any, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}
"""Python type to the JSON schema's name of it."""


def without_none(annotation: Any) -> Any:
    """The type without None, which means an absent field."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    members = [member for member in get_args(annotation) if member is not types.NoneType]
    return members[0] if len(members) == 1 else Union[tuple(members)]  # noqa: UP007 - of a list, not of names
