"""`overrides.dgd` merged into what a profiler of 1.x wrote."""

from typing import Any

import yaml

from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.request.plan.finished_graph import finish_graph
from hooks.request.seen.generated_graph import GeneratedObjects, read_output
from tests.request.test_profiler_spec import stored

BETA, ALPHA = "nvidia.com/v1beta1", "nvidia.com/v1alpha1"
KIND = "DynamoGraphDeployment"


def component(name: str, **fields: Any) -> dict[str, Any]:
    main = {"name": "main", "image": "r:1.5.1", "args": ["--a"], "env": [{"name": "A", "value": "1"}]}
    return {
        "name": name,
        "type": name.lower(),
        "replicas": 1,
        "podTemplate": {"spec": {"containers": [main]}},
        **fields,
    }


FOUND = yaml.safe_dump(
    {
        "apiVersion": BETA,
        "kind": KIND,
        "metadata": {"name": "vllm-disagg-0a1b2c3d"},
        "spec": {"components": [component("Frontend"), component("prefill"), component("decode")]},
    }
)


def finish(override: Any = None, name: str = "qwen", **spec: Any) -> GeneratedObjects:
    overrides = {"overrides": {"dgd": override}} if override else {}
    request = parse_parent(GraphRequest, stored(name, **overrides, **spec))
    return finish_graph(request, read_output(FOUND, "x"))


def written(found: GeneratedObjects, name: str) -> Any:
    assert found.written is not None
    return next(one for one in found.written["spec"]["components"] if one["name"] == name)


def main_of(found: GeneratedObjects, name: str) -> Any:
    return written(found, name)["podTemplate"]["spec"]["containers"][0]


def test_graph_has_the_name_of_the_request_and_not_the_profilers() -> None:
    assert finish().graph["metadata"]["name"] == "qwen-dgd"
    named = {"apiVersion": BETA, "kind": KIND, "metadata": {"name": "mine"}}
    assert finish(named).graph["metadata"]["name"] == "mine"


def test_release_fills_components_that_say_none() -> None:
    one = {
        "apiVersion": BETA,
        "kind": KIND,
        "spec": {"components": [{"name": "decode", "runtimeVersionOverride": "1.4.0"}]},
    }
    found = finish(one, runtimeVersionOverride="1.5.1")
    assert written(found, "prefill")["runtimeVersionOverride"] == "1.5.1"
    assert written(found, "decode")["runtimeVersionOverride"] == "1.4.0"


def test_lists_with_keys_are_merged_and_others_replaced() -> None:
    main = {"name": "main", "args": ["--b"], "env": [{"name": "B", "value": "2"}]}
    extra = {"name": "side", "image": "s"}
    one = {"name": "decode", "replicas": 3, "podTemplate": {"spec": {"containers": [main, extra]}}}
    found = finish({"apiVersion": BETA, "kind": KIND, "spec": {"components": [one]}})
    assert main_of(found, "decode") == {
        "name": "main",
        "image": "r:1.5.1",
        "args": ["--b"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    }
    assert written(found, "decode")["podTemplate"]["spec"]["containers"][1] == extra
    assert written(found, "decode")["replicas"] == 3
    assert main_of(found, "prefill")["args"] == ["--a"]


def test_arguments_are_appended_where_the_override_says_so() -> None:
    main = {"name": "main", "args": ["--b"], "$patch": {"args": "append"}}
    one = {"name": "decode", "podTemplate": {"spec": {"containers": [main]}}}
    found = finish({"apiVersion": BETA, "kind": KIND, "spec": {"components": [one]}})
    assert main_of(found, "decode")["args"] == ["--a", "--b"]


def test_override_of_v1alpha1_appends_arguments_of_workers() -> None:
    pod = {"mainContainer": {"args": ["--b"]}}
    services = {"decode": {"extraPodSpec": pod, "replicas": 2}, "Frontend": {"extraPodSpec": pod}}
    found = finish({"apiVersion": ALPHA, "kind": KIND, "spec": {"services": services}})
    assert main_of(found, "decode")["args"] == ["--a", "--b"]
    assert main_of(found, "Frontend")["args"] == ["--b"]
    assert written(found, "decode")["replicas"] == 2


def test_component_that_was_not_found_has_no_effect_and_is_named() -> None:
    found = finish({"apiVersion": BETA, "kind": KIND, "spec": {"components": [{"name": "other"}]}})
    assert found.remarks == ("overrides.dgd: the profiler found no component other, so its fields have no effect",)
    assert len(found.graph["spec"]["services"]) == 3


def test_labels_and_annotations_are_merged_and_those_of_a_conversion_are_not() -> None:
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d", "nvidia.com/dgd-spec": "{}"}, "namespace": "x"}
    found = finish({"apiVersion": BETA, "kind": KIND, "metadata": metadata})
    assert found.graph["metadata"]["labels"] == {"a": "b"}
    assert found.graph["metadata"]["annotations"]["c"] == "d"
    assert found.graph["metadata"]["annotations"].get("nvidia.com/dgd-spec") != "{}"
    assert "namespace" not in found.graph["metadata"]
