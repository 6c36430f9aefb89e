"""The ports at which a graph's services are asked by others than Kubernetes: by a gateway, and by the prober."""

from collections.abc import Iterator, Sequence

from hooks.component.pod.port_rules import find_number_of
from hooks.component.rules.fragments import validate_fragments
from hooks.component.rules.sidecar_rules import find_sidecar_problems
from hooks.component.spec.beta_fields import find_frontend_containers
from hooks.component.spec.subject import ComponentType, base_model_of
from hooks.ground import contract
from hooks.ground.k8s.types import EnvVar
from hooks.ground.problems import SPEC, Key, Problem
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules import ports as rules


def common_envs(graph: GraphDeployment) -> Sequence[EnvVar]:
    """The variables of all services; () if one of them cannot be read, which another rule reports."""
    envs = graph.spec.envs
    is_readable = all(
        isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get("value") or "", str)
        for entry in envs
    )
    return envs if is_readable else ()


def frontend_container_of(graph: GraphDeployment, service: str) -> str:
    """The name of the user's container that runs a frontend beside the service; empty for none."""
    written = {service: {"extraPodSpec": graph.spec.services[service].extra_pod_spec}}
    return find_frontend_containers(graph.metadata.annotations, written).get(service, "")


def frontend_port(graph: GraphDeployment, service: str) -> int:
    """The port of the service's frontend; the default one without a frontend."""
    return _find(graph, service, contract.HTTP_PORT_NAME) or contract.HTTP_PORT


def pool_port(graph: GraphDeployment) -> int:
    """The port of the frontends beside workers, to which a gateway sends requests."""
    return next(iter(_pool_ports(graph).values()), contract.HTTP_PORT)


def find_pool_problems(graph: GraphDeployment) -> Iterator[Problem]:
    """Frontends beside workers with different ports: an InferencePool has one port for all of them."""
    if all(spec.component_type != ComponentType.EPP for spec in graph.spec.services.values()):
        return
    ports = _pool_ports(graph)
    first = next(iter(ports), "")
    for service, number in ports.items():
        if number != ports[first]:
            path, other = SPEC / "services" / Key(service), SPEC / "services" / Key(first)
            yield rules.POOL_PORTS.at(path, number=number, other=other, other_number=ports[first])


def model_port(graph: GraphDeployment, model: str) -> int | str:
    """The port of the engines' system servers that serve a model: its number, or its name if it differs among them."""
    numbers = {
        _find(graph, service, contract.SYSTEM_PORT_NAME) or contract.SYSTEM_PORT
        for service, spec in graph.spec.services.items()
        if base_model_of(spec) == model
    }
    return numbers.pop() if len(numbers) == 1 else contract.SYSTEM_PORT_NAME


def _pool_ports(graph: GraphDeployment) -> dict[str, int]:
    """By worker with a frontend beside it the port of that frontend."""
    workers = (name for name, spec in sorted(graph.spec.services.items()) if _is_worker(spec))
    return {name: number for name in workers if (number := _find(graph, name, contract.HTTP_PORT_NAME)) is not None}


def _is_worker(spec: ComponentSpec) -> bool:
    return ComponentType.of(spec.component_type).is_worker


def _find(graph: GraphDeployment, service: str, name: str) -> int | None:
    """The number of a port of a service's pods; None also for a service that cannot be rendered."""
    spec = graph.spec.services[service]
    if validate_fragments(spec) or any(find_sidecar_problems(spec)):
        return None
    frontend = frontend_container_of(graph, service)
    return find_number_of(spec, name, common_envs(graph), frontend_container=frontend)
