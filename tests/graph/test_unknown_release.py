"""Images with the version of another product: new graphs get the oldest defaults, running ones stay as they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hooks.component import sync
from hooks.component.image import runtime_version
from hooks.graph.change import planning as graph_planning
from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, name_of
from hooks.wire.policy import rendering_mark
from tests import make
from tests.component.render import answer, only
from tests.graph import test_worker_generation as generations

NIM = "registry.corp/llm:3.0.0"
SERVICES: dict[str, Any] = {
    "front": make.service("frontend", image=NIM),
    "decode": make.service("worker", image=NIM),
    "prefill": make.service("worker", image=NIM),
}


@contextmanager
def earlier_hooks(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hooks of an earlier revision, which took every version of an image for a release of Dynamo."""
    with patch.context() as changed:
        changed.setattr(runtime_version, "_may_be_of_dynamo", lambda _version: True)
        changed.setattr(rendering_mark, "RENDERING_REVISION", rendering_mark.RENDERING_REVISION - 1)
        _forget()
        yield
    _forget()


def _forget() -> None:
    """Forget plans, which depend on the version of the hooks too."""
    sync.plan_on.cache_clear()
    graph_planning.plan_on.cache_clear()
    graph_planning._judge_sight.cache_clear()


def variables(children: Any) -> set[str]:
    pod = only(children, "Deployment")["spec"]["template"]["spec"]
    return {one["name"] for one in pod["containers"][0]["env"]}


def test_new_component_has_the_oldest_defaults() -> None:
    found = variables(answer(make.component("c", **SERVICES["decode"])).children)
    assert "DYN_FORWARDPASS_METRIC_PORT" not in found
    assert "DYN_FORWARDPASS_METRIC_PORT" in variables(
        answer(make.component("c", **{**SERVICES["decode"], "runtimeVersionOverride": "1.6.1"})).children
    )


def test_running_component_keeps_its_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    component = make.component("c", **SERVICES["decode"])
    with earlier_hooks(monkeypatch):
        before = answer(component)
    live = [make.observed(child, status=make.deployment_status()) for child in before.children]
    after = answer(component, live)
    assert "DYN_FORWARDPASS_METRIC_PORT" in variables(after.children)
    assert only(after.children, "Deployment") == only(before.children, "Deployment")
    assert after.status is not None
    assert "Held" in {condition["type"] for condition in after.status["conditions"]}


def test_running_graph_keeps_its_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    with earlier_hooks(monkeypatch):
        first = generations.ask(SERVICES)
        live = generations.settle((), first)
        assert generations.suffix_of(generations.ask(SERVICES, live))
    for _ in range(2):
        after = generations.ask(SERVICES, live)
        assert specs(after.children) == specs(live)
        live = generations.settle(live, after)


def specs(children: Any) -> dict[str, Json]:
    """The components' specs, by name."""
    found: list[Manifest] = [child for child in children if child["kind"] == contract.COMPONENT.kind]
    return {name_of(child): child["spec"] for child in found}
