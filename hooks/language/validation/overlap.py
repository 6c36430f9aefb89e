"""Which problems of rules repeat a problem of the schema, decided by rule and path."""

from collections.abc import Iterable

from hooks.ground.problems import Problem
from hooks.language.rules import component, graph, pod, reading, schema
from hooks.language.v1beta1 import rules as v1beta1

_NO_VALUE = frozenset({schema.REQUIRED, schema.TYPE, reading.METADATA, reading.NAME, reading.NAME_OF_PARENT})
"""The schema's problem is that there is no usable value in the field or below it."""

_BAD_VALUE = frozenset(
    {
        *(schema.EMPTY, schema.ENUM, schema.PATTERN, schema.FORMAT, schema.MINIMUM, schema.MAXIMUM),
        *(schema.MIN_LENGTH, schema.MAX_LENGTH, reading.NAMESPACE),
    }
)
"""The value must change; other rules about the same field say the same."""

_OF_LENGTH = frozenset(
    {
        *(graph.GRAPH_NAME_LENGTH, component.COMPONENT_NAME_LENGTH, component.SERVICE_LABEL_LENGTH),
        *(component.GROUP_NAME_LENGTH, graph.GROVE_NAME_LENGTH, graph.GROVE_NAME_KEPT, graph.SERVICE_NAME_LENGTH),
    }
)
"""Rules about names that say more than a pattern does."""


def drop_repetitions(problems: Iterable[Problem], of_schema: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems that do not repeat one of the schema."""
    said = tuple(of_schema)
    return tuple(problem for problem in problems if not any(_says_the_same(problem, other) for other in said))


def _says_the_same(problem: Problem, other: Problem) -> bool:
    if problem == other:
        return True
    if other.rule in _NO_VALUE:
        return problem.path.is_within(other.path)
    if other.rule in _BAD_VALUE:
        return problem.path == other.path and problem.rule not in _OF_LENGTH
    if problem.rule is pod.IMAGE and other.rule in {v1beta1.MAIN_CONTAINER, v1beta1.MAIN_IMAGE}:
        return other.path.is_within(problem.path)
    return other.rule is schema.REPEATED and problem.rule is pod.NAME_TAKEN and problem.path == other.path / "name"
