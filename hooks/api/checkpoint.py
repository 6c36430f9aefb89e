"""How a service starts from a checkpoint: schema only, no hook reads it yet.

Source: Dynamo operator, api/v1alpha1/dynamocheckpoint_types.go.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.api.base import ApiModel
from hooks.api.schema import ENGINES, INT32, Schema, SchemaRule
from hooks.rules.schema import CHECKPOINT_NAMED


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


class ServiceCheckpoint(ApiModel):
    """Which checkpoint a service starts from."""

    rules = (
        SchemaRule(
            "!self.enabled || (has(self.checkpointRef) && size(self.checkpointRef) > 0) || "
            "(has(self.identity) && has(self.identity.model) && has(self.identity.backendFramework))",
            CHECKPOINT_NAMED,
        ),
    )

    enabled: Annotated[bool, Schema("Start from a checkpoint.", default=False)] = False
    mode: Annotated[
        str, Schema("Whether a missing checkpoint is created.", default="Auto", enum=("Auto", "Manual"))
    ] = "Auto"
    checkpoint_ref: Annotated[str, Schema("Name of a DynamoCheckpoint.")] = ""
    identity: Annotated[CheckpointIdentity | None, Schema("What the checkpoint must have been made of.")] = None
