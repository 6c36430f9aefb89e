"""The graphs that a profiler of 1.x creates and deletes while it searches thoroughly, as it writes them.

Each has the name of a candidate and four more characters; it belongs to the request, which does not control it. The
profiler waits until it is ready, finds its pods by a label, measures it through its frontend's Service, and deletes it.

Source: Dynamo 1.x, dynamo/profiler/thorough.py and deploy/utils/dynamo_deployment.py.
"""

from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest

NAME = "vllm-agg-5f0a1c22-9b3e"
IMAGE = "r/vllm-runtime:1.5.1"
COMPONENTS = ("Frontend", "VllmDecodeWorker")


def trial_graph(request: Manifest, name: str = NAME) -> Manifest:
    """A candidate of the search for the best decode worker, in v1beta1."""
    metadata = request["metadata"]
    owner = {
        "apiVersion": request["apiVersion"],
        "kind": contract.GRAPH_REQUEST.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": False,
        "blockOwnerDeletion": True,
    }
    worker = {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "Qwen/Qwen3-32B"]}
    return {
        "apiVersion": f"{contract.GROUP}/{contract.BETA_VERSION}",
        "kind": contract.GRAPH.kind,
        "metadata": {"name": name, "namespace": metadata["namespace"], "ownerReferences": [owner]},
        "spec": {
            "components": [
                _component("Frontend", "frontend", command=["python3", "-m", "dynamo.frontend"]),
                _component("VllmDecodeWorker", "worker", resources={"limits": {"nvidia.com/gpu": "1"}}, **worker),
            ]
        },
    }


def selectors(component: str, name: str = NAME) -> tuple[dict[str, str], dict[str, str]]:
    """By which labels profilers find the pods of a component: those before 1.5, and those from then on."""
    return (
        {contract.LABEL_SELECTOR: f"{name}-{component.lower()}"},
        {contract.LABEL_GRAPH: name, contract.LABEL_COMPONENT: component},
    )


def _component(name: str, kind: str, **main: Any) -> dict[str, Any]:
    container = {"name": "main", "image": IMAGE, **main}
    return {"name": name, "type": kind, "replicas": 1, "podTemplate": {"spec": {"containers": [container]}}}
