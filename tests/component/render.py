"""One component's sync in one line, and its children by kind."""

from collections.abc import Iterable
from typing import Any

from hooks.component import sync
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make

VLLM = ["python3", "-m", "dynamo.vllm"]


def answer(
    parent: Manifest,
    children: Iterable[Manifest] = (),
    related: Iterable[Manifest] = (),
    *,
    installed: Iterable[str] = (),
    facts: Facts | None = None,
) -> SyncAnswer:
    """The answer to a sync of that component."""
    return sync.sync(make.sync_request(parent, children, related, installed=installed), facts or make.facts())


def children(spec: dict[str, Any], *, name: str = "c", graph: str = "g", **settings: str) -> list[Manifest]:
    """Children of a component without problems."""
    given = answer(make.component(name, graph, **spec), facts=make.facts(make.NOW, **settings))
    assert given.problems == ()
    return list(given.children)


def deployment(spec: dict[str, Any], *, name: str = "c", graph: str = "g", **settings: str) -> Manifest:
    """Its Deployment."""
    return only(children(spec, name=name, graph=graph, **settings), "Deployment")


def pod(spec: dict[str, Any], *, graph: str = "g", **settings: str) -> Manifest:
    """Its pod's spec."""
    found: Manifest = deployment(spec, graph=graph, **settings)["spec"]["template"]["spec"]
    return found


def main(spec: dict[str, Any], *, graph: str = "g", **settings: str) -> Manifest:
    """Its main container, which stands last."""
    found: Manifest = pod(spec, graph=graph, **settings)["containers"][-1]
    return found


def env(spec: dict[str, Any], *, graph: str = "g", **settings: str) -> dict[str, Any]:
    """The main container's variables: name to value, or to `valueFrom`, or to "" without either."""
    return {e["name"]: e.get("value", e.get("valueFrom", "")) for e in main(spec, graph=graph, **settings)["env"]}


def only(manifests: Iterable[Manifest], kind: str) -> Manifest:
    """The one object of a kind."""
    found = [manifest for manifest in manifests if manifest["kind"] == kind]
    assert len(found) == 1, [manifest["kind"] for manifest in manifests]
    return found[0]


def problems(spec: dict[str, Any], *, name: str = "c", graph: str = "g") -> tuple[str, ...]:
    """What is said to be wrong with a component."""
    return texts_of(answer(make.component(name, graph, **spec)).problems)
