"""DynamoGraphDeploymentScalingAdapter of v1beta1: the replicas of one component of a graph, with a scale subresource.

Source: Dynamo operator 1.x, api/v1beta1/dynamographdeploymentscalingadapter_types.go.
"""

from typing import Annotated

from pydantic import Field

from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.scaling_adapter import ScalingAdapterStatus
from hooks.language.api.schema import INT32, Schema
from hooks.language.api.status import UNSEEN


class GraphComponentReference(ApiModel):
    """A component of a graph in the same namespace."""

    name: Annotated[str, Schema("Name of the graph.", required=True, min_length=1)] = ""
    component_name: Annotated[str, Schema("Name of the component in the graph.", required=True, min_length=1)] = ""


class ScalingAdapterSpec(ApiModel):
    """An adapter's spec."""

    replicas: Annotated[int, Schema("Wanted replicas of the component.", required=True, format=INT32, minimum=0)] = 0
    dgd_ref: Annotated[GraphComponentReference, Schema("The component that is scaled.", required=True)] = Field(
        default_factory=GraphComponentReference
    )


class GraphScalingAdapter(ApiModel):
    """Scales one component of a graph through the scale subresource."""

    metadata: ParentMetadata
    spec: Annotated[ScalingAdapterSpec, Schema("The component, and its wanted replicas.", required=True)]
    status: Annotated[ScalingAdapterStatus, Schema("What was observed.", default=UNSEEN)] = Field(
        default_factory=ScalingAdapterStatus
    )
