"""Problems of selectors: of labels, of nodes, and the keys of labels that tell pods apart."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from hooks.component.rules.pod_rules.forms import check_form
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.rules import pod_values as rules

_NEED_VALUES = frozenset({"In", "NotIn"})
_NEED_NONE = frozenset({"Exists", "DoesNotExist"})
_NEED_ONE = frozenset({"Gt", "Lt"})


def find_selector_problems(selector: Mapping[str, Json] | None, path: FieldPath) -> Iterator[Problem]:
    """Problems of a label selector; None has none."""
    if selector is None:
        return
    yield from find_label_problems(selector.get("matchLabels", {}), path / "matchLabels")
    for index, expression in enumerate(selector.get("matchExpressions", ())):
        yield from find_expression_problems(expression, path / "matchExpressions" / index)


def find_label_problems(labels: Mapping[str, str], path: FieldPath) -> Iterator[Problem]:
    """Problems of labels that select."""
    for key, value in sorted(labels.items()):
        yield from check_form(key, rules.QUALIFIED_NAME, path / Key(key))
        yield from check_form(value, rules.LABEL_VALUE, path / Key(key))


def find_expression_problems(
    expression: Mapping[str, Json], path: FieldPath, *, takes_any_value: bool = False
) -> Iterator[Problem]:
    """Problems of one requirement; an unknown operator is reported by the schema.

    `takes_any_value`: the API server accepts values that no label can have.
    """
    operator, values = expression.get("operator", ""), expression.get("values", ())
    if operator in _NEED_VALUES and not values:
        yield rules.NEEDED.at(path / "values", other=path / "operator", value=operator)
    elif operator in _NEED_NONE and values:
        yield rules.NOT_WITH.at(path / "values", other=path / "operator", value=operator)
    elif operator in _NEED_ONE and len(values) != 1:
        yield rules.FIXED.at(path / "values", found=f"{len(values)} values", wanted="one value")
    yield from check_form(expression.get("key", ""), rules.QUALIFIED_NAME, path / "key")
    for index, value in enumerate(() if takes_any_value else values):
        yield from check_form(value, rules.LABEL_VALUE, path / "values" / index)


def find_key_problems(holder: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of `matchLabelKeys` and `mismatchLabelKeys`."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys: Sequence[str] = holder.get(field, ())
        if keys and "labelSelector" not in holder:
            yield rules.NEEDED.at(path / "labelSelector", other=path / field, value="set")
            continue
        for index, key in enumerate(keys):
            yield from check_form(key, rules.QUALIFIED_NAME, path / field / index)
    others: Collection[str] = holder.get("mismatchLabelKeys", ())
    for index, key in enumerate(holder.get("matchLabelKeys", ())):
        if key in others:
            yield rules.REPEATED.at(path / "matchLabelKeys" / index, found=repr(key), other=path / "mismatchLabelKeys")
        yield from _find_repeated_keys(key, holder.get("labelSelector", {}), path, index)


def _find_repeated_keys(key: str, selector: Mapping[str, Json], path: FieldPath, index: int) -> Iterator[Problem]:
    """The key of `matchLabelKeys` becomes a requirement of the selector, which must not have two others of that key."""
    expressions = [one.get("key") for one in selector.get("matchExpressions", ())]
    uses = expressions.count(key) + (key in selector.get("matchLabels", {}))
    if uses > 1 and key in expressions:
        yield rules.REPEATED.at(path / "matchLabelKeys" / index, found=repr(key), other=path / "labelSelector")
