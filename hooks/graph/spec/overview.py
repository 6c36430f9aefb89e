"""What `kubectl get` shows of a graph's plan in a word each: what runs its pods, and how many GPUs they request."""

from collections.abc import Iterable
from enum import StrEnum

from hooks.component.spec.gpus import count_gpus
from hooks.graph.spec.components import GraphServicePlan
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.quantities import MOST
from hooks.language.api.component_spec import Resources
from hooks.language.api.graph import GraphDeployment


class RunBy(StrEnum):
    """The kind of workload that runs a graph's pods."""

    GROVE = "Grove"
    DEPLOYMENTS = "Deployments"
    LEADER_WORKER_SETS = "LWS"


def name_path(graph: GraphDeployment, *, by_grove: bool) -> str:
    """`Grove`, `Deployments`, `LWS`, or `Deployments,LWS` for a graph with services of both kinds."""
    if by_grove:
        return RunBy.GROVE.value
    nodes = {spec.is_multinode for spec in graph.spec.services.values()}
    used = ((RunBy.DEPLOYMENTS, False), (RunBy.LEADER_WORKER_SETS, True))
    return ",".join(one.value for one, is_multinode in used if is_multinode in nodes)


def total_gpus(graph: GraphDeployment, components: Iterable[GraphServicePlan]) -> int:
    """The GPUs that all wanted pods of the graph request together; at most `MOST`, which the status can hold."""
    return min(sum(_count(graph, component) for component in components), MOST)


def _count(graph: GraphDeployment, component: GraphServicePlan) -> int:
    spec = graph.spec.services[component.service]
    written = component.spec.get("resources")
    resources = Resources.model_validate(written) if written else None
    try:
        gpus = count_gpus(resources, spec.main_container)
    except InvalidSpec:  # the component's own hook reports the amount
        return 0
    return gpus * spec.node_count * int(component.spec["replicas"])
