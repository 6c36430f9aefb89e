"""What the API server would refuse, in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.ground.problems import HERE, SPEC, Key, texts_of
from hooks.language.crds import find_faults
from hooks.language.rules import graph as graph_rules
from tests.language.crds.cases import COMPONENT, GRAPH, KEPT, MODEL, REFUSED, Kept, Refused, manifest

LETTERS = "and ., starting and ending with a letter or digit"


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.id)
def test_every_fault_is_found_in_the_order_of_the_manifest(case: Refused) -> None:
    assert texts_of(find_faults(manifest(case.kind, case.spec))) == case.faults


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id)
def test_what_the_api_server_takes_has_no_fault(case: Kept) -> None:
    assert find_faults(manifest(case.kind, case.spec)) == []
    assert find_faults(manifest(case.kind, case.stored)) == []


METADATA: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"name": "a", "creationTimestamp": None, "managedFields": [{"manager": "m", "x": 1}]}, ()),
    ({"generateName": "a-"}, ()),
    ({"name": "a", "lables": {}}, ("metadata.lables: unknown field; did you mean labels?",)),
    (
        {"name": "a", "annotations": {"x": 1}},
        ("metadata.annotations[x]: is an integer, should be a string: write it in quotes",),
    ),
    (
        {"name": "My_Graph"},
        (f'metadata.name: is "My_Graph", should be a name of lower-case letters, digits, - {LETTERS}',),
    ),
    (
        {"name": "a", "labels": {"x": "a b"}},
        (f'metadata.labels[x]: is "a b", should be a label value of letters, digits, -, _ {LETTERS}',),
    ),
    ({"name": "a", "labels": {"x": "a" * 64}}, ("metadata.labels[x]: has 64 characters, should have at most 63",)),
]


@pytest.mark.parametrize(("metadata", "expected"), METADATA, ids=lambda value: str(value)[:40])
def test_metadata_is_judged_too(metadata: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert texts_of(find_faults({**manifest(GRAPH, {}), "metadata": metadata})) == expected


def test_fields_beside_spec_are_judged_too() -> None:
    assert texts_of(find_faults({**manifest(GRAPH, {}), "specs": {}})) == ("specs: unknown field; did you mean spec?",)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nvidia.com/gpu", "write gpu"),
        ("amd.com/gpu", "write gpu and gpuType: amd.com/gpu"),
        ("nvidia.com/mig-1g.10gb", "write it in custom"),
        ("rdma/ib", "write it in custom"),
    ],
)
def test_resource_as_kubernetes_names_it_belongs_in_a_field_of_ours(name: str, hint: str) -> None:
    services = {"w": {"resources": {"requests": {name: "1"}}}}
    path = f"spec.services[w].resources.requests[{name}]"
    assert texts_of(find_faults(manifest(GRAPH, {"services": services}))) == (f"{path}: unknown field; {hint}",)


HEADERS = [
    ("nvidia.com/v1alpha1", "DynamoGraphDeploymnt", "kind", "did you mean DynamoGraphDeployment?"),
    ("nvidia.com/v1alpha1", "dynamomodel", "kind", "did you mean DynamoModel?"),
    ("nvidia.com/v1alpha1", "Pod", "kind", "should be one of DynamoGraphDeployment, "),
    ("nvidia.com/v1", "DynamoGraphDeployment", "apiVersion", "should be nvidia.com/v1alpha1 or nvidia.com/v1beta1"),
    ("nvidia.com/v1beta1", "DynamoModel", "apiVersion", "should be nvidia.com/v1alpha1"),
]


@pytest.mark.parametrize(("api_version", "kind", "field", "hint"), HEADERS, ids=[f"{h[0]}-{h[1]}" for h in HEADERS])
def test_kind_of_our_group_that_is_not_ours_is_a_fault(api_version: str, kind: str, field: str, hint: str) -> None:
    (fault,) = find_faults({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    assert fault.path == HERE / field
    assert hint in fault.text


def test_path_tells_keys_of_maps_from_fields() -> None:
    limits = {"gpu": "1", "custom": {"a.b/c": 1}}
    spec = {"services": {"main": {"resources": {"limits": limits}, "extraPodSpec": {"nodeSelector": {"replicas": 1}}}}}
    main = SPEC / "services" / Key("main")
    assert [fault.path for fault in find_faults(manifest(GRAPH, spec))] == [
        main / "resources.limits.custom" / Key("a.b/c"),
        main / "extraPodSpec.nodeSelector" / Key("replicas"),
    ]


def test_claim_to_be_created_breaks_the_same_rules_as_in_admission() -> None:
    (fault,) = find_faults(manifest(GRAPH, {"pvcs": [{"name": "a", "create": True, "size": "1", "storageClass": "s"}]}))
    assert fault == graph_rules.CLAIM_ACCESS_MODE.at(SPEC / "pvcs" / 0 / "volumeAccessMode")


def test_kinds_of_other_groups_are_not_judged() -> None:
    assert find_faults({"apiVersion": "v1", "kind": "ConfigMap", "dataa": 1}) == []


STATUS = {"conditions": [{"type": "Ready"}], "stat": 1, "observedGeneration": "1"}


def test_only_unknown_fields_of_a_written_status_are_faults() -> None:
    assert texts_of(find_faults({**manifest(GRAPH, {}), "status": STATUS})) == (
        "status.stat: unknown field; did you mean state?",
    )


def test_status_of_a_controller_is_judged_whole() -> None:
    assert texts_of(find_faults({**manifest(GRAPH, {}), "status": STATUS}, with_status=True)) == (
        "status.conditions[0].lastTransitionTime: is missing",
        "status.conditions[0].message: is missing",
        "status.conditions[0].reason: is missing",
        "status.conditions[0].status: is missing",
        "status.stat: unknown field; did you mean state?",
        'status.observedGeneration: is the string "1", should be an integer: write 1',
    )


def test_two_conditions_of_one_type_are_refused_in_a_status() -> None:
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "A",
        "message": "",
        "lastTransitionTime": "2026-01-31T09:30:00Z",
    }
    status = {"readyEndpoints": 0, "totalEndpoints": 0, "conditions": [condition, condition]}
    spec = {"modelName": "a", "baseModelName": "b"}
    assert texts_of(find_faults({**manifest(MODEL, spec), "status": status}, with_status=True)) == (
        "status.conditions[1]: repeats type Ready of entry 0; every entry needs its own",
    )


def test_time_that_is_none_is_refused_in_a_status() -> None:
    status = {
        "endpoints": [{"address": "a", "ready": True, "since": "yesterday"}],
        "readyEndpoints": 0,
        "totalEndpoints": 0,
    }
    spec = {"modelName": "a", "baseModelName": "b"}
    assert texts_of(find_faults({**manifest(MODEL, spec), "status": status}, with_status=True)) == (
        'status.endpoints[0].since: is "yesterday", should be a date-time, for example 2026-01-31T09:30:00Z',
    )


def test_long_values_are_cut_in_the_sentence() -> None:
    (fault,) = find_faults(manifest(GRAPH, {"backendFramework": "v" * 500}))
    assert len(fault.text) < 130
    assert "…" in fault.text


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
WORDS = st.sampled_from(
    [
        "spec",
        "services",
        "main",
        "pvcs",
        "name",
        "create",
        "checkpoint",
        "enabled",
        "identity",
        "extraPodSpec",
        "env",
        "é",
    ]
)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4))


@given(kind=st.sampled_from([GRAPH, COMPONENT, MODEL]), spec=ANYTHING, metadata=ANYTHING)
def test_any_json_is_judged_without_a_crash(kind: str, spec: Any, metadata: Any) -> None:
    faults = find_faults({**manifest(kind, spec), "metadata": metadata}, with_status=True)
    assert all(fault.text and "\n" not in fault.text for fault in faults)
    assert len(set(faults)) == len(faults)
