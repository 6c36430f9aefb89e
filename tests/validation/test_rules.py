"""What the rules say of every case, and that every rule has its place and its case."""

import pytest

from hooks.admission.rules import RULES
from hooks.crds.cel_rules import CEL_RULES
from hooks.k8s.types import gvk_of
from hooks.metacontroller.protocol import plural_of
from hooks.settings import parse_settings
from hooks.validation.review import Review, Verdict
from hooks.validation.rules import TABLE, Place
from tests.validation.cases import CASES
from tests.validation.objects import Case


def judge(case: Case) -> Verdict:
    review = Review(new=case.new, old=case.old, user=None, settings=parse_settings({}, case.settings), installed=None)
    return RULES[plural_of(gvk_of(case.new))](review)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case_is_judged_in_upstreams_words(case: Case) -> None:
    verdict = judge(case)
    assert verdict.problems == case.problems
    assert verdict.warnings == case.warnings


def test_cases_have_different_names() -> None:
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", [case for case in CASES if case.problems], ids=lambda case: case.id)
def test_every_problem_is_that_of_one_rule_and_has_its_reason(case: Case) -> None:
    rules = [rule_of(problem) for problem in case.problems]
    assert None not in rules
    assert judge(case).reasons == tuple(sorted({rule.reason.value for rule in rules if rule}))


def test_table_says_of_every_rule_where_it_lives() -> None:
    in_cel = {rule.name for rules in CEL_RULES.values() for rule in rules}
    assert {rule.name for rule in TABLE if rule.place is Place.CEL} == in_cel
    assert all(bool(rule.why) is (rule.place is Place.WEBHOOK) for rule in TABLE)
    assert len({rule.name for rule in TABLE}) == len(TABLE)


def test_every_rule_has_a_case_that_breaks_it_but_for_those_that_need_the_cluster() -> None:
    broken = {rule.name for case in CASES for rule in map(case.problems) if rule}
    assert {rule.name for rule in TABLE} - broken == {"epp-pool"}
