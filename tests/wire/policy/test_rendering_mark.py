"""The mark of a workload, and the digests of the specs that workloads are rendered from."""

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.wire.policy.rendering_mark import (
    FOREIGN_REVISION,
    RENDERING_REVISION,
    RenderingMark,
    digest_component,
    digest_graph,
    digest_service,
    mark,
    read_mark,
)

COMPONENT: Json = {"serviceName": "decode", "replicas": 1, "envs": [{"name": "A", "value": "1"}]}
GRAPH: Json = {
    "metadata": {"name": "g", "namespace": "ns"},
    "spec": {"services": {"decode": {"replicas": 1}, "prefill": {"replicas": 1}}, "envs": []},
}


def _with_spec(**fields: Json) -> Json:
    return {**GRAPH, "spec": {**GRAPH["spec"], **fields}}


def _with_service(name: str, **fields: Json) -> Json:
    return _with_spec(services={**GRAPH["spec"]["services"], name: fields})


@pytest.mark.parametrize(
    "fields",
    [{"replicas": 7}, {"scalingAdapter": {"enabled": True}}, {"autoscaling": {"enabled": True}}, {"ingress": None}],
    ids=["replicas", "adapter", "autoscaling", "null"],
)
def test_scaling_and_nulls_leave_the_digest_of_a_component(fields: dict[str, Json]) -> None:
    assert digest_component({**COMPONENT, **fields}) == digest_component(COMPONENT)


def test_any_other_field_changes_the_digest_of_a_component() -> None:
    assert digest_component({**COMPONENT, "envs": []}) != digest_component(COMPONENT)


def test_order_of_keys_leaves_the_digest() -> None:
    assert digest_component(dict(reversed(COMPONENT.items()))) == digest_component(COMPONENT)


def test_digest_of_a_service_depends_on_the_graph_and_not_on_other_services() -> None:
    before = digest_service(GRAPH, "decode", "")

    assert digest_service(_with_service("prefill", envFromSecret="s"), "decode", "") == before
    assert digest_service(_with_service("decode", replicas=3), "decode", "") == before
    assert digest_service(_with_service("decode", envFromSecret="s"), "decode", "") != before
    assert digest_service(_with_spec(backendFramework="vllm"), "decode", "") != before


def test_request_for_a_restart_changes_a_digest_only_when_it_reaches_the_service() -> None:
    before, asked = digest_service(GRAPH, "decode", ""), _with_spec(restart={"id": "r1"})

    assert digest_service(asked, "decode", "") == before
    assert digest_service(asked, "decode", "r1") != before
    assert digest_graph(asked, {}) == digest_graph(GRAPH, {})
    assert digest_graph(asked, {"decode": "r1"}) != digest_graph(GRAPH, {})


def test_digest_of_a_graph_depends_on_all_services() -> None:
    before = digest_graph(GRAPH, {})

    assert digest_graph(_with_service("prefill", replicas=5), {}) == before
    assert digest_graph(_with_service("prefill", envFromSecret="s"), {}) != before


def test_annotation_that_pods_are_rendered_from_counts_and_others_do_not() -> None:
    before = digest_service(GRAPH, "decode", "")
    queue, note = (
        {**GRAPH, "metadata": {**GRAPH["metadata"], "annotations": {key: "x"}}}
        for key in (contract.ANNOTATION_KAI_QUEUE, "note")
    )

    assert digest_service(queue, "decode", "") != before
    assert digest_service(note, "decode", "") == before


def test_mark_is_written_beside_other_annotations_and_read_back() -> None:
    workload = {"metadata": {"name": "w", "annotations": {"z": "1"}}}

    marked = mark(workload, "abc")

    assert marked["metadata"]["annotations"] == {
        contract.ANNOTATION_RENDERING: f"{RENDERING_REVISION}.abc",
        "z": "1",
    }
    assert read_mark(marked) == RenderingMark(RENDERING_REVISION, "abc")
    assert read_mark(mark(marked, "def", revision=0)) == RenderingMark(0, "def")


@pytest.mark.parametrize("text", ["", "1", "1.", ".abc", "x.abc", "-1.abc", "٣.abc"])
def test_unreadable_mark_is_none(text: str) -> None:
    assert read_mark({"metadata": {"annotations": {contract.ANNOTATION_RENDERING: text}}}) is None


def test_workload_without_annotations_has_no_mark() -> None:
    assert read_mark({"metadata": {}}) is None


def test_mark_of_a_component_that_is_still_to_be_changed_has_two_digests() -> None:
    found = read_mark(mark({"metadata": {"name": "w"}}, "abc.def", FOREIGN_REVISION))
    assert found is not None
    assert found.digests == ["abc", "def"]
