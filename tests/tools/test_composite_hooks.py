"""What fails beside a parent: an object of another shape is named, and every other failure is our own and shows."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.manifests.checking import store
from hooks.tools.world.composite_hooks import HOOKS, PureHook, ask
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.world.objects import World
from tests import make

FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=parse_settings({}, {"hooks_image": "hooks:1"}))
SECRET: Manifest = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "registry", "namespace": "default", "labels": {contract.LABEL_IMAGE_PULL: "true"}},
    "type": "kubernetes.io/dockerconfigjson",
    "data": {".dockerconfigjson": "e30="},
}


def ask_beside(others: Sequence[Manifest], monkeypatch: pytest.MonkeyPatch, error: Exception) -> SyncAnswer:
    """The answer of a hook that fails, about a graph beside which these objects are."""

    def fail(_request: SyncRequest, _facts: Facts) -> SyncAnswer:
        raise error

    hook = PureHook(sync=fail, customize=HOOKS[contract.GRAPH].customize)
    monkeypatch.setitem(HOOKS, contract.GRAPH, hook)
    graph = store(make.graph({"Frontend": make.service("frontend")}, name="g"))
    return ask(graph, World.written([graph, *others], ("grove",)), FACTS)


@pytest.mark.parametrize("error", [KeyError("name"), TypeError("wrong"), AttributeError("none"), ValueError("no")])
def test_failure_of_a_hook_beside_sound_objects_shows_as_it_is(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with pytest.raises(type(error)) as raised:
        ask_beside([SECRET], monkeypatch, error)
    assert raised.value is error


def test_object_of_another_shape_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidSpec) as raised:
        ask_beside([{**SECRET, "data": 17}], monkeypatch, TypeError("int has no keys"))
    assert str(raised.value).startswith("cannot be rendered beside the other objects: Secret default/registry is a")
    assert "$.data" in str(raised.value)
