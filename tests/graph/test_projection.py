"""What clients of Dynamo 1.x read in a graph's status, on both paths, and that it is of the graph's present spec."""

import json
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.graph import test_grove as grove
from tests.graph import world

VLLM = ["python3", "-m", "dynamo.vllm"]
FIELDS = (
    *("runtimeNamespace", "runtimeComponentName", "servedModelName"),
    *("gpusPerEngine", "gpusPerReplica", "gpuPowerLimitWatts"),
)


def worker(model: str = "Qwen/Q", **spec: Any) -> dict[str, Any]:
    args = ["--model", model, "--endpoint", "dyn://x.backend.generate"]
    return make.service(command=VLLM, args=args, **{"resources": {"limits": {"gpu": "2"}}, **spec})


SERVICES = {"Frontend": make.service("frontend"), "Worker": worker()}
OF_WORKER = {
    "runtimeNamespace": "default-g",
    "runtimeComponentName": "backend",
    "servedModelName": "Qwen/Q",
    "gpusPerEngine": 2,
    "gpusPerReplica": 2,
}


def services(answer: SyncAnswer) -> dict[str, dict[str, Any]]:
    assert answer.status is not None
    return dict(answer.status.get("services") or {})


def projected(answer: SyncAnswer, service: str = "Worker") -> dict[str, Any]:
    found = services(answer)[service]
    return {field: found[field] for field in FIELDS if field in found}


def on_components(graph: Manifest) -> SyncAnswer:
    return world.ask(graph, world.run(world.apply((), world.ask(graph).children)))


def test_components_have_names_and_gpus() -> None:
    answer = on_components(make.graph(SERVICES))
    assert projected(answer) == OF_WORKER
    assert projected(answer, "Frontend") == {"runtimeNamespace": "default-g", "gpusPerEngine": 0, "gpusPerReplica": 0}


def test_status_of_a_component_about_an_earlier_spec_is_not_taken_over() -> None:
    graph = make.graph(SERVICES)
    children = world.run(world.apply((), world.ask(graph).children))
    stale = world.child(children, "DynamoComponentDeployment", "g-worker")["status"]["service"]
    stale.update(servedModelName="old", runtimeComponentName="old", gpusPerEngine=8, gpusPerReplica=8)
    changed = make.graph({**SERVICES, "Worker": make.service(command=VLLM, args=["--served-model-name", "new"])})
    assert projected(world.ask(changed, children)) == {
        "runtimeNamespace": "default-g",
        "servedModelName": "new",
        "gpusPerEngine": 0,
        "gpusPerReplica": 0,
    }


def test_counts_of_the_component_stay() -> None:
    assert services(on_components(make.graph({"Worker": worker(replicas=3)})))["Worker"]["updatedReplicas"] == 3


def test_refused_graph_keeps_what_its_services_were() -> None:
    status = on_components(make.graph(SERVICES)).status
    refused = world.ask(make.graph({**SERVICES, "Worker": worker("new", replicas=-1)}, status=status))
    assert refused.problems
    assert projected(refused) == OF_WORKER


PARTS = (grove.part("PodClique", "g-0-worker", desired=1),)
GROUP = (grove.part("PodCliqueScalingGroup", "g-0-worker", desired=2),)


def test_clique_has_names_gpus_and_scheduled_replicas() -> None:
    graph = make.graph({"Worker": worker()})
    scheduled = grove.part("PodClique", "g-0-worker", desired=1, good=0)
    found = services(grove.ask(graph, grove.settled(graph), [scheduled]))["Worker"]
    assert found == {
        "componentKind": "PodClique",
        "componentName": "g-0-worker",
        "componentNames": ["g-0-worker"],
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 0,
        "scheduledReplicas": 1,
        **OF_WORKER,
    }


def test_scaling_group_counts_the_gpus_of_all_nodes() -> None:
    graph = make.graph({"Worker": grove.multinode(nodes=3)})
    found = services(grove.ask(graph, grove.settled(graph), GROUP))["Worker"]
    assert found["componentNames"] == ["g-0-worker"]
    assert (found["gpusPerEngine"], found["gpusPerReplica"], found["scheduledReplicas"]) == (6, 6, 2)


def test_service_of_the_shared_namespace_says_so() -> None:
    answer = on_components(make.graph({"Worker": worker(globalDynamoNamespace=True)}))
    assert projected(answer)["runtimeNamespace"] == "dynamo"


def test_limit_of_watts_in_the_graphs_annotations_counts() -> None:
    graph = make.graph({"Worker": worker()})
    limited = {**graph["spec"], "annotations": {"dynamo.nvidia.com/gpu-power-limit": "300"}}
    assert projected(on_components({**graph, "spec": limited}))["gpuPowerLimitWatts"] == 300


def test_variables_of_the_graph_count() -> None:
    envs = [{"name": "MODEL", "value": "of-graph"}]
    assert (
        projected(on_components(make.graph({"Worker": worker("$(MODEL)")}, envs=envs)))["servedModelName"] == "of-graph"
    )


@pytest.mark.parametrize("of_graph", [True, False], ids=["graph", "service"])
def test_gpus_of_the_deployment_config_count(of_graph: bool) -> None:
    config = json.dumps({"Worker": {"ServiceArgs": {"resources": {"gpu": "4"}}}})
    envs = [{"name": "DYN_DEPLOYMENT_CONFIG", "value": config}]
    graph = make.graph({"Worker": worker()}, envs=envs) if of_graph else make.graph({"Worker": worker(envs=envs)})
    found = projected(on_components(graph))
    assert (found["gpusPerEngine"], found["gpusPerReplica"]) == (4, 4)


@pytest.mark.parametrize("path", ["components", "grove"])
def test_same_status_again_at_the_next_sync(path: str) -> None:
    graph = make.graph({"Worker": worker()})
    if path == "grove":
        children, parts = grove.settled(graph), PARTS
        first = grove.ask(graph, children, parts).status
        again = grove.ask({**graph, "status": first}, children, parts).status
    else:
        first = on_components(graph).status
        again = on_components({**graph, "status": first}).status
    assert again == first
