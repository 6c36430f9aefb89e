"""A process with the Kubernetes connector of Dynamo's planner: reads calls, writes results, each a line of JSON.

A call is `{"graph", "namespace", "call", …}`. The result is `{"error", "message"}` if the planner raised an error. With
`document` the connector is given this graph instead of an API server. The planner sets up logging for its whole
process, hence a process of its own.

Everything is the planner's own code, but for `aisimulate_core`: a model of engines in Rust, which the planner imports
at its start and its connector does not use. It is not on PyPI, so it is replaced by names without content.
"""

import asyncio
import importlib
import json
import os
import sys
from dataclasses import asdict
from types import ModuleType
from typing import Any

Call = dict[str, Any]
PARTS = {"prefill": "require_prefill", "decode": "require_decode"}


def replace_engine_model() -> None:
    package, sdk = ModuleType("aisimulate_core"), ModuleType("aisimulate_core.sdk")
    for name in ("RustForwardPassPerfModel", "ForwardPassPerfModelConfig"):
        setattr(sdk, name, type(name, (), {}))
    sys.modules |= {"aisimulate_core": package, "aisimulate_core.sdk": sdk}


def build_connector(call: Call) -> Any:
    module: Any = importlib.import_module("dynamo.planner.connectors.kubernetes")
    clients: Any = importlib.import_module("dynamo.planner.connectors.clients.kubernetes_api")
    module.KubernetesAPI = clients.KubernetesAPI
    if (document := call.get("document")) is not None:
        methods = {"__init__": lambda *_: None, "get_graph_deployment": lambda *_: document}
        module.KubernetesAPI = type("GivenGraph", (clients.KubernetesAPI,), methods)
    return module.KubernetesConnector(
        dynamo_namespace=call["namespace"], k8s_namespace=call["namespace"], parent_dgd_name=call["graph"]
    )


async def read(connector: Any, call: Call) -> Call:
    """What the planner learns of the graph at its start, by the same calls in the same order."""
    parts = call.get("parts", list(PARTS))
    required = {option: part in parts for part, option in PARTS.items()}
    await connector.validate_deployment(**required)
    deployment = connector.get_graph_deployment()
    shapes = connector.get_gpu_shapes(**required)
    stable, unstable = connector.kube_api.non_planner_components_stable(deployment)
    return {
        "model": connector.get_model_name(**required),
        "shapes": {part: shape and asdict(shape) for part, shape in zip(PARTS, shapes, strict=True)},
        "namespace": connector.get_worker_runtime_namespace("base"),
        "components": {part: connector._resolve_dgd_service(kind_of(part), "vllm")[1] for part in parts},
        "workloads": connector._get_dgd_component_names(),
        "stable": stable,
        "unstable": unstable,
        "ready": connector.kube_api.is_deployment_ready(deployment),
    }


async def scale(connector: Any, call: Call) -> Call:
    """Ask for replicas by part, as a tick of the planner does."""
    defaults = importlib.import_module("dynamo.planner.config.defaults")
    targets = [
        defaults.TargetReplica(sub_component_type=kind_of(part), desired_replicas=count)
        for part, count in call["replicas"].items()
    ]
    await connector.set_component_replicas(targets, blocking=False)
    return {}


async def count(connector: Any, call: Call) -> Call:
    """The workers that the planner counts, with the pods listed; None if it may not list them."""
    names = {f"{part}_component_name": name for part, name in call["names"].items()}
    found = await connector.get_worker_inventory(**names)
    return {"counts": found and asdict(found)}


async def target(connector: Any, call: Call) -> Call:
    """The replicas that are asked for, which the planner reads before it takes back a scaling that has begun."""
    names = call["names"]
    return {name: connector.kube_api.get_service_replica_target(call["graph"], name) for name in names}


def kind_of(part: str) -> Any:
    return importlib.import_module("dynamo.planner.config.defaults").SubComponentType(part)


async def answer(call: Call) -> Call:
    errors: Any = importlib.import_module("dynamo.planner.errors")
    clients: Any = importlib.import_module("kubernetes.client")
    try:
        connector = build_connector(call)
        await connector.async_init()
        result: Call = await CALLS[call["call"]](connector, call)
    except (errors.PlannerError, clients.ApiException) as error:
        return {"error": type(error).__name__, "message": str(error)}
    return result


CALLS = {"read": read, "scale": scale, "count": count, "target": target}


def main() -> None:
    """Answer until stdin ends; what the planner logs goes to stderr."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    replace_engine_model()
    for line in sys.stdin:
        results.write(json.dumps(asyncio.run(answer(json.loads(line)))) + "\n")
        results.flush()


if __name__ == "__main__":
    main()
