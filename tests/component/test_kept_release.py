"""A component of no graph whose image's tag names no release: a running one keeps the release that it had."""

from collections.abc import Iterable
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, annotations_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.rendering_mark import read_mark
from tests import make
from tests.component.render import VLLM, answer

NAME = contract.ANNOTATION_KEPT_RELEASE
NODES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "Deployment": ({}, ()),
    "LeaderWorkerSet": ({"multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "1"}}}, ("lws", "volcano")),
}
on_each_workload = pytest.mark.parametrize(("more", "installed"), NODES.values(), ids=NODES)


def ask(
    tag: str, live: Iterable[Manifest] = (), *, graph: str = "", installed: tuple[str, ...] = (), **more: Any
) -> SyncAnswer:
    service = make.service("worker", image=f"r/vllm-runtime:{tag}", command=VLLM, args=["--model", "m"], **more)
    return answer(make.component("c", graph, **service), live, installed=installed)


def run(found: SyncAnswer) -> list[Manifest]:
    return [make.observed(child) for child in found.children]


def bare(found: SyncAnswer) -> list[Manifest]:
    """The children without what says that a release was kept, and without their marks, which differ with it."""
    return [_without(child) for child in found.children]


def _without(child: Manifest) -> Manifest:
    kept = {k: v for k, v in annotations_of(child).items() if k not in {NAME, contract.ANNOTATION_RENDERING}}
    return {**child, "metadata": {**child["metadata"], "annotations": kept}}


@on_each_workload
def test_release_stays_over_several_tags_and_the_right_one_ends_it(
    more: dict[str, Any], installed: tuple[str, ...]
) -> None:
    first = ask("1.6.1", installed=installed, **more)
    live = run(first)
    for tag in ("bad", "worse"):
        found = ask(tag, live, installed=installed, **more)
        override = ask(tag, live, installed=installed, runtimeVersionOverride="1.6.1", **more)
        assert bare(found) == bare(override)
        live = run(found)
        assert list(ask(tag, live, installed=installed, **more).children) == list(found.children), "it rests"
    assert {annotations_of(one)[NAME] for one in live if read_mark(one)} == {"1.6.1"}
    right = ask("1.6.1", live, installed=installed, **more)
    assert list(right.children) == list(first.children)


def test_warning_says_what_stays_and_what_to_write() -> None:
    found = ask("bad", run(ask("1.6.1")))
    assert found.status is not None
    ready = next(one for one in found.status["conditions"] if one["type"] == "Ready")
    assert "spec.runtimeVersionOverride: the tag of the image names no release of Dynamo, so 1.6.1 stays" in str(
        ready["message"]
    )


def test_new_component_gets_the_oldest_defaults_and_stays_with_them() -> None:
    found = ask("bad")
    assert not any(NAME in annotations_of(one) for one in found.children)
    assert list(ask("bad", run(found)).children) == list(found.children)


def test_graph_decides_for_its_components() -> None:
    found = ask("bad", run(ask("1.6.1", graph="g")), graph="g")
    assert bare(found) == bare(ask("bad", graph="g"))
