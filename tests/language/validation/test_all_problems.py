"""A field of the wrong type hides no problem of another field: in admission, and in the sync of every kind."""

from collections.abc import Callable

import pytest

from hooks.adapter import sync as adapter_sync
from hooks.component import sync as component_sync
from hooks.graph import sync as graph_sync
from hooks.ground.k8s.types import gvk_of, plural_of
from hooks.ground.problems import Problem
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review
from hooks.model.plan.model import plan_model
from hooks.request import sync as request_sync
from hooks.server.admission.rules import RULES
from tests import make
from tests.language.validation import objects
from tests.language.validation.objects import Manifest

Find = Callable[[Manifest], tuple[Problem, ...]]
GPU_AND_MEMORY = {
    "a": {"resources": {"limits": {"gpu": 1}}},
    "b": {"resources": {"limits": {"memory": "10GB"}}},
}
CASES: list[tuple[Manifest, Find, tuple[str, str]]] = [
    (
        objects.graph(GPU_AND_MEMORY),
        lambda parent: graph_sync.sync(make.sync_request(parent), make.facts()).problems,
        ("spec.services[a].resources.limits.gpu", "spec.services[b].resources.limits.memory"),
    ),
    (
        objects.component(replicas="two", ingress={"enabled": True}),
        lambda parent: component_sync.sync(make.sync_request(parent), make.facts()).problems,
        ("spec.replicas", "spec.ingress.host"),
    ),
    (
        objects.request({"profilerImage": "p:0.9.1", "config": {}, "outputPVC": 5}, runtimeVersionOverride="0.9"),
        lambda parent: request_sync.sync(make.sync_request(parent), make.facts()).problems,
        ("spec.profilingConfig.outputPVC", "spec.runtimeVersionOverride"),
    ),
    (
        objects.adapter(replicas=-1, dgdRef={"name": 5, "serviceName": "main"}),
        lambda parent: adapter_sync.sync(make.sync_request(parent), make.facts()).problems,
        ("spec.dgdRef.name", "spec.replicas"),
    ),
    (
        objects.lora(baseModelName=5, source={"uri": "http://x"}),
        lambda parent: plan_model(make.sync_request(parent), make.facts(), finalizing=False).problems,
        ("spec.baseModelName", "spec.source.uri"),
    ),
]


@pytest.mark.parametrize(("parent", "sync", "paths"), CASES, ids=[case[0]["kind"] for case in CASES])
def test_wrong_type_and_broken_rule_are_both_problems(parent: Manifest, sync: Find, paths: tuple[str, str]) -> None:
    review = Review(new=parent, old=None, user=None, settings=parse_settings({}), installed=None)
    in_admission = [str(problem.path) for problem in RULES[plural_of(gvk_of(parent))](review).problems]
    in_sync = [str(problem.path) for problem in sync(parent)]
    assert sorted(in_admission) == sorted(in_sync) == sorted(paths)
