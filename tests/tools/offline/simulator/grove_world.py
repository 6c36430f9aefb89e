"""Graphs in a simulated cluster with the real hooks' functions, without HTTP, and with effects carried out."""

from collections.abc import Iterator, Mapping
from typing import Any

from hooks.adapter import sync as scaling_adapter
from hooks.component import sync as component
from hooks.graph import sync as graph
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.request import sync as request
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.effects import Effect, permitted_effects
from hooks.wire.metacontroller.wire import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)
from tests import make
from tests.tools.offline.simulator.hooked import CRDS

HOOKS: Mapping[str, tuple[GroupVersionKind, Any]] = {
    "request": (contract.GRAPH_REQUEST, request),
    "graph": (contract.GRAPH, graph),
    "component": (contract.COMPONENT, component),
    "scaling-adapter": (contract.SCALING_ADAPTER, scaling_adapter),
}


class GroveWorld:
    """A cluster with Grove, its hooks, and the effects that they asked for."""

    def __init__(self, installed: frozenset[str] = frozenset({"grove"}), **settings: str) -> None:
        self.effects: list[Effect] = []
        self.carries_out = True
        self._facts = Facts(now=make.NOW, settings=parse_settings({}, {"hooks_image": "hooks:1", **settings}))
        controllers = [c for c in install_files.controllers("", installed) if c["metadata"]["name"] != "dynamo-model"]
        setup = Setup(hook=self.answer, controllers=controllers, crds=CRDS, optional=installed)
        self.cluster = SimulatedCluster(setup)

    def answer(self, path: str, body: bytes) -> HookAnswer:
        """What the server would answer."""
        _, name, call = path.split("/")
        kind, hook = HOOKS[name]
        if call == "customize":
            rules = hook.customize(parse_customize_request(body, kind), self._facts)
            return 200, {}, write_customize_answer(rules)
        is_decorator = kind == contract.SCALING_ADAPTER
        asked = parse_sync_request(body, kind, decorator=is_decorator)
        answer = getattr(hook, call)(asked, self._facts)
        self.effects += answer.effects
        written = write_sync_answer(answer, asked.children, decorator=is_decorator)
        if self.carries_out:
            self.cluster.carry_out(permitted_effects(answer.effects, self._facts.settings))
        return 200, {}, written

    def apply(self, manifest: Manifest) -> None:
        """Apply a graph as a user does and let the cluster settle; what its maker alone knows is left out."""
        metadata = {key: value for key, value in manifest["metadata"].items() if key not in {"uid", "generation"}}
        live = self.cluster.get(contract.GRAPH, metadata["name"], metadata["namespace"])
        if live is None:
            self.cluster.create({**manifest, "metadata": metadata})
        else:
            # Twice, as a merge patch would keep what the new spec has no more; nothing happens in between.
            annotations = {"annotations": metadata.get("annotations")}
            for change in ({"spec": None}, {"metadata": annotations, "spec": manifest["spec"]}):
                self.cluster.patch(contract.GRAPH, metadata["name"], change, "default")
        self.settle()

    def settle(self) -> None:
        """Let everything happen, also what a resync a few seconds later brings."""
        self.cluster.settle()
        self.cluster.run_for(30)

    def steps(self, seconds: float) -> Iterator[None]:
        """One piece of work after another, until nothing is left to do within so many seconds."""
        end = self.cluster.clock.seconds + seconds
        while True:
            yield
            if self.cluster.step():
                continue
            due = self.cluster.next_time()
            if due is None or due > end:
                return
            self.cluster.clock.advance_to(due)

    def names(self, kind: GroupVersionKind) -> list[str]:
        """Names of all objects of a kind."""
        return [found["metadata"]["name"] for found in self.cluster.list_kind(kind, "default")]

    def status(self, name: str = "g") -> dict[str, Any]:
        """The graph's status."""
        found = self.cluster.get(contract.GRAPH, name, "default")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status

    def message(self, name: str = "g") -> str:
        """What the graph's condition Ready says."""
        (condition,) = [one for one in self.status(name)["conditions"] if one["type"] == "Ready"]
        text: str = condition["message"]
        return text

    def pods(self) -> list[Manifest]:
        """All pods."""
        return self.cluster.list_kind(kinds.POD, "default")
