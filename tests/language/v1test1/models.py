"""The graph of the test version."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeploymentStatus, Restart
from hooks.language.api.schema import BACKENDS, ENV_VAR, Schema
from hooks.language.api.status import UNSEEN


class TestGraphSpec(ApiModel):
    """A graph's spec."""

    annotations: Annotated[Mapping[str, str], Schema("Annotations.")] = Field(default_factory=dict)
    labels: Annotated[Mapping[str, str], Schema("Labels.")] = Field(default_factory=dict)
    services: Annotated[Mapping[str, ComponentSpec], Schema("Components by name.", max_properties=25)] = Field(
        default_factory=dict
    )
    variables: Annotated[tuple[Json, ...], Schema("Environment of all services.", kubernetes=ENV_VAR)] = ()
    backend_framework: Annotated[str, Schema("Inference engine.", enum=BACKENDS)] = ""
    restart: Annotated[Restart | None, Schema("Asks for a restart.")] = None
    note: Annotated[str, Schema("Only in this version.")] = ""


class TestGraph(ApiModel):
    """A graph."""

    metadata: ParentMetadata
    spec: Annotated[TestGraphSpec, Schema("What to run.")] = Field(default_factory=TestGraphSpec)
    status: Annotated[GraphDeploymentStatus, Schema("What was observed.", default=UNSEEN)] = Field(
        default_factory=GraphDeploymentStatus
    )
