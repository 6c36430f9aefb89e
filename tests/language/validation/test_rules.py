"""What the rules say of every case, and that every rule has its place and its case."""

import pytest

from hooks.ground.problems import Rule, Severity, texts_of
from hooks.language.cel.kinds import CEL_RULES
from hooks.language.rules import TABLE, Place, slips
from tests.language.validation.cases import CASES, judge_case
from tests.language.validation.objects import Case

ERRORS = {rule for rule in TABLE if rule.severity is Severity.ERROR}


SLIPS = frozenset(rule for rule in vars(slips).values() if isinstance(rule, Rule))
"""Our own warnings, which upstream does not have."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case_is_judged_in_upstreams_words(case: Case) -> None:
    verdict = judge_case(case)
    assert texts_of(verdict.problems) == case.problems
    assert texts_of(one for one in verdict.warnings if one.rule not in SLIPS) == case.warnings


def test_cases_have_different_names() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_problem_is_that_of_a_rule_in_the_table(case: Case) -> None:
    verdict = judge_case(case)
    assert {problem.rule for problem in verdict.problems} <= ERRORS
    assert {problem.rule for problem in verdict.warnings} <= set(TABLE) - ERRORS


def test_table_says_of_every_rule_where_it_lives() -> None:
    in_cel = {rule.rule for rules in CEL_RULES.values() for rule in rules}
    assert {rule for rule in TABLE if rule.place is Place.CEL} == in_cel
    assert all(bool(rule.why) is (rule.place is Place.WEBHOOK) for rule in TABLE)
    assert len({rule.name for rule in TABLE}) == len(TABLE)


def test_every_rule_of_admission_has_a_case_that_breaks_it_but_for_those_that_need_the_cluster() -> None:
    broken = {problem.rule for case in CASES for problem in judge_case(case).problems}
    assert {rule.name for rule in set(TABLE) - broken if rule.place is not Place.HOOKS} == {"epp-pool"}
