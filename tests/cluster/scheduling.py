"""Nodes of a test's own, for the pods that the real scheduler gets: those of namespaces `scheduled-…` alone."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import own_namespace
from tests.cluster.processes import Server, running
from tests.ports import free_port


@contextmanager
def running_scheduler(plane: ControlPlane, folder: Path) -> Iterator[Server]:
    """Start the real scheduler."""
    command = (
        *(str(plane.binaries.kube_scheduler), f"--kubeconfig={plane.kubeconfig('scheduler')}", "--leader-elect=false"),
        *("--bind-address=127.0.0.1", f"--secure-port={free_port()}", "--authentication-skip-lookup"),
    )
    with running(Server("kube-scheduler", command, folder)) as server:
        yield server


@contextmanager
def scheduled_namespace(admin: ApiClient) -> Iterator[ApiClient]:
    """A namespace whose pods are scheduled; its nodes go with it."""
    with own_namespace(admin, "scheduled") as client:
        yield client
        for node in admin.list("v1", "Node", labelSelector=f"pool={client.namespace}"):
            admin.delete("v1", "Node", node["metadata"]["name"])


def add_node(admin: ApiClient, pool: str, gpus: int, more: Mapping[str, str] | None = None, **labels: str) -> str:
    """A node for the pods of one namespace, with room for `more`; gives its name."""
    room = {"cpu": "100", "memory": "1Ti", "pods": "100", "nvidia.com/gpu": str(gpus), **(more or {})}
    metadata = {
        "generateName": f"{pool}-",
        "labels": {"pool": pool, **labels},
        "annotations": {"kwok.x-k8s.io/node": "fake"},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    name: str = admin.create({**node, "status": {"allocatable": room, "capacity": room}})["metadata"]["name"]
    return name
