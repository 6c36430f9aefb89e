"""How a main container starts its engine on one of several nodes: the one way into the engines' launch rules.

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
    """Launch a component's main container, complete but for this, in its place.

    On a single node, and where no engine is known, it comes back as it is. `annotations` are the component's own
    (vLLM's executor), `mpi_secret` names the Secret with the ssh keys (TensorRT-LLM).

    Raises:
        InvalidSpec: a GPU count or a command that several nodes cannot be made from.
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
