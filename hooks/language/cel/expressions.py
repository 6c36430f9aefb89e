"""Rules that the API server evaluates, in the Common Expression Language, and how they are added to a schema.

The expressions use what Kubernetes 1.30 has: optional fields (`?.`), quantities, `format` and an optional `oldSelf`. It
has no sorting, and no index in a macro. The API server cannot estimate the size of what `orValue` returns; therefore
expressions call only `size` on such a text or list, and neither compare it nor iterate over it.

The API server evaluates each rule at each write, also of a status. What it costs is the look-up of fields: `self.field`
copies the schemas of all fields that `self` may have, several times. `optional.of(self).?field` reads the decoded JSON
instead. So expressions that read many fields, or fields of each service, begin with `unpacked`. Its values are those of
JSON: a time is a text.

Source: Kubernetes, CustomResourceDefinition v1, "Validation rules".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter

from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Rule
from hooks.language.api.structural import SchemaNode

At = tuple[str, ...]
"""The place of a rule: the names of properties from the root on."""

_SUFFIXES = ("", *(f"{unit}i" for unit in "KMGTPE"), *"numkMGTPE")
NAME = "self.metadata.name"
VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A text with an expression for each `%s` (a text's value) and `%d` (a number's) in it."""

    form: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CelRule:
    """One rule: its place in the schema, what must hold, and the message if it does not.

    `text` is an expression, `message` a plain text; one of them is given. With `may_be_new`, `oldSelf` is an optional
    value, absent on create; without it, a rule that reads `oldSelf` is evaluated on updates only.
    """

    rule: Rule
    at: At
    holds: str
    text: str = ""
    message: str = ""
    may_be_new: bool = False


def cel_rule(
    rule: Rule,
    at: At,
    holds: str,
    path: FieldPath | Phrase,
    *,
    values: Mapping[str, Phrase] | None = None,
    first_key: str = "",
) -> CelRule:
    """The rule in CEL, with its own words about the field `path`.

    `values` are the expressions for the placeholders of the words, by name. `first_key` is an expression: whether the
    key `k` of the map `self` breaks the rule. With it, path and values may name `k`.
    """
    said = fill_text(rule.text, **{**(values or {}), "path": path})
    if not said.values:
        return CelRule(rule=rule, at=at, holds=holds, message=said.form)
    text = of_first_key(first_key, format_text(said)) if first_key else format_text(said)
    return CelRule(rule=rule, at=at, holds=holds, text=text)


def fill_text(text: str, **parts: FieldPath | Phrase) -> Phrase:
    """A rule's text with its placeholders filled in.

    Raises:
        KeyError: a placeholder has no value.
    """
    form = ""
    values: list[str] = []
    for literal, name, _, conversion in Formatter().parse(text):
        form += literal
        if name is not None:
            given = parts[name]
            part = given if isinstance(given, Phrase) else Phrase(str(given))
            form += f"'{part.form}'" if conversion == "r" else part.form
            values += part.values
    return Phrase(form, tuple(values))


def format_text(phrase: Phrase) -> str:
    """An expression for the text.

    It uses `format`: for `+` the API server's cost estimate assumes the longest possible texts, and exceeds the budget.
    """
    return f"{quote(phrase.form)}.format([{', '.join(phrase.values)}])"


def quote(text: str) -> str:
    """A text as a literal of the language."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def name_rule(rule: Rule, broken: str, text: str) -> CelRule:
    """A rule about an object's name; it is placed at the root and evaluated only on create.

    An expression sees `metadata` only at the root, and the status is below the root too. On updates, the rule would
    refuse status writes to an object that is older than the rule. A name does not change, so create is enough.
    """
    return CelRule(rule=rule, at=(), holds=f"oldSelf.hasValue() || !({broken})", text=text, may_be_new=True)


def unpacked(value: str) -> str:
    """An expression for an optional value whose fields are cheap to read: `.?field`, or `has()`."""
    return f"optional.of({value})"


def fixed(field: str) -> str:
    """An expression for a text in `self` that is immutable; empty counts as absent."""
    new = f"size({unpacked('self')}.?{field}.orValue(''))"
    was = f"{unpacked('oldSelf')}.?{field}.orValue('')"
    return f"size({was}) == 0 ? {new} == 0 : {new} > 0 && self.{field} == {was}"


def of_first_key(broken: str, text: str, of: str = "self") -> str:
    """An expression for a text about the first key `k` of a map that breaks a rule."""
    return f"[{of}.filter(k, {broken})[0]].map(k, {text})[0]"


def is_zero(quantity: str) -> str:
    """An expression for whether a quantity is zero; it knows only the usual ways to write zero.

    To parse every quantity of a list exceeds the cost budget, because a quantity could be megabytes long.
    """
    written = ", ".join(f"'0{suffix}'" for suffix in _SUFFIXES)
    return f"({quantity} == 0 || {quantity} in [{written}])"


def add_rules(schema: SchemaNode, rules: Iterable[CelRule]) -> SchemaNode:
    """The schema with the rules added at their places, after the existing ones; rules of one place keep their order.

    Raises:
        KeyError: a place that the schema does not have.
    """
    changed = schema
    for rule in rules:
        changed = _add(changed, rule.at, _write(rule))
    return changed


def _add(schema: SchemaNode, at: At, written: dict[str, Json]) -> SchemaNode:
    if not at:
        return schema | {VALIDATIONS: [*schema.get(VALIDATIONS, ()), written]}
    part = _add(schema["properties"][at[0]], at[1:], written)
    return schema | {"properties": schema["properties"] | {at[0]: part}}


def _write(rule: CelRule) -> dict[str, Json]:
    optional = {"optionalOldSelf": True} if rule.may_be_new else {}
    if rule.text:
        said = {"message": f"broken rule: {rule.rule.name}", "messageExpression": rule.text}
        return {"rule": rule.holds, **said, **optional}
    return {"rule": rule.holds, "message": rule.message, **optional}
