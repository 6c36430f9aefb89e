"""DynamoGraphDeploymentScalingAdapter: the replicas of one service of a graph, with a scale subresource."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.schema import DATE_TIME, INT32, INT64, Schema
from hooks.language.api.status import UNSEEN, ConditionEntry


class GraphServiceReference(ApiModel):
    """A service of a graph in the same namespace."""

    name: Annotated[str, Schema("Name of the graph.", required=True, min_length=1)] = ""
    service_name: Annotated[str, Schema("Name of the service in the graph.", required=True, min_length=1)] = ""


class ScalingAdapterSpec(ApiModel):
    """An adapter's spec."""

    replicas: Annotated[int, Schema("Wanted replicas of the service.", required=True, format=INT32, minimum=0)] = 0
    dgd_ref: Annotated[GraphServiceReference, Schema("The service that is scaled.", required=True)] = Field(
        default_factory=GraphServiceReference
    )


class ScalingAdapterStatus(ApiModel):
    """What was observed of the scaled service."""

    replicas: Annotated[int, Schema("Replicas of the service.", format=INT32)] = 0
    desired_replicas: Annotated[int, Schema("Replicas that the spec asks for, as last observed.", format=INT32)] = 0
    selector: Annotated[str, Schema("Label selector of the service's pods, for autoscalers.")] = ""
    last_scale_time: Annotated[str, Schema("When replicas last changed.", format=DATE_TIME)] = ""
    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the adapter, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0


class GraphScalingAdapter(ApiModel):
    """Scales one service of a graph through the scale subresource."""

    metadata: ParentMetadata
    spec: Annotated[ScalingAdapterSpec, Schema("The service, and its wanted replicas.", required=True)]
    status: Annotated[ScalingAdapterStatus, Schema("What was observed.", default=UNSEEN)] = Field(
        default_factory=ScalingAdapterStatus
    )
