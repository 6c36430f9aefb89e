"""DynamoWorkerMetadata: a worker's record under Kubernetes discovery; workers read and write it, no hook does."""

from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.schema import Schema


class WorkerMetadataSpec(ApiModel):
    """A worker's description of itself."""

    data: Annotated[Json, Schema("The worker's own record.", required=True, open_object=True)] = Field(
        default_factory=dict
    )


class WorkerMetadata(ApiModel):
    """A worker's record for service discovery, written and removed by the worker."""

    metadata: ParentMetadata
    spec: Annotated[WorkerMetadataSpec, Schema("The worker's description of itself.", required=True)]
