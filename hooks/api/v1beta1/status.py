"""Parts of status that graphs and components share."""

from typing import Annotated

from hooks.api.base import ApiModel
from hooks.api.schema import INT32, INT64, Schema

WORKLOAD_KINDS = ("PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet")


class ComponentReplicaStatus(ApiModel):
    """Replicas of one component as its workload reports them, and what its engines serve."""

    component_kind: Annotated[str, Schema("Kind of the workload.", required=True, enum=WORKLOAD_KINDS)] = ""
    component_names: Annotated[tuple[str, ...], Schema("Names of all its workloads; pods are named after them.")] = ()
    runtime_namespace: Annotated[str, Schema("Dynamo namespace in which its processes are found.")] = ""
    runtime_component_name: Annotated[
        str, Schema("Name of the component in `--endpoint` of the main container; absent without this flag.")
    ] = ""
    served_model_name: Annotated[
        str,
        Schema(
            "Name under which its engine serves the model, from the main container's command line; absent if that "
            "does not say it."
        ),
    ] = ""
    replicas: Annotated[int, Schema("Replicas that run.", required=True, format=INT32, minimum=0)] = 0
    updated_replicas: Annotated[
        int, Schema("Replicas that run the wanted revision.", required=True, format=INT32, minimum=0)
    ] = 0
    ready_replicas: Annotated[
        int | None, Schema("Replicas that are ready; absent for a PodCliqueScalingGroup.", format=INT32, minimum=0)
    ] = None
    available_replicas: Annotated[
        int | None,
        Schema(
            "Replicas that are available; only of a Deployment or a PodCliqueScalingGroup.", format=INT32, minimum=0
        ),
    ] = None
    scheduled_replicas: Annotated[
        int | None, Schema("Replicas whose pods have nodes; only under Grove.", format=INT32, minimum=0)
    ] = None
    gpus_per_engine: Annotated[
        int | None,
        Schema(
            "GPUs of the main containers of one replica, over all its nodes; absent if claims (DRA) ask for them.",
            format=INT64,
            minimum=0,
        ),
    ] = None
    gpus_per_replica: Annotated[
        int | None,
        Schema("GPUs of all containers of one replica; absent if claims (DRA) ask for them.", format=INT64, minimum=0),
    ] = None
