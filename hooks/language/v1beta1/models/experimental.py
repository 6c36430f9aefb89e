"""Features that the hooks do not have: accepted while they ask for nothing, else refused by name.

A feature that is on because its object is there has no fields of its own here. The rules that refuse it are those of
v1alpha1.

Source: Dynamo operator 1.x, api/v1beta1/common.go.
"""

from typing import Annotated

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel
from hooks.language.api.checkpoint import CheckpointIdentity, CheckpointJob
from hooks.language.api.schema import Schema


class Checkpoint(ApiModel):
    """Which checkpoint a component starts from."""

    enabled: Annotated[bool, Schema("Start from a checkpoint; not supported.", required=True)] = False
    mode: Annotated[str, Schema("Deprecated upstream.", enum=("Auto", "Manual"))] = ""
    startup_policy: Annotated[
        str, Schema("Whether workers wait for the checkpoint.", enum=("Immediate", "WaitForCheckpoint"))
    ] = ""
    deletion_policy: Annotated[str, Schema("Whether the checkpoint outlives the graph.", enum=("Delete", "Retain"))] = (
        ""
    )
    checkpoint_ref: Annotated[str, Schema("Name of the checkpoint.")] = ""
    identity: Annotated[CheckpointIdentity | None, Schema("Deprecated upstream.")] = None
    target_container_name: Annotated[str, Schema("The container that is restored.")] = ""
    job: Annotated[Json | None, Schema("Changes the job that makes the checkpoint.", shape=CheckpointJob)] = None


class Grove(ApiModel):
    """How Grove runs a component."""

    force_scaling_group: Annotated[
        bool, Schema("Make a PodCliqueScalingGroup of a component on one node; not supported.")
    ] = False


class Experimental(ApiModel):
    """Features of a component whose form may still change upstream."""

    gpu_memory_service: Annotated[Json | None, Schema("The GPU Memory Service; not supported.", open_object=True)] = (
        None
    )
    failover: Annotated[Json | None, Schema("A second engine in waiting; not supported.", open_object=True)] = None
    checkpoint: Annotated[Checkpoint | None, Schema("Start from a checkpoint.")] = None
    grove: Annotated[Grove | None, Schema("How Grove runs the component.")] = None
