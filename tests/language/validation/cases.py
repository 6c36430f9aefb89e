"""Objects and changes that upstream's tests know, and ours beside them, each with what the rules say.

The pure rules are held to them here, and a real API server in the cluster tests.
"""

from hooks.ground.k8s.types import gvk_of, plural_of
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review, Verdict
from hooks.server.admission.rules import RULES
from tests.language.validation.cases_change import CHANGES, SCALING
from tests.language.validation.cases_graph import GRAPHS, NAMES
from tests.language.validation.cases_other import ADAPTERS, MODELS, REQUESTS
from tests.language.validation.cases_spec import SPECS
from tests.language.validation.cases_topology import TOPOLOGIES
from tests.language.validation.objects import Case

CASES: tuple[Case, ...] = (*GRAPHS, *NAMES, *TOPOLOGIES, *SPECS, *CHANGES, *MODELS, *REQUESTS, *ADAPTERS, *SCALING)


def judge_case(case: Case) -> Verdict:
    """What admission says of the case in a cluster whose optional kinds are unknown."""
    review = Review(new=case.new, old=case.old, user=None, settings=parse_settings({}, case.settings), installed=None)
    return RULES[plural_of(gvk_of(case.new))](review)
