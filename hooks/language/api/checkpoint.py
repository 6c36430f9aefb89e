"""How a service starts from a checkpoint: schema only, no hook reads it yet.

Source: Dynamo operator, api/v1alpha1/dynamocheckpoint_types.go.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel
from hooks.language.api.schema import ENGINES, INT32, Schema, SchemaRule
from hooks.language.rules.schema import CHECKPOINT_JOB_ALONE

CONTAINER_NAME = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class CheckpointIdentity(ApiModel):
    """What makes two checkpoints the same."""

    model: Annotated[str, Schema("The model that is loaded.", required=True)] = ""
    backend_framework: Annotated[str, Schema("Inference engine.", required=True, enum=ENGINES)] = ""
    dynamo_version: Annotated[str, Schema("Version of Dynamo.")] = ""
    tensor_parallel_size: Annotated[int, Schema("GPUs that share each layer.", default=1, minimum=1, format=INT32)] = 1
    pipeline_parallel_size: Annotated[int, Schema("Stages of the pipeline.", default=1, minimum=1, format=INT32)] = 1
    dtype: Annotated[str, Schema("Number format of the weights.")] = ""
    max_model_len: Annotated[int | None, Schema("Longest sequence in tokens.", minimum=1, format=INT32)] = None
    extra_parameters: Annotated[Mapping[str, str], Schema("Further parameters that make checkpoints differ.")] = Field(
        default_factory=dict
    )


class CheckpointJob(ApiModel):
    """The job that makes a service's checkpoint."""

    gms_client_containers: Annotated[
        tuple[str, ...], Schema("Containers of the job's pod that use the GPU memory service.")
    ] = ()
    pod_template: Annotated[Json | None, Schema("Merged over the job's pod.", open_object=True)] = None


class ServiceCheckpoint(ApiModel):
    """Which checkpoint a service starts from."""

    rules = (
        SchemaRule("!has(self.job) || !has(self.checkpointRef) || size(self.checkpointRef) == 0", CHECKPOINT_JOB_ALONE),
    )

    enabled: Annotated[bool, Schema("Start from a checkpoint.", default=False)] = False
    mode: Annotated[
        str, Schema("Whether a missing checkpoint is created.", default="Auto", enum=("Auto", "Manual"))
    ] = "Auto"
    startup_policy: Annotated[
        str, Schema("Whether pods wait for the checkpoint.", enum=("Immediate", "WaitForCheckpoint"))
    ] = ""
    deletion_policy: Annotated[
        str, Schema("What becomes of the checkpoint when the graph is deleted.", enum=("Delete", "Retain"))
    ] = ""
    checkpoint_ref: Annotated[str, Schema("Name of a checkpoint in the same namespace.")] = ""
    target_container_name: Annotated[
        str,
        Schema("The container that the checkpoint is made of.", pattern=CONTAINER_NAME, min_length=1, max_length=63),
    ] = ""
    identity: Annotated[CheckpointIdentity | None, Schema("What the checkpoint must have been made of.")] = None
    job: Annotated[CheckpointJob | None, Schema("Changes the job that makes the checkpoint.")] = None
