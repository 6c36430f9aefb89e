"""DynamoComponentDeployment: one component, stand-alone or of a graph."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.schema import BACKENDS, INT64, Schema
from hooks.language.api.status import UNSEEN, ConditionEntry, ServiceReplicaStatus


class ComponentDeploymentSpec(ComponentSpec):
    """A component's own spec: the shared fields and the engine."""

    backend_framework: Annotated[
        str, Schema("Inference engine; read from the main container's command when absent.", enum=BACKENDS)
    ] = ""


class ComponentDeploymentStatus(ApiModel):
    """What was observed of a component."""

    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the component, one entry for each type.", required=True, shape=ConditionEntry, map_key="type"),
    ] = ()
    pod_selector: Annotated[Mapping[str, str], Schema("Labels that select the component's pods.")] = Field(
        default_factory=dict
    )
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0
    service: Annotated[ServiceReplicaStatus | None, Schema("Replicas of the component's workload.")] = None


class ComponentDeployment(ApiModel):
    """One component of inference with Dynamo: a frontend, a worker, a planner, …, run as one workload."""

    metadata: ParentMetadata
    spec: Annotated[ComponentDeploymentSpec, Schema("What to run.")] = Field(default_factory=ComponentDeploymentSpec)
    status: Annotated[ComponentDeploymentStatus, Schema("What was observed.", default={**UNSEEN, "conditions": []})] = (
        Field(default_factory=ComponentDeploymentStatus)
    )

    @property
    def graph_name(self) -> str:
        """Name of the graph that the component belongs to; empty for a stand-alone one.

        The graph owns it. A component without that reference (it was removed, the graph was deleted with
        `--cascade=orphan`, a move from the Go operator was interrupted) still has labels that only a graph's controller
        sets: its uid, or the Dynamo namespace. Then the labels name the graph, so that its pods stay as they are.
        Upstream reads the owner alone.
        """
        labels, owners = self.metadata.labels, self.metadata.owner_references
        graph = next((owner for owner in owners if owner.get("kind") == contract.GRAPH.kind), None)
        if graph is not None:
            return str(graph.get("name") or "")
        is_made = contract.LABEL_CONTROLLER_UID in labels or contract.LABEL_NAMESPACE in labels
        is_orphan = is_made and not any(owner.get("controller") for owner in owners)
        return labels.get(contract.LABEL_GRAPH, "") if is_orphan else ""
