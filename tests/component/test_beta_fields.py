"""Fields that only v1beta1 has: who wrote them learns from the status that they have no effect."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.language.versions import convert
from tests import make
from tests.component.render import answer
from tests.graph import world

FORCED = {"experimental": {"grove": {"forceScalingGroup": True}}}
TEXT = (
    "experimental.grove.forceScalingGroup: has no effect; only a component over several nodes becomes a "
    "PodCliqueScalingGroup, and this one is scaled as a PodClique; remove the field"
)


def ready(status: Any) -> str:
    return next(str(one["message"]) for one in status["conditions"] if one["type"] == "Ready")


@pytest.mark.parametrize("installed", [(), ("grove",)], ids=["components", "Grove"])
def test_forced_scaling_group_of_a_graph_is_said_in_its_status(installed: tuple[str, ...]) -> None:
    graph = make.graph({"Frontend": make.service("frontend"), "Worker": make.service("worker")})
    beta = convert(graph, contract.BETA_VERSION)
    frontend, worker = beta["spec"]["components"]
    forced = convert({**beta, "spec": {"components": [frontend, {**worker, **FORCED}]}}, contract.VERSION)
    assert f"spec.components[1].{TEXT}" in ready(world.ask(forced, installed=installed).status)
    assert "forceScalingGroup" not in ready(world.ask(graph, installed=installed).status)


def test_forced_scaling_group_of_a_component_is_said_in_its_status() -> None:
    beta = convert(make.component("w", **make.service("worker")), contract.BETA_VERSION)
    forced = convert({**beta, "spec": {**beta["spec"], **FORCED}}, contract.VERSION)
    assert f"spec.{TEXT}" in ready(answer(forced).status)
