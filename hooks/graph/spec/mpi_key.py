"""Whether a graph needs the SSH key of multinode TensorRT-LLM; on both paths it copies the key for its services."""

from hooks.component.image.command_line import CommandLine
from hooks.component.pod.backends import Backend, resolve_backend
from hooks.component.spec.subject import ComponentType
from hooks.ground.errors import InvalidSpec
from hooks.language.api.graph import GraphDeployment


def needs_mpi_key(graph: GraphDeployment) -> bool:
    """Whether a service runs TensorRT-LLM over several nodes; a service of unknown engine does not count."""
    return any(_is_trtllm(graph, service) for service, spec in graph.spec.services.items() if spec.is_multinode)


def _is_trtllm(graph: GraphDeployment, service: str) -> bool:
    spec = graph.spec.services[service]
    kind, command_line = ComponentType.of(spec.component_type), CommandLine.of(spec.main_container)
    try:
        return resolve_backend(kind, command_line, graph.spec.backend_framework) is Backend.TRTLLM
    except InvalidSpec:
        return False  # the sync reports its problem
