"""Annotations of the conversion: names and shapes as upstream, read where they help, never above live values."""

import json

import pytest

from hooks.ground.k8s.types import Json, Manifest
from hooks.language.versions import convert
from tests.language.api.conversion.graphs import ALPHA, BETA, SPEC_KEY, STATUS_KEY, alpha, beta, graph, saved, with_spec

GROVE = {"experimental": {"grove": {"forceScalingGroup": True}}}
INGRESS = {"ingress": {"enabled": True, "host": "chat"}}


def annotated(document: Manifest, payload: Json, key: str = SPEC_KEY) -> Manifest:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), key: text}}}


def test_the_payload_is_a_sparse_spec_in_upstreams_envelope() -> None:
    document = graph(ALPHA, {"pvcs": [{"name": "p"}], "services": {"w": {"replicas": 1, **INGRESS}, "nothing": None}})
    assert convert(document, "v1beta1") == {
        **graph(BETA, {"components": [{"name": "w", "replicas": 1}]}),
        "metadata": {
            "name": "g",
            "namespace": "default",
            "annotations": {
                SPEC_KEY: '{"spec":{"pvcs":[{"name":"p"}],"services":{"nothing":null,'
                '"w":{"ingress":{"enabled":true,"host":"chat"}}}},"version":1}'
            },
        },
    }


def test_converting_takes_the_annotation_away_and_leaves_others() -> None:
    document = {**alpha(**INGRESS), "metadata": {"name": "g", "annotations": {"mine": "1"}}}
    there = convert(document, "v1beta1")
    assert set(there["metadata"]["annotations"]) == {"mine", SPEC_KEY}
    assert convert(there, "v1alpha1")["metadata"] == document["metadata"]


PAYLOADS = {
    "envelope": {"version": 1, "spec": {"services": {"w": INGRESS}}},
    "upstream's envelope": {
        "version": 1,
        "spec": {"services": {"w": INGRESS}},
        "rawJSON": [{"path": "x", "nil": True}],
    },
    "spec without envelope": {"services": {"w": INGRESS}},
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_kept_value_comes_back(payload: Json) -> None:
    assert convert(annotated(beta(), payload), "v1alpha1") == alpha(**INGRESS)


UNREADABLE = {
    "no JSON": "{",
    "no object": "[1]",
    "empty": "",
    "spec is no object": {"version": 1, "spec": [1]},
    "services are no object": {"version": 1, "spec": {"services": [1]}},
    "service is no object": {"version": 1, "spec": {"services": {"w": 3}}},
    "nested too deep": "[" * 100_000,
}


@pytest.mark.parametrize("payload", UNREADABLE.values(), ids=UNREADABLE)
def test_a_payload_that_does_not_parse_is_ignored(payload: Json) -> None:
    assert convert(annotated(beta(), payload), "v1alpha1") == alpha()


def test_an_annotation_that_is_no_string_is_ignored() -> None:
    document = beta()
    metadata = {**document["metadata"], "annotations": {SPEC_KEY: {"services": {"w": INGRESS}}}}
    assert convert({**document, "metadata": metadata}, "v1alpha1") == alpha()


STALE = {
    "type": ({"componentType": "worker", "subComponentType": "encode"}, {"type": "decode"}),
    "memory": ({"sharedMemory": {"disabled": True, "size": "1Gi"}}, {"sharedMemorySize": "2Gi"}),
    "adapter": ({"scalingAdapter": {"enabled": False}}, {"scalingAdapter": {}}),
    "replicas": ({"replicas": None}, {"replicas": 4}),
    "a field of both": ({"modelRef": {"name": "old"}}, {"modelRef": {"name": "new"}}),
    "variables": (
        {"envs": [{"name": "A", "value": "old"}]},
        {"podTemplate": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "new"}]}]}}},
    ),
}


@pytest.mark.parametrize(("kept", "component"), STALE.values(), ids=STALE)
def test_live_values_win_over_stale_ones(kept: dict[str, Json], component: dict[str, Json]) -> None:
    document = beta(**component)
    payload = {"version": 1, "spec": {"services": {"w": kept}}}
    assert convert(annotated(document, payload), "v1alpha1") == convert(document, "v1alpha1")


def test_an_edit_in_v1beta1_changes_only_what_was_edited() -> None:
    # The user wrote the image and two lists of variables; a client of v1beta1 changes the image.
    service = {
        **INGRESS,
        "annotations": {"a": "b"},
        "envs": [{"name": "A", "value": "1"}],
        "extraPodSpec": {"mainContainer": {"image": "i:1", "env": [{"name": "B", "value": "2"}]}},
        "scalingAdapter": {"enabled": False},
    }
    there = convert(alpha(**service), "v1beta1")
    (component,) = there["spec"]["components"]
    (main,) = component["podTemplate"]["spec"]["containers"]
    edited = {**component, "podTemplate": {"spec": {"containers": [{**main, "image": "i:2"}]}}, "replicas": 3}
    pod = {"mainContainer": {"image": "i:2", "env": [{"name": "B", "value": "2"}]}}
    wanted = alpha(**{**service, "extraPodSpec": pod, "replicas": 3})
    assert convert(with_spec(there, {"components": [edited]}), "v1alpha1") == wanted


def test_a_component_that_was_removed_does_not_come_back() -> None:
    document = graph(ALPHA, {"services": {"a": {"replicas": 1, **INGRESS}, "b": {"replicas": 1, **INGRESS}}})
    there = convert(document, "v1beta1")
    left = with_spec(there, {"components": [c for c in there["spec"]["components"] if c["name"] == "b"]})
    assert convert(left, "v1alpha1") == graph(ALPHA, {"services": {"b": {"replicas": 1, **INGRESS}}})


def test_a_service_without_replicas_shows_one_and_stays_without() -> None:
    document = graph(ALPHA, {"services": {"w": {}}})
    there = convert(document, "v1beta1")
    assert there["spec"] == beta()["spec"]
    assert saved(there) == {"version": 1, "spec": {"services": {"w": {"replicas": None}}}}
    assert convert(there, "v1alpha1") == document
    scaled = with_spec(there, {"components": [{"name": "w", "replicas": 2}]})
    assert convert(scaled, "v1alpha1") == alpha(replicas=2)


def test_a_component_without_replicas_has_one() -> None:
    document = graph(BETA, {"components": [{"name": "w"}]})
    assert convert(document, "v1alpha1") == alpha()
    assert convert(convert(document, "v1alpha1"), "v1beta1") == beta()


def listed(*names: str, **fields: Json) -> Manifest:
    return graph(BETA, {"components": [{"name": name, "replicas": 1, **fields} for name in names]})


def names_of(document: Manifest) -> list[Json]:
    return [component.get("name") for component in document["spec"]["components"]]


def test_an_order_by_names_needs_no_annotation() -> None:
    assert saved(convert(listed("Frontend", "decode", "prefill"), "v1alpha1")) is None
    services = {"decode": {"replicas": 1}, "Frontend": {"replicas": 1}, "a": {"replicas": 1}}
    assert names_of(convert(graph(ALPHA, {"services": services}), "v1beta1")) == ["Frontend", "a", "decode"]


def test_another_order_is_kept_and_new_services_come_last() -> None:
    there = convert(listed("prefill", "Frontend", "decode"), "v1alpha1")
    assert saved(there)["spec"] == {"components": [{"name": name} for name in ("prefill", "Frontend", "decode")]}
    one = {"replicas": 1}
    changed = with_spec(there, {"services": {"Frontend": one, "z": one, "b": one, "prefill": one}})
    assert names_of(convert(changed, "v1beta1")) == ["prefill", "Frontend", "b", "z"]


def test_some_kept_components_do_not_change_the_order() -> None:
    there = convert(graph(BETA, {"components": [{"name": "a"}, {"name": "b", **GROVE}, {"name": "c"}]}), "v1alpha1")
    assert saved(there)["spec"] == {"components": [{"name": "b", **GROVE}]}
    assert names_of(convert(there, "v1beta1")) == ["a", "b", "c"]


def test_components_without_a_name_of_their_own_stay_in_their_places() -> None:
    components: list[Json] = [{"name": "b", "replicas": 1}, "odd", {"name": "b", "type": "x"}, {"type": "y"}, None]
    document = graph(BETA, {"components": components})
    there = convert(document, "v1alpha1")
    assert there["spec"] == {"services": {"b": {"replicas": 1}}}
    assert convert(there, "v1beta1") == document


def test_a_second_component_of_a_removed_name_does_not_come_back() -> None:
    components = [{"name": "b", "replicas": 1}, {"name": "b", "replicas": 2}]
    there = convert(graph(BETA, {"components": components}), "v1alpha1")
    assert convert(with_spec(there, {"services": {}}), "v1beta1")["spec"] == {"components": []}


BARE: dict[str, Manifest] = {
    "no metadata": {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "spec": {"pvcs": []}},
    "metadata are null": {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": None, "spec": {"pvcs": []}},
    "empty metadata": {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": {}, "spec": {"pvcs": []}},
    "annotations are null": {
        "apiVersion": ALPHA,
        "kind": "DynamoGraphDeployment",
        "metadata": {"annotations": None},
        "status": {"services": {"w": {"componentName": "x"}}},
    },
    "empty annotations": {
        "apiVersion": ALPHA,
        "kind": "DynamoGraphDeployment",
        "metadata": {"annotations": {}},
        "spec": {"pvcs": []},
    },
    "nothing": {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment"},
    "only a name": {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "metadata": {"name": "g"}},
    "spec is null": {"apiVersion": ALPHA, "kind": "DynamoGraphDeployment", "spec": None},
}


@pytest.mark.parametrize("document", BARE.values(), ids=BARE)
def test_a_partial_object_comes_back_as_it_was(document: Manifest) -> None:
    there = convert(document, "v1beta1")
    assert there["apiVersion"] == BETA
    assert convert(there, "v1alpha1") == document


@pytest.mark.parametrize("metadata", ["x", [], {"annotations": []}, {"annotations": "x"}])
def test_an_object_that_cannot_have_annotations_only_changes_its_version(metadata: Json) -> None:
    document = {**alpha(**INGRESS), "metadata": metadata}
    assert convert(document, "v1beta1") == {**document, "apiVersion": BETA}


def test_other_objects_are_left_alone() -> None:
    for document in (
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": ALPHA, "kind": "DynamoModel", "spec": {}},
        {"apiVersion": "example.com/v1alpha1", "kind": "DynamoGraphDeployment"},
        {"apiVersion": "nvidia.com/v1beta2", "kind": "DynamoGraphDeployment"},
        {"apiVersion": ["x"], "kind": {}},
        {},
    ):
        assert convert(document, "v1beta1") == document


def test_an_unknown_version_is_an_error() -> None:
    with pytest.raises(ValueError, match="v1beta2"):
        convert(alpha(), "v1beta2")


def test_a_status_has_upstreams_annotation_without_envelope() -> None:
    document = graph(ALPHA, {}, status={"services": {"w": {"componentName": "old", "componentNames": ["old", "new"]}}})
    there = convert(document, "v1beta1")
    assert there["status"] == {"components": {"w": {"componentNames": ["old", "new"]}}}
    assert saved(there, STATUS_KEY) == {"services": {"w": {"componentName": "old", "componentNames": ["old", "new"]}}}
    assert convert(there, "v1alpha1") == document
