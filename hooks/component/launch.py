"""How a main container starts its engine on one of several nodes; all calls of the engines' launch rules are here.

Source: Dynamo operator, internal/dynamo/graph.go, GenerateBasePodSpec, and backend_*.go.
"""

from collections.abc import Mapping
from typing import assert_never

from hooks.api.component_spec import Resources
from hooks.component.backends import Backend
from hooks.component.backends.launched import Launched
from hooks.component.backends.sglang import launch_sglang
from hooks.component.backends.trtllm import launch_trtllm
from hooks.component.backends.vllm import launch_vllm
from hooks.component.gpus import count_gpus
from hooks.component.placement import Placement, Role
from hooks.k8s.types import Json


def launch(
    container: Mapping[str, Json],
    placement: Placement,
    *,
    backend: Backend,
    resources: Resources | None,
    annotations: Mapping[str, str],
    mpi_secret: str,
) -> Launched:
    """The main container with the engine's launch rules applied; the container is otherwise complete.

    On a single node, and if no engine is known, it is unchanged. `annotations` are the component's (vLLM reads its
    executor there), `mpi_secret` names the Secret with the SSH key (of TensorRT-LLM).

    Raises:
        InvalidSpec: the launch rules cannot use the number of GPUs or the command.
    """
    if placement.role is Role.MAIN:
        return Launched(container=dict(container))
    match backend:
        case Backend.VLLM:
            gpus = count_gpus(resources, container)
            return launch_vllm(container, placement, gpus=gpus, annotations=annotations)
        case Backend.SGLANG:
            return launch_sglang(container, placement)
        case Backend.TRTLLM:
            gpus = count_gpus(resources, container, first="requests")
            return launch_trtllm(container, placement, gpus=gpus, mpi_secret=mpi_secret)
        case Backend.NOOP:
            return Launched(container=dict(container))
        case never:
            assert_never(never)
