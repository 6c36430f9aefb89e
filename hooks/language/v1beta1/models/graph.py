"""DynamoGraphDeployment of v1beta1: components that make up one inference graph.

Source: Dynamo operator 1.x, api/v1beta1/dynamographdeployment_types.go and common.go.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.graph import RestartStatus, ServiceCheckpointStatus, ServingStatus
from hooks.language.api.preview import GraphExperimental, ProviderOverride
from hooks.language.api.schema import BACKENDS, DATE_TIME, ENV_VAR, INT64, Schema
from hooks.language.api.status import UNSEEN, ComponentReplicaStatus, ConditionEntry
from hooks.language.v1beta1.models.component_spec import DOMAIN, NAME_LENGTH, ComponentSpec

MAX_COMPONENTS = 25


class GraphComponent(ComponentSpec):
    """One component of a graph."""

    provider_override: Annotated[
        ProviderOverride | None, Schema("Fields of Grove's objects; refused unless empty.")
    ] = None


class RestartStrategy(ApiModel):
    """The order in which components restart."""

    type: Annotated[
        str,
        Schema("One component after another, or all at once.", default="Sequential", enum=("Sequential", "Parallel")),
    ] = "Sequential"
    order: Annotated[
        tuple[str, ...],
        Schema(
            "Every component once, in the order of the restart; by name when absent. Only for type Sequential.",
            max_items=MAX_COMPONENTS,
            item_max_length=NAME_LENGTH,
        ),
    ] = ()


class Restart(ApiModel):
    """A restart is asked for by a new `id`."""

    id: Annotated[str, Schema("Any new value starts a restart.", required=True, min_length=1)] = ""
    strategy: Annotated[RestartStrategy | None, Schema("In which order components restart.")] = None


class GraphTopologyConstraint(ApiModel):
    """How close together the pods of the graph run, and in which topology."""

    cluster_topology_name: Annotated[
        str, Schema("Name of the cluster's ClusterTopologyBinding.", required=True, min_length=1)
    ] = ""
    pack_domain: Annotated[
        str,
        Schema("Topology domain that holds all pods of a replica, unless its component says another.", pattern=DOMAIN),
    ] = ""


class GraphDeploymentSpec(ApiModel):
    """A graph's spec."""

    components: Annotated[
        tuple[GraphComponent, ...],
        Schema("The components of the graph, each with its own name.", map_key="name", max_items=MAX_COMPONENTS),
    ] = ()
    annotations: Annotated[
        Mapping[str, str], Schema("Annotations of all components' objects and pods; those of a pod template win.")
    ] = Field(default_factory=dict)
    labels: Annotated[
        Mapping[str, str], Schema("Labels of all components' objects and pods; those of a pod template win.")
    ] = Field(default_factory=dict)
    priority_class_name: Annotated[
        str, Schema("PriorityClass of the graph's PodCliqueSet; has no effect without Grove.")
    ] = ""
    env: Annotated[
        tuple[Json, ...],
        Schema("Environment of all components; a component's own variable of the same name wins.", kubernetes=ENV_VAR),
    ] = ()
    backend_framework: Annotated[
        str, Schema("Inference engine; read from the workers' commands when absent. Immutable.", enum=BACKENDS)
    ] = ""
    topology_constraint: Annotated[
        GraphTopologyConstraint | None,
        Schema("Keep the pods of the graph close together; needs Grove. Immutable."),
    ] = None
    restart: Annotated[Restart | None, Schema("Asks for a restart of the components.")] = None
    experimental: Annotated[GraphExperimental | None, Schema("Preview features; refused unless empty.")] = None
    provider_override: Annotated[
        ProviderOverride | None, Schema("Fields of Grove's objects; refused unless empty.")
    ] = None


class RollingUpdateStatus(ApiModel):
    """Progress of the workers of a graph from one generation to the next."""

    phase: Annotated[
        str, Schema("InProgress, while pods of two generations exist. Pending, Completed and Failed are upstream's.")
    ] = ""
    start_time: Annotated[str, Schema("When it began.", format=DATE_TIME)] = ""
    end_time: Annotated[str, Schema("When it ended; not written.", format=DATE_TIME)] = ""
    updated_components: Annotated[
        tuple[str, ...], Schema("Workers of which nothing of the old generation is left.")
    ] = ()
    message: Annotated[str, Schema("Which old pods stay in a rollout in complete sets, and what they wait for.")] = ""
    progress_time: Annotated[
        str, Schema("When there was the last progress of a rollout in complete sets.", format=DATE_TIME)
    ] = ""
    goes_back_to: Annotated[
        str, Schema("The ControllerRevision whose spec is written back, because the rollout is stalled.")
    ] = ""


class GraphDeploymentStatus(ApiModel):
    """What was observed of a graph."""

    state: Annotated[str, Schema("initializing, pending, successful or failed.")] = ""
    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the graph, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    components: Annotated[Mapping[str, ComponentReplicaStatus], Schema("Replicas, by component name.")] = Field(
        default_factory=dict
    )
    components_ready: Annotated[str, Schema("Ready components of all, for example `3/4`.")] = ""
    not_ready_reasons: Annotated[
        Mapping[str, str],
        Schema("Under Grove, why components are not ready, for example `CrashLoop`, by component name."),
    ] = Field(default_factory=dict)
    not_ready_reason: Annotated[
        str,
        Schema("The worst reason why the graph is not ready, for example `ImagePull`; absent while it is ready."),
    ] = ""
    path: Annotated[
        str, Schema("What runs the pods: `Grove`, `Deployments`, `LWS` (LeaderWorkerSets) or `Deployments,LWS`.")
    ] = ""
    pod_clique_set: Annotated[
        str,
        Schema(
            "Name of the PodCliqueSet, which it keeps: the graph's own, or cut where names of pods would be too long."
        ),
    ] = ""
    gpus: Annotated[int, Schema("GPUs that all wanted pods request together.", format=INT64, minimum=0)] = 0
    serving: Annotated[
        ServingStatus | None, Schema("What the frontends route; absent while nobody was asked or nothing answered.")
    ] = None
    restart: Annotated[RestartStatus | None, Schema("The current or last restart.")] = None
    rolling_update: Annotated[
        RollingUpdateStatus | None,
        Schema("How far workers are from one generation to the next; absent unless pods of two exist."),
    ] = None
    checkpoints: Annotated[Mapping[str, ServiceCheckpointStatus], Schema("Checkpoints, by component name.")] = Field(
        default_factory=dict
    )
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0


class GraphDeployment(ApiModel):
    """An inference graph of Dynamo: the components that together serve a model."""

    metadata: ParentMetadata
    spec: Annotated[GraphDeploymentSpec, Schema("What to run.")] = Field(default_factory=GraphDeploymentSpec)
    status: Annotated[GraphDeploymentStatus, Schema("What was observed.", default=UNSEEN)] = Field(
        default_factory=GraphDeploymentStatus
    )
