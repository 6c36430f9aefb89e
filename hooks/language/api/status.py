"""Parts of status that several kinds share."""

from typing import Annotated

from hooks.language.api.base import ApiModel
from hooks.language.api.schema import DATE_TIME, INT32, INT64, Schema

UNSEEN = {"observedGeneration": -1}
"""Default of a status: no generation is observed yet, so that no tool takes a new object for a finished one.

Source: kstatus: an object without status counts as finished, one with an older observedGeneration does not.
"""


class ConditionEntry(ApiModel):
    """One aspect of the object's state."""

    type: Annotated[
        str,
        Schema(
            "Which aspect this is, in CamelCase.",
            required=True,
            max_length=316,
            pattern=(
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            ),
        ),
    ] = ""
    status: Annotated[
        str,
        Schema(
            "Whether the condition holds; Unknown while that cannot be decided.",
            required=True,
            enum=("True", "False", "Unknown"),
        ),
    ] = ""
    reason: Annotated[
        str,
        Schema(
            "The reason for `status`, in one word for programs.",
            required=True,
            min_length=1,
            max_length=1024,
            pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        ),
    ] = ""
    message: Annotated[
        str, Schema("The reason for `status`, and what to do, for a person.", required=True, max_length=32768)
    ] = ""
    last_transition_time: Annotated[str, Schema("When `status` last changed.", required=True, format=DATE_TIME)] = ""
    observed_generation: Annotated[
        int, Schema("Generation of the spec that this condition describes.", format=INT64, minimum=0)
    ] = 0


class ComponentReplicaStatus(ApiModel):
    """Replicas of one component as its workload reports them, and what its engines serve."""

    component_kind: Annotated[
        str,
        Schema(
            "Kind of the workload.",
            required=True,
            enum=("PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"),
        ),
    ] = ""
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
            "Replicas that are available; only of a Deployment or a PodCliqueScalingGroup.",
            format=INT32,
            minimum=0,
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
    gpu_power_limit_watts: Annotated[
        int | None,
        Schema(
            "The most watts of each GPU, from the pods' annotation `dynamo.nvidia.com/gpu-power-limit`; absent if that "
            "is no positive whole number.",
            format=INT64,
            minimum=1,
        ),
    ] = None


class ServiceReplicaStatus(ComponentReplicaStatus):
    """Replicas of one service as its workload reports them."""

    component_name: Annotated[str, Schema("Name of the workload.", required=True)] = ""
