"""The schemas of both sides, by the kind of an object."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.language.api import component, graph, graph_request, scaling_adapter
from hooks.language.api.base import ApiModel
from hooks.language.conversion.acceptance import FrameSchemas
from hooks.language.conversion.pairs import TOP, Frame
from hooks.language.conversion.sides import Side
from hooks.language.v1beta1.models import component as own_component
from hooks.language.v1beta1.models import graph as own_graph
from hooks.language.v1beta1.models import graph_request as own_graph_request
from hooks.language.v1beta1.models import scaling_adapter as own_scaling_adapter

MODELS: Mapping[str, Mapping[Side, type[ApiModel]]] = {
    contract.GRAPH.kind: {Side.HUB: graph.GraphDeployment, Side.SPOKE: own_graph.GraphDeployment},
    contract.COMPONENT.kind: {Side.HUB: component.ComponentDeployment, Side.SPOKE: own_component.ComponentDeployment},
    contract.SCALING_ADAPTER.kind: {
        Side.HUB: scaling_adapter.GraphScalingAdapter,
        Side.SPOKE: own_scaling_adapter.GraphScalingAdapter,
    },
    contract.GRAPH_REQUEST.kind: {Side.HUB: graph_request.GraphRequest, Side.SPOKE: own_graph_request.GraphRequest},
}


def frame_schemas(kind: str, paths: Mapping[Side, Mapping[Frame, tuple[str, ...]]]) -> FrameSchemas:
    """The schemas of frames at these paths of a kind's objects."""
    return FrameSchemas(MODELS[kind], {side: {**of_side} for side, of_side in paths.items()})


def schemas_of_part(kind: str, *path: str) -> FrameSchemas:
    """The schemas of a part that is one frame, with this path on both sides."""
    return FrameSchemas(MODELS[kind], {side: {TOP: path} for side in Side})
