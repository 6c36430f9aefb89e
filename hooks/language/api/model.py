"""DynamoModel: a base model, or a LoRA adapter on one."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.schema import DATE_TIME, INT64, Schema
from hooks.language.api.status import UNSEEN, ConditionEntry


class ModelSource(ApiModel):
    """Where an adapter's weights are: `s3://…`, `hf://org/model[@revision]` or, if a setting allows it, `file://…`."""

    uri: Annotated[
        str,
        Schema(
            "`s3://bucket/path`, or `hf://org/model` with `@revision` or without (Dynamo 1.3 or later); `file:///path` "
            "in the engine's container where the hooks' setting `lora_file_sources` allows it. Without credentials.",
            required=True,
        ),
    ] = ""


class ModelSpec(ApiModel):
    """A model's spec."""

    model_name: Annotated[str, Schema("Name of the model, as clients ask for it.", required=True)] = ""
    base_model_name: Annotated[
        str, Schema("The base model, as components name it in `modelRef.name`.", required=True)
    ] = ""
    model_type: Annotated[
        str, Schema("Type of the model: base, lora or adapter.", default="base", enum=("base", "lora", "adapter"))
    ] = "base"
    source: Annotated[ModelSource | None, Schema("Where an adapter's weights are; needed for `lora`.")] = None


class ModelEndpointStatus(ApiModel):
    """One pod that serves the base model."""

    address: Annotated[str, Schema("URL of the engine, for example `http://10.0.1.5:9090`.", required=True)] = ""
    pod_name: Annotated[str, Schema("Name of the pod.")] = ""
    ready: Annotated[bool, Schema("Whether the engine lists the adapter; false for base models.", required=True)] = (
        False
    )
    phase: Annotated[str, Schema("Phase of loading.")] = ""
    attempts: Annotated[int, Schema("Number of attempts to load.", format=INT64, minimum=0)] = 0
    last_error: Annotated[str, Schema("The last error.")] = ""
    since: Annotated[str, Schema("When this phase began.", format=DATE_TIME)] = ""
    source: Annotated[
        str, Schema("Source that the adapter was loaded from; if the engine had it before, the spec's.")
    ] = ""


class LoadedAdapter(ApiModel):
    """An adapter that engines were asked to load; recorded so that it is unloaded when the spec names another."""

    name: Annotated[str, Schema("Name under which engines list it.", required=True)] = ""
    source: Annotated[str, Schema("Where its weights are.")] = ""


class ModelStatus(ApiModel):
    """What was observed of a model."""

    endpoints: Annotated[tuple[ModelEndpointStatus, ...], Schema("The pods that serve the base model.")] = ()
    ready_endpoints: Annotated[int, Schema("How many endpoints are ready.", required=True)] = 0
    total_endpoints: Annotated[int, Schema("How many endpoints there are.", required=True)] = 0
    unsupported_endpoints: Annotated[
        int, Schema("How many engines cannot load adapters, for example prefill workers.")
    ] = 0
    adapters: Annotated[tuple[LoadedAdapter, ...], Schema("Adapters that engines were asked to load.")] = ()
    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the model, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0


class Model(ApiModel):
    """A model that components serve: a base model, or an adapter loaded into the engines that serve its base."""

    metadata: ParentMetadata
    spec: Annotated[ModelSpec, Schema("Which model.", required=True)]
    status: Annotated[
        ModelStatus, Schema("What was observed.", default={**UNSEEN, "readyEndpoints": 0, "totalEndpoints": 0})
    ] = Field(default_factory=ModelStatus)

    @property
    def is_lora(self) -> bool:
        """Whether the model is an adapter that engines load; as upstream, case does not matter."""
        return self.spec.model_type.lower() == "lora"
