"""The problems that a schema finds in a value."""

from collections.abc import Iterable

from jsonschema_rs import ValidationError, ValidationErrorKind

from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.api.structural import SchemaNode
from hooks.language.crds.suggestions import suggest_field
from hooks.language.rules import schema as rules
from hooks.language.rules.values import show_value, suggest


def describe_unknown(path: FieldPath, schema: SchemaNode, above: Iterable[tuple[FieldPath, SchemaNode]]) -> Problem:
    """The problem of a field that is not in its object's schema; `above` as in `suggest_field`."""
    guess = suggest_field(str(path.parts[-1]), schema, above)
    return rules.UNKNOWN_FIELD.at(path, hint=f"; {guess}" if guess else "")


def describe_error(error: ValidationError, path: FieldPath) -> Problem:
    """The problem of one value."""
    kind, value = error.kind, error.instance
    match kind:
        case ValidationErrorKind.Type():
            return rules.find_wrong_type(path, value, kind.types)
        case ValidationErrorKind.AnyOf():
            return rules.find_wrong_type(path, value, ["integer", "string"])
        case ValidationErrorKind.Enum():
            options = [str(option) for option in kind.options if option != ""]
            guess = suggest(str(value), options)
            hint = f"; {guess}" if guess else ""
            return rules.ENUM.at(path, found=show_value(value), choices=", ".join(options), hint=hint)
        case ValidationErrorKind.Pattern():
            return rules.PATTERN.at(path, found=show_value(value), form=_name_form(kind.pattern))
        case ValidationErrorKind.Format():
            return rules.FORMAT.at(path, found=show_value(value), form=kind.format)
        case _:
            return _describe_limit(error, path)


def _describe_limit(error: ValidationError, path: FieldPath) -> Problem:
    kind = error.kind
    value: Json = error.instance
    match kind:
        case ValidationErrorKind.MinLength() if value == "":
            return rules.EMPTY.at(path)
        case ValidationErrorKind.Minimum() | ValidationErrorKind.Maximum():
            rule = rules.MINIMUM if isinstance(kind, ValidationErrorKind.Minimum) else rules.MAXIMUM
            return rule.at(path, found=show_value(value), limit=str(kind.limit))
        case ValidationErrorKind.MinLength() | ValidationErrorKind.MaxLength():
            rule = rules.MIN_LENGTH if isinstance(kind, ValidationErrorKind.MinLength) else rules.MAX_LENGTH
            return rule.at(path, count=len(value), limit=kind.limit)
        case ValidationErrorKind.MaxItems() | ValidationErrorKind.MaxProperties():
            return rules.MAX_ENTRIES.at(path, count=len(value), limit=kind.limit)
        case _:
            return rules.OTHER.at(path, why=error.message)


def _name_form(pattern: str) -> str:
    if "KMGTPE" in pattern:
        return "a quantity, for example 500m, 2 or 16Gi"
    if pattern.startswith("^[a-z0-9]"):
        return "a name of lower-case letters, digits, - and ., starting and ending with a letter or digit"
    if pattern.startswith("^(("):
        return "a label value of letters, digits, -, _ and ., starting and ending with a letter or digit"
    return f"like {pattern}"
