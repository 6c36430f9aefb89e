"""Simulated clusters for these tests: no hook unless a test gives one."""

from typing import Any

import orjson

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import Hook, HookAnswer
from tests.contract.backend import CRDS, GROUP_VERSION

WIDGET = GroupVersionKind.of(GROUP_VERSION, "Widget")
THING = GroupVersionKind.of(GROUP_VERSION, "Thing")


def no_hook(path: str, _body: bytes) -> HookAnswer:
    raise AssertionError(f"{path}: this test has no controller")


def world(**setup: Any) -> SimulatedCluster:
    given: dict[str, Any] = {"hook": no_hook, "crds": CRDS, **setup}
    return SimulatedCluster(Setup(**given))


def answering(body: Any, code: int = 200) -> Hook:
    """A hook that always says the same."""

    def hook(_path: str, _body: bytes) -> HookAnswer:
        return code, {}, body if isinstance(body, bytes) else orjson.dumps(body)

    return hook


def widget(name: str = "w", spec: Any = None, **metadata: Any) -> Manifest:
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": spec or {"size": 1},
    }


def config_map(name: str = "c", **metadata: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


def deployment(name: str = "d", replicas: int = 1, image: str = "example.com/app:1", **spec: Any) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": [{"name": "main", "image": image, "ports": [{"name": "http", "containerPort": 8000}]}]
                },
            },
            **spec,
        },
    }


def service(name: str = "s", app: str = "d", **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": {"tier": "gold"}},
        "spec": {"selector": {"app": app}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}], **spec},
    }


def the_deployment(cluster: SimulatedCluster, name: str = "d") -> Manifest:
    found = cluster.get(kinds.DEPLOYMENT, name, "default")
    assert found is not None
    return found


def pods(cluster: SimulatedCluster) -> list[Manifest]:
    return cluster.list_kind(kinds.POD, "default")


def owner(obj: Manifest, **flags: bool) -> dict[str, Any]:
    """An owner reference to a stored object."""
    metadata = obj["metadata"]
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        **flags,
    }
