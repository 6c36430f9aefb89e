"""A graph under Grove as the API server stores it; its spec scales one service, and an adapter the other one."""

from typing import Any

from hooks.graph.sync import sync
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.wire.metacontroller.controllers import declared_kinds
from tests import make

FRONTEND, WORKER = "g-0-frontend", "g-0-worker"
ADAPTER = "g-worker"


def graph(frontends: int = 3, *, generation: int = 7, **metadata: Any) -> Manifest:
    """The graph `g`: a frontend with these replicas, and a worker with an adapter."""
    services = {
        "Frontend": make.service("frontend", replicas=frontends),
        "Worker": make.service(replicas=1, scalingAdapter={"enabled": True}),
    }
    found = make.graph(services)
    return {**found, "metadata": {**found["metadata"], "generation": generation, "resourceVersion": "70", **metadata}}


def adapter(replicas: int = 5, *, generation: int = 4, owner: str = "u-g", name: str = ADAPTER) -> Manifest:
    """The adapter of the worker."""
    spec = {"replicas": replicas, "dgdRef": {"name": "g", "serviceName": "Worker"}}
    return _owned(contract.SCALING_ADAPTER, name, owner, spec, generation=generation)


def pod_clique_set(owner: str = "u-g") -> Manifest:
    """The set of the graph, as the graph's hook renders it."""
    request = make.sync_request(graph(), installed=["grove"])
    (rendered,) = (c for c in sync(request, make.facts()).children if c["kind"] == kinds.POD_CLIQUE_SET.kind)
    return _owned(kinds.POD_CLIQUE_SET, "g", owner, rendered["spec"])


def clique(name: str = FRONTEND, replicas: int = 1, *, owner: str = "u-set-g", part_of: str = "g") -> Manifest:
    """A PodClique that Grove made from the set."""
    labels = {"app.kubernetes.io/part-of": part_of}
    return _owned(kinds.POD_CLIQUE, name, owner, {"replicas": replicas}, labels=labels)


def stored() -> list[Manifest]:
    """All of them."""
    return [graph(), adapter(), pod_clique_set(), clique(), clique(WORKER)]


def body(parent: Manifest, children: Any = (), related: Any = ()) -> dict[str, Any]:
    """A call of Metacontroller, or of somebody who writes what it would write."""
    return make.wire_request(parent, children, related, ["grove"])


def attached(parent: Manifest, *related: Manifest) -> dict[str, Any]:
    """A call about an object of a DecoratorController."""
    call = make.wire_request(parent, (), related)
    return {"object": call["parent"], "attachments": {}, "related": call["related"], "controller": call["controller"]}


DECLARED = frozenset(kind for kind in declared_kinds(["grove"]) if kind == kinds.POD_CLIQUE_SET)


def _owned(kind: GroupVersionKind, name: str, owner: str, spec: Any, **metadata: Any) -> Manifest:
    reference = {"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": owner, "controller": True}
    uid = f"u-set-{name}" if kind == kinds.POD_CLIQUE_SET else f"u-{name}"
    given = {"generation": 1, "name": name, "namespace": make.NAMESPACE, "uid": uid, **metadata}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**given, "ownerReferences": [reference]},
        "spec": spec,
    }
