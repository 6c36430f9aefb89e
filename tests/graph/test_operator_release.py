"""The release that a graph began with: written, chosen once, or kept; and what its pods start by it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from hooks.graph.spec.operator_release import find_missing_operator_release, with_operator_release
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review
from hooks.server.admission.rules import DEFAULTS
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import world

ORIGIN = contract.ANNOTATION_ORIGIN_VERSION
PATHS: dict[str, tuple[str, ...]] = {"components": ("lws", "volcano"), "Grove": ("grove", "lws", "volcano")}
on_each_path = pytest.mark.parametrize("installed", PATHS.values(), ids=PATHS)


def worker(tag: str = "1.6.1", nodes: int = 4, **fields: Any) -> dict[str, Any]:
    command = ["python3", "-m", "dynamo.vllm", "--tensor-parallel-size", "8"]
    spanning = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
    resources = {"limits": {"gpu": "2"}}
    return make.service(
        "worker", image=f"r/vllm-runtime:{tag}", command=command, resources=resources, **spanning, **fields
    )


def frontend(tag: str = "1.6.1") -> dict[str, Any]:
    return make.service("frontend", image=f"r/vllm-runtime:{tag}")


def graph(tag: str = "1.6.1", annotations: Mapping[str, str] | None = None, **services: Any) -> Manifest:
    return make.graph({"front": frontend(tag), "work": worker(tag), **services}, annotations=dict(annotations or {}))


def kept(children: Iterable[Manifest]) -> set[str | None]:
    """What components say to their hooks, or what the PodCliqueSet keeps."""
    found: set[str | None] = set()
    for child in children:
        if child["kind"] == contract.COMPONENT.kind:
            found.add(child["spec"].get("annotations", {}).get(ORIGIN))
        if child["kind"] == kinds.POD_CLIQUE_SET.kind:
            found.add(child["metadata"].get("annotations", {}).get(ORIGIN))
    return found


def observed(answer: SyncAnswer | Iterable[Manifest]) -> list[Manifest]:
    return [make.observed(one) for one in (answer.children if isinstance(answer, SyncAnswer) else answer)]


def unwritten(children: Iterable[Manifest]) -> list[Manifest]:
    """Live children as hooks rendered them that chose no origin."""
    return [make.observed(_drop(json.loads(json.dumps(child)))) for child in children]


def _drop(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _drop(one) for key, one in value.items() if key != ORIGIN}
    return [_drop(one) for one in value] if isinstance(value, list) else value


@on_each_path
@pytest.mark.parametrize(("tag", "origin"), [("1.6.1", "1.6.0"), ("1.2.0", "1.2.0"), ("0.9.1", "0.9.0")])
def test_new_graph_begins_with_the_release_of_its_images_and_keeps_it(
    tag: str, origin: str, installed: tuple[str, ...]
) -> None:
    answer = world.ask(graph(tag), installed=installed)
    assert kept(answer.children) == {origin}
    for image in ("1.6.1", "1.0.0", "0.8.0", "latest"):
        again = world.ask(graph(image), observed(answer), installed=installed)
        assert kept(again.children) == {origin}
    assert world.text(world.ask(graph(tag), observed(answer), installed=installed)) == world.text(
        world.ask(
            graph(tag), observed(world.ask(graph(tag), observed(answer), installed=installed)), installed=installed
        )
    )


def test_new_services_begin_as_the_graph_did() -> None:
    children = observed(world.ask(graph("1.2.0"), installed=PATHS["components"]))
    further = world.ask(graph("1.6.1", more=worker("1.6.1")), children, installed=PATHS["components"])
    assert kept(further.children) == {"1.2.0"}


@on_each_path
def test_graph_that_runs_without_an_origin_keeps_running_so(installed: tuple[str, ...]) -> None:
    running = unwritten(world.ask(graph(annotations={ORIGIN: "0.9.0"}), installed=installed).children)
    assert kept(running) == {None}
    for wanted in (graph(), graph("1.2.0"), graph("latest")):
        assert kept(world.ask(wanted, running, installed=installed).children) == {None}


def test_graph_of_which_some_children_exist_takes_what_those_keep() -> None:
    answer = world.ask(graph("1.2.0"), installed=PATHS["components"])
    for one in [child for child in answer.children if child["kind"] == contract.COMPONENT.kind]:
        found = world.ask(graph("1.6.1"), observed([one]), installed=PATHS["components"])
        assert kept(found.children) == {"1.2.0"}
        assert kept(world.ask(graph(), unwritten([one]), installed=PATHS["components"]).children) == {None}


@on_each_path
def test_graph_whose_children_are_all_gone_begins_anew(installed: tuple[str, ...]) -> None:
    lost = [one for one in observed(world.ask(graph("1.2.0"), installed=installed)) if kept([one]) == set()]
    assert kept(world.ask(graph("1.6.1"), lost, installed=installed).children) == {"1.6.0"}


@on_each_path
def test_annotation_that_is_written_decides_whatever_children_keep(installed: tuple[str, ...]) -> None:
    children = observed(world.ask(graph("1.2.0"), installed=installed))
    for value in ("1.5.0", "0.9.0"):
        assert kept(world.ask(graph(annotations={ORIGIN: value}), children, installed=installed).children) == {value}
    removed = observed(world.ask(graph(annotations={ORIGIN: "1.5.0"}), children, installed=installed))
    assert kept(world.ask(graph(), removed, installed=installed).children) == {"1.5.0"}


def test_annotation_of_the_spec_is_written_too() -> None:
    of_spec = {**graph(), "spec": {**graph()["spec"], "annotations": {ORIGIN: "1.1.0"}}}
    assert kept(world.ask(of_spec, installed=PATHS["components"]).children) == {"1.1.0"}
    assert find_missing_operator_release(of_spec) is None


def test_annotation_of_one_service_decides_for_it_alone() -> None:
    own = worker("1.6.1", annotations={ORIGIN: "0.9.0"})
    wanted = graph("1.6.1", own=own)
    first = world.ask(wanted, installed=PATHS["components"])
    second = world.ask(wanted, observed(first), installed=PATHS["components"])
    for answer in (first, second):
        said = {
            one["spec"]["serviceName"]: one["spec"]["annotations"][ORIGIN]
            for one in answer.children
            if one["kind"] == contract.COMPONENT.kind
        }
        assert said == {"front": "1.6.0", "work": "1.6.0", "own": "0.9.0"}


def test_edited_component_still_keeps_what_was_applied() -> None:
    children = observed(world.ask(graph("1.2.0"), installed=PATHS["components"]))
    for child in children:
        if child["kind"] == contract.COMPONENT.kind:
            child["spec"]["annotations"].pop(ORIGIN)
    assert kept(world.ask(graph("1.6.1"), children, installed=PATHS["components"]).children) == {"1.2.0"}


@on_each_path
def test_graph_that_a_go_operator_left_without_an_origin_is_of_0_9(installed: tuple[str, ...]) -> None:
    left = graph()
    left["metadata"]["finalizers"] = [contract.GO_FINALIZER]
    assert kept(world.ask(left, installed=installed).children) <= {None}


@on_each_path
def test_what_admission_writes_is_what_the_hook_chooses(installed: tuple[str, ...]) -> None:
    for wanted in (graph(), graph("1.2.0"), graph("0.9.1"), graph("latest"), graph("1.6.1", old=worker("1.4.0"))):
        origin = find_missing_operator_release(wanted)
        assert origin is not None
        admitted = {**wanted, "metadata": {**wanted["metadata"], "annotations": {ORIGIN: origin}}}
        assert find_missing_operator_release(admitted) is None
        found, other = (world.ask(one, installed=installed).children for one in (wanted, admitted))
        assert found == other


def test_runtime_container_says_the_release() -> None:
    runtime = {"name": "runtime", "image": "r/vllm-runtime:1.6.1", "restartPolicy": "Always"}
    spec = worker("1.6.1")
    pod = spec["extraPodSpec"]
    engine = {**pod["mainContainer"], "image": "vllm/vllm-openai:v0.28.0"}
    beside = {**spec, "extraPodSpec": {**pod, "mainContainer": engine, "initContainers": [runtime]}}
    assert find_missing_operator_release(make.graph({"work": beside})) == "1.6.0"


def test_offline_tools_give_a_graph_what_its_children_keep() -> None:
    children = world.ask(graph("1.2.0"), installed=PATHS["components"]).children
    assert with_operator_release(graph(), children)["metadata"]["annotations"] == {ORIGIN: "1.2.0"}
    assert with_operator_release(graph(), unwritten(children))["metadata"]["annotations"] == {ORIGIN: ""}
    assert with_operator_release(graph(), ()) == graph()
    assert with_operator_release(graph(annotations={ORIGIN: "1.5.0"}), children) == graph(annotations={ORIGIN: "1.5.0"})


def test_admission_leaves_fields_of_any_type_alone() -> None:
    for spec in (None, 7, {"services": 7}, {"services": {"a": 7}}, {"services": {"a": {"extraPodSpec": 7}}}):
        new = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {}, "spec": spec}
        review = Review(new=new, old=None, user=None, settings=parse_settings({}, {}), installed=None)
        patch = DEFAULTS["dynamographdeployments"](review)
        assert patch[0]["value"] == {ORIGIN: "0.9.0"}


def test_set_that_lost_its_record_keeps_what_its_cliques_say() -> None:
    clique = {"name": "work", "annotations": {ORIGIN: "1.4.2"}}
    found = {
        "apiVersion": kinds.POD_CLIQUE_SET.api_version,
        "kind": kinds.POD_CLIQUE_SET.kind,
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"template": {"cliques": [None, {"annotations": "x"}, clique]}},
    }
    assert with_operator_release(graph(), [found])["metadata"]["annotations"][ORIGIN] == "1.4.2"
