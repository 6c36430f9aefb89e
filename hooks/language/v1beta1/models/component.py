"""DynamoComponentDeployment of v1beta1: one component, stand-alone or of a graph.

Source: Dynamo operator 1.x, api/v1beta1/dynamocomponentdeployment_types.go.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.schema import BACKENDS, INT64, Schema
from hooks.language.api.status import UNSEEN, ComponentReplicaStatus, ConditionEntry
from hooks.language.v1beta1.models.component_spec import ComponentSpec, StandaloneName


class ComponentDeploymentSpec(ComponentSpec):
    """A component's own spec: the shared fields and the engine."""

    name: StandaloneName = ""
    backend_framework: Annotated[
        str, Schema("Inference engine; read from the main container's command when absent. Immutable.", enum=BACKENDS)
    ] = ""


class ComponentDeploymentStatus(ApiModel):
    """What was observed of a component."""

    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the component, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0
    component: Annotated[ComponentReplicaStatus | None, Schema("Replicas of the component's workload.")] = None


class ComponentDeployment(ApiModel):
    """One component of inference with Dynamo: a frontend, a worker, a planner, …, run as one workload."""

    metadata: ParentMetadata
    spec: Annotated[ComponentDeploymentSpec, Schema("What to run.")] = Field(default_factory=ComponentDeploymentSpec)
    status: Annotated[ComponentDeploymentStatus, Schema("What was observed.", default=UNSEEN)] = Field(
        default_factory=ComponentDeploymentStatus
    )
