"""An image whose tag names no release: a running service keeps the release that it had, a new one gets none."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, annotations_of, name_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import world
from tests.graph.test_worker_generation import (
    SERVICES,
    ask,
    frontend,
    on_each_path,
    remark,
    settle,
    suffix_of,
    worker,
)

Services = Mapping[str, Any]
FIELD = "runtimeVersionOverride"
KEPT = contract.ANNOTATION_KEPT_RELEASE
TYPOS: dict[str, Services] = {
    "worker": {**SERVICES, "decode": worker("bad")},
    "frontend": {**SERVICES, "front": frontend("bad")},
    "latest everywhere": {"decode": worker("latest"), "prefill": worker("latest"), "front": frontend("latest")},
}
on_each_typo = pytest.mark.parametrize("typo", TYPOS.values(), ids=TYPOS)


def run(services: Services, installed: tuple[str, ...] = ()) -> list[Manifest]:
    return settle((), ask(services, installed=installed))


def written(services: Services, release: str = "1.6.1") -> dict[str, Any]:
    """The services as if the user had written the release of those whose tag names none."""
    return {
        name: spec if "1." in spec["extraPodSpec"]["mainContainer"]["image"] else {**spec, FIELD: release}
        for name, spec in services.items()
    }


def children_of(answer: SyncAnswer) -> list[Manifest]:
    """The children without what a PodCliqueSet records of kept releases."""
    return [_without(child) for child in answer.children]


def _without(child: Manifest) -> Manifest:
    kept = {key: value for key, value in annotations_of(child).items() if key != KEPT}
    metadata = {key: value for key, value in child["metadata"].items() if key != "annotations"}
    return {**child, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def releases(children: Iterable[Manifest]) -> dict[str, str]:
    """By service the release that its component got in place of the tag's."""
    specs = (child["spec"] for child in children if child["kind"] == contract.COMPONENT.kind)
    return {spec["serviceName"]: spec[FIELD] for spec in specs if FIELD in spec}


def recorded(children: Iterable[Manifest]) -> dict[str, str]:
    """The releases that the PodCliqueSet records."""
    (found,) = (child for child in children if child["kind"] == "PodCliqueSet")
    said: dict[str, str] = json.loads(annotations_of(found).get(KEPT, "{}"))
    return said


@on_each_path
@on_each_typo
def test_running_service_is_rendered_as_if_its_release_were_written(typo: Services, installed: tuple[str, ...]) -> None:
    live = run(SERVICES, installed)
    answer = ask(typo, live, installed=installed)
    assert children_of(answer) == children_of(ask(written(typo), live, installed=installed))
    assert suffix_of(answer)


@on_each_path
def test_release_stays_over_several_tags_and_the_right_one_ends_it(installed: tuple[str, ...]) -> None:
    first = run(SERVICES, installed)
    live = first
    for tag in ("bad", "worse", "bad"):
        services = {**SERVICES, "decode": worker(tag)}
        answer = ask(services, live, installed=installed)
        assert children_of(answer) == children_of(ask(written(services), live, installed=installed))
        live = settle(live, answer)
        assert children_of(ask(services, live, installed=installed)) == children_of(answer), "it rests"
    right = ask(SERVICES, live, installed=installed)
    assert suffix_of(right) == suffix_of(first)
    assert releases(right.children) == {}
    if installed:
        assert recorded(live) == {"decode": "1.6.1"}
        assert recorded(right.children) == {}


@on_each_path
def test_release_that_the_user_then_writes_changes_nothing_if_it_is_the_kept_one(installed: tuple[str, ...]) -> None:
    typo = TYPOS["worker"]
    live = run(SERVICES, installed)
    live = settle(live, ask(typo, live, installed=installed))
    same = ask(written(typo), live, installed=installed)
    assert children_of(same) == children_of(ask(typo, live, installed=installed))
    other = ask(written(typo, "1.4.0"), live, installed=installed)
    assert suffix_of(other) not in {"", suffix_of(same)}
    assert "1.6.1 stays" not in remark(same)


def test_warning_says_what_stays_and_what_to_write() -> None:
    answer = ask(TYPOS["worker"], run(SERVICES))
    assert (
        "spec.services[decode].runtimeVersionOverride: the tag of the image names no release of Dynamo, so 1.6.1 "
        "stays, which ran before; correct the tag, or write the release of the image here"
    ) in remark(answer)


@on_each_path
@on_each_typo
def test_new_graph_gets_the_oldest_defaults(typo: Services, installed: tuple[str, ...]) -> None:
    answer = ask(typo, installed=installed)
    assert suffix_of(answer) == ""
    assert "stays" not in remark(answer)
    again = ask(typo, settle((), answer), installed=installed)
    assert children_of(again) == children_of(answer)
    assert suffix_of(again) == ""


def test_new_service_of_a_running_graph_gets_the_oldest_defaults() -> None:
    answer = ask({**SERVICES, "more": worker("bad")}, run(SERVICES))
    assert releases(answer.children) == {}


def test_service_without_a_release_gets_one_from_its_tag_and_then_keeps_it() -> None:
    live = run({**SERVICES, "decode": worker("mine")})
    live = settle(live, ask({**SERVICES, "decode": worker("1.5.1")}, live))
    answer = ask({**SERVICES, "decode": worker("mine")}, live)
    assert releases(answer.children) == {"decode": "1.5.1"}


def test_release_that_was_written_stays_when_it_is_removed_and_the_tag_names_none() -> None:
    services = {**SERVICES, "decode": worker("mine", **{FIELD: "1.5.1"})}
    answer = ask({**SERVICES, "decode": worker("mine")}, run(services))
    assert releases(answer.children) == {"decode": "1.5.1"}


def test_0_9_can_still_be_asked_for() -> None:
    answer = ask({**SERVICES, "decode": worker("mine", **{FIELD: "0.9.0"})}, run(SERVICES))
    assert releases(answer.children) == {"decode": "0.9.0"}
    assert suffix_of(answer) == ""


def sidecar(tag: str) -> dict[str, Any]:
    """A worker whose init container runs Dynamo beside the engine."""
    runtime = {"name": "runtime", "image": f"r/vllm-runtime:{tag}", "restartPolicy": "Always"}
    engine = {"name": "main", "image": "vllm/vllm-openai:v0.19.0", "command": ["vllm"], "args": ["serve", "m"]}
    return {"componentType": "worker", "extraPodSpec": {"mainContainer": engine, "initContainers": [runtime]}}


@on_each_path
def test_container_that_runs_dynamo_beside_the_engine_says_the_release(installed: tuple[str, ...]) -> None:
    live = run({**SERVICES, "decode": sidecar("1.6.1")}, installed)
    assert suffix_of(live)
    typo = {**SERVICES, "decode": sidecar("bad")}
    answer = ask(typo, live, installed=installed)
    assert suffix_of(answer)
    override = {**SERVICES, "decode": {**sidecar("bad"), FIELD: "1.6.1"}}
    assert children_of(answer) == children_of(ask(override, live, installed=installed))


def test_picker_keeps_none_because_its_spec_is_another_one_before_1_5() -> None:
    services = {**SERVICES, "picker": make.service("epp", image="r/vllm-runtime:1.5.1")}
    live = settle((), ask(services, installed=("inference-pool",)))
    bad = {**services, "picker": make.service("epp", image="r/vllm-runtime:bad")}
    refused = ask(bad, live, installed=("inference-pool",))
    assert "eppConfig is required" in remark(refused)
    config = {"configMapRef": {"name": "c", "key": "k"}}
    older = {**services, "picker": make.service("epp", image="r/vllm-runtime:bad", eppConfig=config)}
    taken = ask(older, live, installed=("inference-pool",))
    assert name_of(world.child(taken.children, contract.COMPONENT.kind, "g-picker")) == "g-picker"
    assert releases(taken.children) == {}
