"""Rules about the spec of a DynamoGraphDeploymentScalingAdapter; upstream checks only the schema."""

from collections.abc import Iterator

from hooks.ground.problems import SPEC, Problem
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.language.rules import adapter as rules
from hooks.language.rules import spec as spec_rules
from hooks.language.validation.judging import Findings, judge
from hooks.language.validation.review import Review, Verdict


def review_adapter(review: Review) -> Verdict:
    """Review a scaling adapter that is about to be written."""
    return judge(review, GraphScalingAdapter, of_object=_judge_adapter)


def validate_adapter(adapter: GraphScalingAdapter) -> tuple[Problem, ...]:
    """All problems of an adapter's spec."""
    return tuple(_find_problems(adapter))


def _judge_adapter(adapter: GraphScalingAdapter, _review: Review) -> Findings:
    return Findings(problems=validate_adapter(adapter))


def _find_problems(adapter: GraphScalingAdapter) -> Iterator[Problem]:
    spec = adapter.spec
    if spec.replicas < 0:
        yield spec_rules.REPLICAS.at(SPEC / "replicas")
    if not spec.dgd_ref.name:
        yield rules.ADAPTER_GRAPH.at(SPEC / "dgdRef.name")
    if not spec.dgd_ref.service_name:
        yield rules.ADAPTER_SERVICE.at(SPEC / "dgdRef.serviceName")
