"""Graphs under Grove's real operator: the hooks beside it, and what tests do to graphs and read of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, condition, is_ready, running_controllers, the_graph
from tests.cluster.grove_operator import SECONDS, running_grove
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE, POD_CLIQUE_SET
from tests.cluster.processes import Server
from tests.contract.backend import Manifest


@contextmanager
def running_hooks(
    plane: ControlPlane,
    admin: ApiClient,
    folder: Path,
    *kinds: str,
    topology: bool = False,
    authorizer: bool = False,
    **settings: str,
) -> Iterator[Server]:
    """Run Grove's operator, and the hooks and their controllers, for `kinds` too, beside it; gives the operator."""
    settings = {"serving": "report", **settings}
    client = effects_client(plane, folder, **settings)
    with (
        running_grove(plane, folder, topology=topology, authorizer=authorizer) as operator,
        granted_effects(admin),
        acting_hooks(client, **settings) as url,
        running_controllers(admin, url, ["grove", *kinds]),
    ):
        yield operator


def create(api: ApiClient, name: str, services: Manifest, **annotations: str) -> None:
    """Create a graph whose pods run on the nodes of the namespace alone."""
    for service in services.values():
        service["extraPodSpec"] = {**service.get("extraPodSpec", {}), "nodeSelector": {"pool": api.namespace}}
    metadata = {"name": name, "annotations": annotations}
    api.create({"apiVersion": DYNAMO, "kind": GRAPH, "metadata": metadata, "spec": {"services": services}}, strict=True)


def change(api: ApiClient, name: str, service: str, **fields: Any) -> None:
    api.patch(DYNAMO, GRAPH, name, {"spec": {"services": {service: fields}}})


def image(tag: str) -> Manifest:
    return {"mainContainer": {"image": f"img:{tag}"}}


def message(api: ApiClient, name: str) -> str:
    return str(condition(the_graph(api, name), "Ready").get("message"))


def says(api: ApiClient, name: str, text: str) -> None:
    wait_for(lambda: text in message(api, name), lambda: f"{text}: {message(api, name)}", SECONDS)


def pods(api: ApiClient, clique: str) -> list[Manifest]:
    return api.list("v1", "Pod", labelSelector=f"grove.io/podclique={clique}")


def the_set(api: ApiClient, name: str) -> Manifest:
    found = api.get(GROVE, POD_CLIQUE_SET, name)
    assert found is not None
    return found


def part(api: ApiClient, name: str) -> Manifest:
    found = api.get(GROVE, POD_CLIQUE, name)
    assert found is not None
    return found


def is_observed(api: ApiClient, name: str) -> bool:
    found = the_graph(api, name)
    return bool(found["status"]["observedGeneration"] == found["metadata"]["generation"])


def ready_of(api: ApiClient, name: str) -> None:
    wait_for(lambda: is_ready(api, name), lambda: f"{name} is ready: {message(api, name)}", SECONDS)


def crash(api: ApiClient, pod: Manifest) -> None:
    """Let a running pod crash again and again, as the kubelet would say it."""
    name = pod["metadata"]["name"]
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    last = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}}
    container = {"name": "main", "image": "i", "imageID": "", "ready": False, "started": False, "restartCount": 5}
    states = {"PodScheduled": "True", "Initialized": "True", "ContainersReady": "False", "Ready": "False"}
    conditions = [{"type": kind, "status": is_so} for kind, is_so in states.items()]
    status = {"conditions": conditions, "containerStatuses": [{**container, "state": state, "lastState": last}]}
    api.patch("v1", "Pod", name, {"status": status}, None, "status")
