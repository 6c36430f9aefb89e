"""What manifests lead to: one answer for each new graph and component is enough, and unchanged objects stay."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.manifests.checking import store
from hooks.tools.offline.manifests.reading import load_manifests
from hooks.tools.world.composite_hooks import HOOKS, PureHook
from hooks.tools.world.settling import Grounds, settle
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.world.objects import World
from tests import make
from tests.tools.offline.diff.compared import EXAMPLES

FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=parse_settings({}, {"hooks_image": "hooks:1"}))
ROADS = {
    "components": ("istio", "inference-pool", "lws", "volcano"),
    "grove": ("grove", "istio", "inference-pool"),
}
FILES = sorted(EXAMPLES.rglob("*.yaml"))


def read(path: Path) -> tuple[list[Manifest], tuple[Manifest, ...]]:
    """The objects of ours in a file, and all of its objects."""
    found = load_manifests([str(path)], "default").documents
    ours = [store(one.object) for one in found if one.is_ours]
    return ours, tuple(one.object for one in found)


def ground(world: Sequence[Manifest], *installed: str) -> Grounds:
    return Grounds(facts=FACTS, world=World.written(world, installed))


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_hooks_that_are_asked_again_about_what_they_made_change_nothing(path: Path, road: str) -> None:
    roots, world = read(path)
    grounds = ground(world, *ROADS[road])
    first = settle(roots, World(), grounds)
    assert len(first.world.objects) > len(roots) or first.problems or not any(gvk_of(one) in HOOKS for one in roots)
    assert settle(roots, first.world, grounds) == first


def test_new_graphs_and_components_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def count(hook: PureHook) -> PureHook:
        def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
            asked.append(f"{request.parent['kind']}/{request.parent['metadata']['name']}")
            return hook.sync(request, facts)

        return PureHook(sync=sync, customize=hook.customize)

    for kind in (contract.GRAPH, contract.COMPONENT):
        monkeypatch.setitem(HOOKS, kind, count(HOOKS[kind]))
    graph = store(make.graph({"Frontend": make.service("frontend"), "Worker": make.service()}, name="g"))
    settle([graph], World(), ground([graph]))
    assert asked == [
        "DynamoGraphDeployment/g",
        "DynamoComponentDeployment/g-frontend",
        "DynamoComponentDeployment/g-worker",
    ]
