"""DynamoWorkerMetadata: what workers tell each other under Kubernetes discovery; no hook reads or writes it."""

from typing import Annotated

from pydantic import Field

from hooks.api.base import ApiModel, ObjectMeta
from hooks.api.schema import Schema
from hooks.k8s.types import Json


class WorkerMetadataSpec(ApiModel):
    """What a worker says of itself."""

    data: Annotated[Json, Schema("The worker's own record.", required=True, open_object=True)] = Field(
        default_factory=dict
    )


class WorkerMetadata(ApiModel):
    """A worker's record for service discovery, written and removed by the worker."""

    metadata: ObjectMeta
    spec: Annotated[WorkerMetadataSpec, Schema("What the worker says.", required=True)]
