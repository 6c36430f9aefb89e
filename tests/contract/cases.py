"""Every contract case, as functions that take a Backend; their names are the statements they hold."""

from collections.abc import Callable

from tests.contract import cases_answers, cases_children, cases_decorator, cases_deletion, cases_related
from tests.contract.backend import Backend

Case = Callable[[Backend], None]

CASES: tuple[Case, ...] = (
    *cases_children.CASES,
    *cases_answers.CASES,
    *cases_deletion.CASES,
    *cases_related.CASES,
    *cases_decorator.CASES,
)
