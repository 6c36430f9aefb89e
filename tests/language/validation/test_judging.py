"""What an old object excuses, which objects pass unseen, and that no object makes the rules fail."""

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.language.crds import apply_defaults, find_faults
from hooks.language.rules import schema
from hooks.language.validation.review import Review, Verdict
from hooks.server.admission.rules import DEFAULTS, RULES
from tests.effort import examples
from tests.language.validation.cases import CASES
from tests.language.validation.objects import (
    Case,
    Json,
    Manifest,
    adapter,
    component,
    graph,
    lora,
    model,
    request,
    service,
)

NOTHING_SET = parse_settings({})


def review(new: Manifest, old: Manifest | None = None, **settings: str) -> Review:
    return Review(new=new, old=old, user=None, settings=parse_settings({}, settings), installed=None)


def judge(new: Manifest, old: Manifest | None = None) -> Verdict:
    return RULES[f"{new['kind'].lower()}s"](review(new, old))


def with_labels(manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {"a": "b"}}}


BY_THEMSELVES = [case for case in CASES if case.old is None and not case.settings]


@pytest.mark.parametrize("case", BY_THEMSELVES, ids=lambda case: case.id)
def test_unrelated_update_of_an_object_stored_before_a_rule_came_passes(case: Case) -> None:
    assert judge(with_labels(case.new), case.new).problems == ()


def test_update_that_adds_a_problem_is_refused_for_that_alone() -> None:
    old = service(sharedMemory={})
    assert texts_of(judge(service(sharedMemory={}, replicas=-1), old).problems) == (
        "spec.services[main].replicas must be non-negative",
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_object_that_is_being_deleted_passes(case: Case) -> None:
    metadata = {**case.new["metadata"], "deletionTimestamp": "2026-03-01T00:00:00Z"}
    assert judge({**case.new, "metadata": metadata}, case.old) == Verdict(problems=())


def test_name_that_is_to_be_generated_counts_with_its_suffix() -> None:
    named = component()
    metadata = {"generateName": "c" * 59}
    assert judge({**named, "metadata": metadata}).reasons == ("name",)
    assert judge({**named, "metadata": {"generateName": "c" * 58}}).problems == ()


def test_object_that_fits_no_model_is_refused_with_its_field() -> None:
    verdict = judge(service(replicas="two"))
    assert verdict.reasons == ("invalid",)
    assert texts_of(verdict.problems) == ('spec.services[main].replicas: is the string "two", should be an integer',)


def test_number_for_text_in_one_service_hides_nothing_of_the_next() -> None:
    services = {"A": {"resources": {"limits": {"gpu": 1}}}, "B": {"resources": {"limits": {"memory": "10GB"}}}}
    of_type, of_form = judge(graph(services)).problems
    assert of_type.text == 'spec.services[A].resources.limits.gpu: is the integer 1, should be a string: write "1"'
    assert str(of_form.path) == "spec.services[B].resources.limits.memory"


def test_two_volumes_of_one_name_are_one_problem() -> None:
    volume = {"name": "v", "emptyDir": {}}
    (problem,) = judge(service(extraPodSpec={"mainContainer": {"image": "i"}, "volumes": [volume, volume]})).problems
    assert str(problem.path) == "spec.services[main].extraPodSpec.volumes[1].name"


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"services": []}, ["spec.services"]),
        ({"services": {"main": []}}, ["spec.services[main]"]),
        ({"services": {"main": {"extraPodSpec": 5}}}, ["spec.services[main].extraPodSpec"]),
        (
            {"services": 1, "restart": {"id": "1", "strategy": {"order": ["main"]}}},
            ["spec.services"],
        ),
        (
            {"restart": {"id": "1", "strategy": {"order": ["main", {}]}}},
            ["spec.restart.strategy.order[1]"],
        ),
        (
            {"topologyConstraint": {"topologyProfile": "p", "packDomain": []}},
            ["spec.topologyConstraint.packDomain"],
        ),
        (
            {
                "pvcs": [
                    {"name": "a", "create": True, "storageClass": [], "size": {}, "volumeAccessMode": "ReadWriteOnce"}
                ]
            },
            ["spec.pvcs[0].size", "spec.pvcs[0].storageClass"],
        ),
    ],
    ids=str,
)
def test_what_follows_from_a_field_that_does_not_fit_is_no_problem_of_its_own(spec: Json, fields: list[str]) -> None:
    new = graph({"main": {}})
    verdict = judge({**new, "spec": {**new["spec"], **spec}})
    assert [str(problem.path) for problem in verdict.problems] == fields


def test_field_that_does_not_fit_is_no_change_of_what_was_there() -> None:
    old = graph({"main": {}, "more": {}}, backendFramework="vllm")
    new = {**old, "spec": {**old["spec"], "services": [], "backendFramework": {}}}
    assert [str(problem.path) for problem in judge(new, old).problems] == ["spec.backendFramework", "spec.services"]


def test_object_that_did_not_fit_before_may_be_labelled() -> None:
    old = service(replicas="two", sharedMemory={})
    assert judge(with_labels(old), old).problems == ()


def test_warnings_of_an_update_are_told_and_those_of_the_object_are_not() -> None:
    verdict = judge(graph(backendFramework="vllm", services={"main": {"autoscaling": {}}}), graph())
    assert texts_of(verdict.warnings) == ("Changing spec.backendFramework may cause unexpected behavior",)


KINDS = [graph(), component(), model(), lora(), request(), adapter()]
NAMES = st.sampled_from(
    sorted({"main", "spec", "services", "name", "replicas", "multinode", "nodeCount", "a", "Main", "x/y~z"})
)
TEXTS = st.one_of(st.text(string.printable, max_size=12), st.sampled_from(["1Gi", "lora", "epp", "0", "s3://a", ""]))
LEAVES = st.none() | st.booleans() | st.integers(-3, 2**63) | st.floats(allow_nan=False) | TEXTS
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


@st.composite
def damaged(draw: st.DrawFn) -> Manifest:
    """An object of ours of which some parts are replaced by anything."""
    obj = draw(st.sampled_from([case.new for case in CASES]))
    for _ in range(draw(st.integers(1, 3))):
        obj = _damage(draw, obj, depth=draw(st.integers(1, 5)))
    return {**obj, "apiVersion": "nvidia.com/v1alpha1", "kind": draw(st.sampled_from(KINDS))["kind"]}


def _damage(draw: st.DrawFn, value: Json, *, depth: int) -> Any:
    if not isinstance(value, dict) or not value or depth == 0:
        return draw(ANYTHING)
    key = draw(st.sampled_from(sorted(value)))
    return {**value, key: _damage(draw, value[key], depth=depth - 1)}


@settings(max_examples=examples(300), deadline=None)
@given(new=damaged(), old=st.one_of(st.none(), damaged()))
def test_no_object_makes_rules_or_defaults_fail(new: Manifest, old: Manifest | None) -> None:
    resource = f"{new['kind'].lower()}s"
    verdict = RULES[resource](review(new, old))
    assert all(problem.text for problem in (*verdict.problems, *verdict.warnings))
    assert bool(verdict.problems) is bool(verdict.reasons)
    assert all(operation["op"] == "add" for operation in DEFAULTS[resource](review(new, old, installation="a")))


@settings(max_examples=examples(200), deadline=None)
@given(new=damaged())
def test_object_that_fits_its_schema_is_read_by_the_rules(new: Manifest) -> None:
    if find_faults(new):
        return
    verdict = RULES[f"{new['kind'].lower()}s"](review(apply_defaults(new)))
    assert all(problem.rule is not schema.TYPE for problem in verdict.problems)
