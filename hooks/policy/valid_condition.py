"""The condition Valid of all kinds: whether the spec obeys the rules. It says nothing about readiness."""

from collections.abc import Iterable

from hooks import contract
from hooks.k8s.conditions import Condition
from hooks.problems import Problem, join_texts

VALID = "Valid"
SPEC_VALID = "SpecValid"


def judge_spec(problems: Iterable[Problem] = ()) -> Condition:
    """The condition for a spec with these problems."""
    text = join_texts(problems)
    if text:
        return Condition(type=VALID, status="False", reason=contract.VALIDATION_FAILED, message=text)
    return Condition(type=VALID, status="True", reason=SPEC_VALID, message="The spec is valid")
