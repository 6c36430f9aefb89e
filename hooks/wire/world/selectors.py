"""Label and annotation selectors, matched as Kubernetes matches them."""

from collections.abc import Mapping, Sequence
from typing import Any

Labels = Mapping[str, str]


def matches(selector: Mapping[str, Any] | None, labels: Labels, *, exact: str = "matchLabels") -> bool:
    """Whether labels satisfy a LabelSelector; None and {} select everything.

    `exact` is the key of the equality part: `matchAnnotations` in a DecoratorController's annotationSelector.

    Raises:
        ValueError: an operator is not one of In, NotIn, Exists, DoesNotExist.
    """
    if selector is None:
        return True
    wanted: Labels = selector.get(exact) or {}
    expressions: Sequence[Mapping[str, Any]] = selector.get("matchExpressions") or ()
    return wanted.items() <= labels.items() and all(_holds(expression, labels) for expression in expressions)


def _holds(expression: Mapping[str, Any], labels: Labels) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(f'"{other}" is not a valid label selector operator')
