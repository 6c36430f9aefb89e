"""Rules that only v1beta1 has: what they find, and that their words fit those of v1alpha1."""

from string import Formatter
from typing import Any

import pytest

from hooks.ground.problems import Rule, Severity, texts_of
from hooks.language.rules import TABLE
from hooks.language.v1beta1 import rules as v1beta1
from hooks.language.v1beta1.checks import find_v1beta1_problems, find_v1beta1_warnings

MAIN = {"name": "main", "image": "i"}


def graph(*components: Any) -> dict[str, Any]:
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "spec": {"components": [*components]}}


def component(*containers: Any, **fields: Any) -> dict[str, Any]:
    return {"name": "a", **fields, "podTemplate": {"spec": {"containers": [*containers]}}}


def texts(manifest: dict[str, Any]) -> list[str]:
    return list(texts_of(find_v1beta1_problems(manifest)))


def names_in(rule: Rule) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(rule.text) if name}


def test_names_of_rules_differ_in_both_versions() -> None:
    names = [rule.name for rule in (*TABLE, *v1beta1.TABLE)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.name)
def test_words_of_v1beta1_need_no_other_values_and_name_no_field_of_v1alpha1(rule: Rule) -> None:
    worded = v1beta1.in_v1beta1(rule)
    assert names_in(worded) <= names_in(rule)
    assert (worded.name, worded.reason, worded.severity) == (rule.name, rule.reason, rule.severity)
    if worded != rule:
        words = set(worded.text.replace("'", " ").replace(",", " ").split())
        assert words.isdisjoint({"services", "topologyProfile", "mountPoint", "useAsCompilationCache=true"})


def test_sound_components_have_no_problem() -> None:
    sidecar = component({"name": "side"}, MAIN, frontendSidecar="side")
    assert texts(graph(component(MAIN), sidecar, component(MAIN, type="epp"))) == []
    assert texts({"kind": "DynamoComponentDeployment", "spec": component(MAIN)}) == []
    assert texts({"kind": "DynamoGraphDeploymentScalingAdapter", "spec": {"replicas": 1}}) == []


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        (component({"name": "side", "image": "i"}), "podTemplate.spec.containers: no container is named main; "),
        (component(), "podTemplate.spec.containers: no container is named main; "),
        ({"name": "a"}, "podTemplate.spec.containers: no container is named main; "),
        (component({"name": "b"}, {"name": "main"}), "podTemplate.spec.containers[1].image: is required; "),
        (component(MAIN, frontendSidecar="b"), "frontendSidecar: no container of the podTemplate is named 'b'; "),
    ],
    ids=["other name", "no container", "no template", "no image", "sidecar"],
)
def test_component_of_a_graph_and_a_lone_one_have_the_same_problem(broken: dict[str, Any], path: str) -> None:
    (in_graph,) = texts(graph(component(MAIN), broken))
    (alone,) = texts({"kind": "DynamoComponentDeployment", "spec": broken})
    assert in_graph.startswith(f"spec.components[1].{path}")
    assert alone.startswith(f"spec.{path}")


def test_field_without_effect_is_a_warning() -> None:
    forced = component(MAIN, experimental={"grove": {"forceScalingGroup": True}})
    assert texts_of(find_v1beta1_warnings(graph(component(MAIN), forced))) == (
        (
            "spec.components[1].experimental.grove.forceScalingGroup: has no effect; only a component over several "
            "nodes becomes a PodCliqueScalingGroup, and this one is scaled as a PodClique; remove the field"
        ),
    )
    assert not list(find_v1beta1_warnings(graph({**forced, "multinode": {"nodeCount": 2}})))
    assert (
        list(find_v1beta1_warnings(graph(component(MAIN, experimental={"grove": {"forceScalingGroup": False}})))) == []
    )


def test_each_endpoint_picker_after_the_first_is_one_too_many() -> None:
    picker = component(MAIN, type="epp")
    assert [text.split(":")[0] for text in texts(graph(picker, component(MAIN), picker, picker))] == [
        "spec.components[2].type",
        "spec.components[3].type",
    ]


@pytest.mark.parametrize("odd", [None, 1, "a", [], {}, [None], [[]], {"spec": 1}], ids=repr)
def test_odd_values_are_no_error(odd: Any) -> None:
    for manifest in (
        {"kind": odd, "spec": odd},
        {"kind": "DynamoGraphDeployment", "spec": odd},
        {"kind": "DynamoGraphDeployment", "spec": {"components": odd}},
        graph(odd),
        graph({"podTemplate": odd, "frontendSidecar": odd}),
        graph(component(odd)),
    ):
        problems = list(find_v1beta1_problems(manifest))
        assert list(find_v1beta1_warnings(manifest)) == []
        assert all(problem.severity is Severity.ERROR for problem in problems)
