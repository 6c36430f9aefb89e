"""A graph with an endpoint picker of 1.5 under a real Metacontroller: picker and InferencePool find its workers."""

from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from tests import make
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import DYNAMO, GRAPH, running_controllers, wait_until_ready
from tests.cluster.programs import HttpServer

NAME, RELEASE = "gateway", "1.5.1"
POOL = (kinds.INFERENCE_POOL.api_version, kinds.INFERENCE_POOL.kind, f"{NAME}-pool")
COMMAND: dict[str, Any] = {
    "command": ["python3", "-m", "dynamo.vllm"],
    "image": f"registry.example/vllm-runtime:{RELEASE}",
}
WORKERS: dict[str, Any] = {
    "Decode": make.service("worker", subComponentType="decode", replicas=2, **COMMAND),
    "Prefill": make.service("worker", subComponentType="prefill", **COMMAND),
}
SERVICES: dict[str, Any] = {
    **WORKERS,
    "Frontend": make.service("frontend", image=f"registry.example/dynamo-frontend:{RELEASE}"),
    "Picker": make.service("epp", image=f"registry.example/dynamo-frontend:{RELEASE}"),
}


def test_pool_and_picker_find_the_workers_and_no_other_pods(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str
) -> None:
    assert metacontroller
    metadata = {"name": NAME, "namespace": api.namespace}
    graph = {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": metadata, "spec": {"services": SERVICES}}
    with running_controllers(admin, acting_url, ["inference-pool"]):
        api.create(graph, strict=True)
        wait_until_ready(api, NAME)
        pool = api.get(*POOL)
        assert pool is not None
        labels: dict[str, str] = pool["spec"]["selector"]["matchLabels"]
        namespace = f"{api.namespace}-{NAME}"
        assert labels == {contract.LABEL_COMPONENT_CLASS: "worker", contract.LABEL_NAMESPACE: namespace}
        # This is what the picker of 1.5 asks the API server for.
        by_picker = f"{contract.LABEL_NAMESPACE}={namespace},{contract.LABEL_COMPONENT_CLASS}=worker"
        wait_for(lambda: services_of(api, by_picker) == ["Decode", "Decode", "Prefill"], "the picker finds the workers")
        assert services_of(api, ",".join(f"{key}={value}" for key, value in labels.items())) == [
            *("Decode", "Decode", "Prefill")
        ]
        assert len(services_of(api, f"{contract.LABEL_NAMESPACE}={namespace}")) == 5
        assert types_of(api, by_picker) == {"decode", "prefill"}
        api.delete(DYNAMO, GRAPH, NAME)


def services_of(api: ApiClient, selector: str) -> list[str]:
    """The services of the pods that the selector finds."""
    return sorted(pod["metadata"]["labels"][contract.LABEL_COMPONENT] for pod in _pods(api, selector))


def types_of(api: ApiClient, selector: str) -> set[str]:
    return {pod["metadata"]["labels"][contract.LABEL_COMPONENT_TYPE] for pod in _pods(api, selector)}


def _pods(api: ApiClient, selector: str) -> list[dict[str, Any]]:
    found = api.list("v1", "Pod", labelSelector=selector)
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
