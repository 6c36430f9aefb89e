"""Specs of components over several nodes."""

from typing import Any

INSTALLED = ("lws", "volcano")
TENSOR = ["--tensor-parallel-size", "4", "--pipeline-parallel-size", "1"]
SETS = "LeaderWorkerSet"


def main(engine: str = "vllm", *args: str) -> dict[str, Any]:
    return {"image": "i", "command": ["python3", "-m", f"dynamo.{engine}"], "args": list(args or TENSOR)}


def spec(nodes: int = 2, engine: str = "vllm", **fields: Any) -> dict[str, Any]:
    return {
        "componentType": "worker",
        "multinode": {"nodeCount": nodes},
        "resources": {"limits": {"gpu": "1"}},
        "extraPodSpec": {"mainContainer": main(engine)},
        **fields,
    }
