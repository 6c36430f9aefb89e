"""What of a request is refused before and after profiling began, and that a change may be taken back."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import Problem, texts_of
from hooks.ground.settings import parse_settings
from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.language.validation.review import Review
from hooks.request.rules.validate import rejected_change, review_request, validate_request
from hooks.request.spec.phases import RequestState
from tests.request import jobs, world


def problems_of_change(old: Manifest, new: Manifest) -> tuple[Problem, ...]:
    review = Review(new=new, old=old, user=None, settings=parse_settings({}), installed=frozenset())
    return review_request(review).problems


def with_model(model: str) -> Manifest:
    parent = jobs.request()
    return {**parent, "spec": {**parent["spec"], "model": model}}


def test_late_change_is_refused_but_one_that_slipped_through_may_be_taken_back() -> None:
    parent = with_model("a")
    profiling = world.known(parent, [world.job(parent)])
    edited = {**with_model("b"), "status": profiling["status"]}
    assert problems_of_change(profiling, edited) == (rejected_change(RequestState.PROFILING),)
    frozen = world.after(edited, world.ask(edited, [world.job(parent)]))
    assert problems_of_change(frozen, profiling) == ()
    thawed = world.after(profiling, world.ask({**profiling, "status": frozen["status"]}, [world.job(parent)]))
    assert problems_of_change(thawed, edited) == (rejected_change(RequestState.PROFILING),)


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"name": "Mine"}, "spec.deploymentOverrides.name: 'Mine' must have at most 63 characters"),
        ({"name": "n" * 64}, f"spec.deploymentOverrides.name: {'n' * 64!r} must have at most 63 characters"),
        ({"namespace": "a.b"}, "spec.deploymentOverrides.namespace: 'a.b' must consist of"),
        ({"labels": {"a": "no value!"}}, "spec.deploymentOverrides.labels[a]: 'no value!' is not a label value"),
    ],
)
def test_override_that_is_impossible_is_refused(overrides: Any, problem: str) -> None:
    request = parse_parent(GraphRequest, jobs.request(deploymentOverrides=overrides))
    (found,) = validate_request(request, parse_settings({}))
    assert found.text.startswith(problem)


def test_fields_of_the_profilers_pod_that_cannot_be_read_are_refused_and_nothing_is_built() -> None:
    profiling = {
        **jobs.request()["spec"]["profilingConfig"],
        "resources": {"limits": {"cpu": "10Gx"}, "requests": {"memory": "1Gi"}},
        "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 1.5}],
    }
    parent = jobs.request(profilingConfig=profiling)
    problems = validate_request(parse_parent(GraphRequest, parent), parse_settings({}))
    assert [str(problem.path) for problem in problems] == [
        "spec.profilingConfig.resources.limits[cpu]",
        "spec.profilingConfig.tolerations[0].tolerationSeconds",
    ]
    answer = world.ask(parent)
    assert answer.children == []
    assert problems[0].text in str(answer.status)


def test_possible_overrides_pass() -> None:
    overrides: Any = {"name": "my.graph", "namespace": "default", "labels": {"a": "", "b": "B_1"}}
    request = parse_parent(GraphRequest, jobs.request(deploymentOverrides=overrides))
    assert validate_request(request, parse_settings({})) == ()


@pytest.mark.parametrize(
    ("setting", "target", "is_allowed"),
    [
        ("own", "default", True),
        ("own", "", True),
        ("own", "other", False),
        ("own", "own", False),
        ("own", "any", False),
        ("any", "other", True),
        ("any", "kube-system", True),
        ("other", "other", True),
        ("other", "default", True),
        ("other", "others", False),
        ("team-a, other,team-b", "other", True),
        ("team-a,team-b", "kube-system", False),
        ("any,other", "kube-system", False),
        ("any,other", "other", True),
    ],
)
def test_graph_goes_only_where_the_setting_allows(setting: str, target: str, is_allowed: bool) -> None:
    request = parse_parent(GraphRequest, jobs.request(deploymentOverrides={"namespace": target}))
    found = validate_request(request, parse_settings({}, {"request_namespaces": setting}))
    assert (found == ()) is is_allowed
    text = (
        f"spec.deploymentOverrides.namespace: is {target}: a request creates its graph in its own namespace default; "
        f"leave it out, or have {target} named in the setting request_namespaces"
    )
    assert is_allowed or texts_of(found) == (text,)


def test_restricted_installation_creates_graphs_at_home_whatever_the_setting() -> None:
    request = parse_parent(GraphRequest, jobs.request(deploymentOverrides={"namespace": "other"}))
    settings = parse_settings({}, {"installation": "team-a", "request_namespaces": "any"})
    (found,) = validate_request(request, settings)
    assert "a namespace-restricted installation creates graphs in the request's own namespace only" in found.text
