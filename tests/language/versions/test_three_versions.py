"""A third version is one folder and one value: it is converted to and from all others, and nothing gets lost."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import SPEC, texts_of
from hooks.language.crds import build_crds
from hooks.language.crds.definitions import all_resources
from hooks.language.rules import graph as rules
from hooks.language.versions import V1BETA1
from hooks.language.versions.documents import Versions
from tests import make
from tests.effort import examples
from tests.language.api.conversion.strategies import ALPHA_DOCUMENTS, BETA_DOCUMENTS
from tests.language.api.conversion.test_properties import assert_same, with_replicas
from tests.language.v1test1.version import V1TEST1

THREE = Versions((V1BETA1, V1TEST1))
ALPHA, BETA, TEST = THREE.names
_EXAMPLES = settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
IMAGE = {"extraPodSpec": {"mainContainer": {"image": "i:1.5.0"}}}
MAIN = {"spec": {"containers": [{"name": "main", "image": "i:1.5.0"}]}}
VARIABLES = [{"name": "A", "value": "1"}]


def written(version: str, **spec: Any) -> Manifest:
    return {
        "apiVersion": f"nvidia.com/{version}",
        "kind": contract.GRAPH.kind,
        "metadata": {"name": "g", "annotations": {"mine": "x"}},
        "spec": spec,
        "status": {"state": "pending"},
    }


ONE_SAYS: dict[str, Manifest] = {
    "v1alpha1": written(
        ALPHA,
        envs=VARIABLES,
        pvcs=[{"name": "cache"}],
        services={"a": {**IMAGE, "dynamoNamespace": "d", "ingress": {"enabled": True}}, "b": IMAGE},
    ),
    "v1beta1": written(
        BETA,
        env=VARIABLES,
        topologyConstraint={"clusterTopologyName": "t"},
        components=[
            {"name": "z", "replicas": 1, "podTemplate": MAIN, "experimental": {"grove": {"forceScalingGroup": True}}},
            {"name": "a", "replicas": 2, "podTemplate": {**MAIN, "metadata": {"labels": {"l": "m"}}}},
        ],
    ),
    "v1test1": written(TEST, variables=VARIABLES, note="only here", services={"a": IMAGE, "c": {"replicas": 0}}),
}


@pytest.mark.parametrize("way", [*permutations(THREE.names, 2), *permutations(THREE.names, 3)], ids=str)
@pytest.mark.parametrize("document", ONE_SAYS.values(), ids=ONE_SAYS)
def test_what_one_version_alone_can_say_comes_back_from_every_way(document: Manifest, way: tuple[str, ...]) -> None:
    gone = document
    for version in way:
        gone = THREE.convert(gone, version)
        assert gone["apiVersion"] == f"nvidia.com/{version}"
    back = THREE.convert(gone, document["apiVersion"].partition("/")[2])
    assert_same(back, document)


def test_the_renamed_field_has_its_name_in_each_version_and_what_only_one_can_say_is_in_its_annotation() -> None:
    test = THREE.convert(ONE_SAYS["v1alpha1"], TEST)
    assert test["spec"]["variables"] == VARIABLES
    assert "envs" not in test["spec"]
    assert "pvcs" not in test["spec"]
    assert '"pvcs":[{"name":"cache"}]' in test["metadata"]["annotations"]["nvidia.com/dgd-v1test1-spec"]
    beta = THREE.convert(ONE_SAYS["v1test1"], BETA)
    assert beta["spec"]["env"] == VARIABLES
    assert "only here" in beta["metadata"]["annotations"]["nvidia.com/dgd-v1test1-spec"]
    assert THREE.convert(ONE_SAYS["v1beta1"], TEST)["metadata"]["annotations"].keys() >= {"nvidia.com/dgd-spec", "mine"}


def test_an_edit_in_one_version_is_live_in_the_others_and_keeps_what_they_alone_say() -> None:
    test = THREE.convert(ONE_SAYS["v1beta1"], TEST)
    edited = {**test, "spec": {**test["spec"], "variables": [{"name": "A", "value": "2"}], "note": "n"}}
    beta = THREE.convert(edited, BETA)
    assert beta["spec"] == {**ONE_SAYS["v1beta1"]["spec"], "env": [{"name": "A", "value": "2"}]}
    assert THREE.convert(beta, TEST)["spec"] == edited["spec"]


def _as_test(document: Manifest, note: str) -> Manifest:
    """The same object in the test version, whatever its fields hold."""
    spec = document.get("spec")
    if isinstance(spec, dict):
        spec = {("variables" if key == "envs" else key): value for key, value in spec.items()}
    return {
        **document,
        "apiVersion": f"nvidia.com/{TEST}",
        **({"spec": {**spec, "note": note}} if isinstance(spec, dict) else {}),
    }


@_EXAMPLES
@given(ALPHA_DOCUMENTS, st.booleans())
def test_a_graph_of_any_shape_comes_back_from_both_other_versions(document: Manifest, is_test: bool) -> None:
    assume(document["kind"] == contract.GRAPH.kind)
    one = _as_test(document, "n") if is_test else document
    home, *others = (TEST, ALPHA, BETA) if is_test else (ALPHA, TEST, BETA)
    for first, second in permutations(others):
        assert_same(THREE.convert(THREE.convert(one, first), home), one)
        assert_same(THREE.convert(THREE.convert(THREE.convert(one, first), second), home), one)


@_EXAMPLES
@given(BETA_DOCUMENTS)
def test_a_graph_of_v1beta1_comes_back_from_the_test_version(document: Manifest) -> None:
    assume(document["kind"] == contract.GRAPH.kind)
    assert_same(THREE.convert(THREE.convert(document, TEST), BETA), with_replicas(document))


def test_the_value_is_all_that_commands_and_definitions_need() -> None:
    graph = ONE_SAYS["v1test1"]
    assert THREE.of(graph) == TEST
    assert THREE.served(contract.GRAPH.kind) == ("nvidia.com/v1alpha1", "nvidia.com/v1beta1", "nvidia.com/v1test1")
    assert THREE.served(contract.COMPONENT.kind) == ("nvidia.com/v1alpha1", "nvidia.com/v1beta1")
    problem = rules.SERVICES.at(SPEC / "envs")
    assert texts_of([problem.moved(lambda path: THREE.written_path(path, graph))])[0].startswith("spec.variables")
    assert any(one.api_version == "nvidia.com/v1test1" for one in all_resources(THREE))
    crds = {one["spec"]["names"]["kind"]: one["spec"] for one in build_crds({"url": "https://x"}, THREE)}
    versions = crds[contract.GRAPH.kind]["versions"]
    assert [one["name"] for one in versions] == [ALPHA, BETA, TEST]
    assert [one["storage"] for one in versions] == [True, False, False]
    spec = versions[-1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert {"variables", "note"} <= spec["properties"].keys()
    assert "must have at least one" in spec["x-kubernetes-validations"][0]["message"]
    assert [one["name"] for one in crds[contract.COMPONENT.kind]["versions"]] == [ALPHA, BETA]


def test_a_kind_that_a_version_does_not_have_stays_as_it_is() -> None:
    component = make.component("c")
    assert THREE.convert(component, TEST) == component
    with pytest.raises(ValueError, match="'v9' is no version; there are v1alpha1, v1beta1, v1test1"):
        THREE.convert(component, "v9")
