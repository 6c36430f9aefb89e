"""DynamoGraphDeployment: services that make up one inference graph."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.component_spec import ComponentSpec, TopologyConstraint
from hooks.language.api.preview import GraphExperimental, ProviderOverride
from hooks.language.api.schema import BACKENDS, DATE_TIME, ENV_VAR, INT64, QUANTITY, Schema, SchemaRule
from hooks.language.api.status import UNSEEN, ConditionEntry, ServiceReplicaStatus
from hooks.language.rules.graph import CREATED_CLAIM

_CREATED_CLAIM = sorted(CREATED_CLAIM)


class PersistentVolumeClaimRequest(ApiModel):
    """A claim that services mount by name; created if `create` is true."""

    rules = (
        SchemaRule(
            "!has(self.create) || self.create == false || "
            f"({' && '.join(f'has(self.{name})' for name in _CREATED_CLAIM)})",
            f"When create is true, {', '.join(_CREATED_CLAIM[:-1])}, and {_CREATED_CLAIM[-1]} are required",
        ),
    )

    create: Annotated[bool, Schema("Create the claim; otherwise it must exist.")] = False
    name: Annotated[str, Schema("Name of the claim.", required=True)] = ""
    storage_class: Annotated[str, Schema("Storage class of a claim to create.")] = ""
    size: Annotated[
        str | int | None, Schema("Size of a claim to create, for example `100Gi`.", kubernetes=QUANTITY)
    ] = None
    volume_access_mode: Annotated[str, Schema("Access mode of a claim to create, for example `ReadWriteMany`.")] = ""


class RestartStrategy(ApiModel):
    """The order in which services restart."""

    type: Annotated[
        str,
        Schema("One service after another, or all at once.", default="Sequential", enum=("Sequential", "Parallel")),
    ] = "Sequential"
    order: Annotated[
        tuple[str, ...],
        # A permutation of the services, at most 25. The limits keep rules about it within the API server's cost budget.
        Schema(
            "Every service once, in the order of the restart; by name when absent. Only for type Sequential.",
            max_items=25,
            item_max_length=253,
        ),
    ] = ()


class Restart(ApiModel):
    """A restart is asked for by a new `id`."""

    id: Annotated[str, Schema("Any new value starts a restart.", required=True, min_length=1)] = ""
    strategy: Annotated[RestartStrategy | None, Schema("In which order services restart.")] = None


class GraphTopologyConstraint(TopologyConstraint):
    """How close together the pods of the graph run, and in which topology."""

    topology_profile: Annotated[str, Schema("Name of the cluster's ClusterTopologyBinding.")] = ""


class GraphDeploymentSpec(ApiModel):
    """A graph's spec."""

    annotations: Annotated[
        Mapping[str, str],
        Schema("Annotations of all services' objects and pods; a service's own annotation of the same key wins."),
    ] = Field(default_factory=dict)
    labels: Annotated[
        Mapping[str, str],
        Schema("Labels of all services' objects and pods; a service's own label of the same key wins."),
    ] = Field(default_factory=dict)
    priority_class_name: Annotated[
        str, Schema("PriorityClass of the graph's PodCliqueSet; has no effect without Grove.")
    ] = ""
    pvcs: Annotated[
        tuple[PersistentVolumeClaimRequest, ...], Schema("Claims that services mount by name.", max_items=100)
    ] = ()
    services: Annotated[
        Mapping[str, ComponentSpec], Schema("The components of the graph, by service name.", max_properties=25)
    ] = Field(default_factory=dict)
    envs: Annotated[
        tuple[Json, ...],
        Schema("Environment of all services; a service's own variable of the same name wins.", kubernetes=ENV_VAR),
    ] = ()
    backend_framework: Annotated[
        str, Schema("Inference engine; read from the workers' commands when absent.", enum=BACKENDS)
    ] = ""
    topology_constraint: Annotated[
        GraphTopologyConstraint | None,
        Schema("Keep the pods of the graph close together; needs Grove. Immutable."),
    ] = None
    restart: Annotated[Restart | None, Schema("Asks for a restart of the services.")] = None
    provider_override: Annotated[
        Json | None, Schema("Fields of Grove's objects; refused unless empty.", shape=ProviderOverride)
    ] = None
    experimental: Annotated[Json | None, Schema("Preview features; refused unless empty.", shape=GraphExperimental)] = (
        None
    )


class RestartStatus(ApiModel):
    """Progress of a restart."""

    observed_id: Annotated[str, Schema("The restart's `id`.")] = Field(default="", alias="observedID")
    phase: Annotated[str, Schema("Pending, Restarting, Completed, Failed or Superseded.")] = ""
    in_progress: Annotated[tuple[str, ...], Schema("Services that are restarting.")] = ()


class RollingUpdateStatus(ApiModel):
    """Progress of the workers of a graph from one generation to the next."""

    phase: Annotated[
        str, Schema("InProgress, while pods of two generations exist. Pending, Completed and Failed are upstream's.")
    ] = ""
    start_time: Annotated[str, Schema("When it began.", format=DATE_TIME)] = ""
    end_time: Annotated[str, Schema("When it ended; not written.", format=DATE_TIME)] = ""
    updated_services: Annotated[tuple[str, ...], Schema("Workers of which nothing of the old generation is left.")] = ()
    message: Annotated[str, Schema("Which old pods stay in a rollout in complete sets, and what they wait for.")] = ""
    progress_time: Annotated[
        str, Schema("When there was the last progress of a rollout in complete sets.", format=DATE_TIME)
    ] = ""
    goes_back_to: Annotated[
        str, Schema("The ControllerRevision whose spec is written back, because the rollout is stalled.")
    ] = ""


class ServedModel(ApiModel):
    """A model that the graph's frontends route."""

    name: Annotated[str, Schema("The name by which clients ask for it.", required=True, max_length=256)] = ""
    frontends: Annotated[
        str, Schema("How many of the asked frontends route it, for example `2/2`.", required=True, max_length=16)
    ] = ""


class FrontendRemark(ApiModel):
    """What one frontend says where frontends differ, or why it could not be asked."""

    pod: Annotated[str, Schema("Name of the frontend's pod.", required=True, max_length=253)] = ""
    says: Annotated[str, Schema("What it routes, or why it could not be asked.", required=True, max_length=2048)] = ""


class ServingStatus(ApiModel):
    """What the graph's frontends route."""

    models: Annotated[tuple[ServedModel, ...], Schema("The models that some frontend routes.", max_items=32)] = ()
    frontends: Annotated[
        tuple[FrontendRemark, ...],
        Schema("The frontends, only where they differ or could not be asked.", max_items=32),
    ] = ()


class ServiceCheckpointStatus(ApiModel):
    """The checkpoint that a service starts from."""

    checkpoint_name: Annotated[str, Schema("Name of the DynamoCheckpoint.")] = ""
    identity_hash: Annotated[str, Schema("Hash of what the checkpoint was made of.")] = ""
    ready: Annotated[bool, Schema("Whether it can be restored.")] = False


class GraphDeploymentStatus(ApiModel):
    """What was observed of a graph."""

    state: Annotated[str, Schema("pending, successful or failed.")] = ""
    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the graph, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    services: Annotated[Mapping[str, ServiceReplicaStatus], Schema("Replicas, by service name.")] = Field(
        default_factory=dict
    )
    components_ready: Annotated[str, Schema("Ready components of all, for example `3/4`.")] = ""
    not_ready_reasons: Annotated[
        Mapping[str, str],
        Schema("Under Grove, why services are not ready, for example `CrashLoop`, by service name."),
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
    checkpoints: Annotated[Mapping[str, ServiceCheckpointStatus], Schema("Checkpoints, by service name.")] = Field(
        default_factory=dict
    )
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0


class GraphDeployment(ApiModel):
    """An inference graph of Dynamo: the services that together serve a model."""

    metadata: ParentMetadata
    spec: Annotated[GraphDeploymentSpec, Schema("What to run.")] = Field(default_factory=GraphDeploymentSpec)
    status: Annotated[GraphDeploymentStatus, Schema("What was observed.", default=UNSEEN)] = Field(
        default_factory=GraphDeploymentStatus
    )
