"""DynamoGraphDeploymentRequest: names a model and goals; profiling finds the graph that meets them."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.schema import ENGINES_OR_AUTO, INT32, INT64, RESOURCES, TOLERATION, Schema
from hooks.language.api.status import UNSEEN, ConditionEntry


class ConfigMapReference(ApiModel):
    """One key of a ConfigMap in the same namespace."""

    name: Annotated[str, Schema("Name of the ConfigMap.", required=True)] = ""
    key: Annotated[str, Schema("Key that holds the graph.", default="disagg.yaml")] = "disagg.yaml"


class ProfilingConfig(ApiModel):
    """How the model is profiled."""

    config: Annotated[
        Json, Schema("The profiler's configuration, as a profiler of 0.x reads it; needed there.", open_object=True)
    ] = None
    config_map_ref: Annotated[ConfigMapReference | None, Schema("A graph to start from.")] = None
    profiler_image: Annotated[str, Schema("Image of the profiler; the setting `profiler_image` when absent.")] = ""
    output_pvc: Annotated[str, Schema("Claim in the same namespace that keeps the profiler's files.")] = Field(
        default="", alias="outputPVC"
    )
    resources: Annotated[Mapping[str, Json] | None, Schema("Resources of the profiling job.", kubernetes=RESOURCES)] = (
        None
    )
    tolerations: Annotated[tuple[Json, ...], Schema("Tolerations of the profiling job.", kubernetes=TOLERATION)] = ()
    node_selector: Annotated[Mapping[str, str], Schema("Labels of the nodes that the profiling job may run on.")] = (
        Field(default_factory=dict)
    )


class DeploymentOverrides(ApiModel):
    """Name, namespace and metadata of the generated graph."""

    name: Annotated[str, Schema("Name of the graph.")] = ""
    namespace: Annotated[str, Schema("Namespace of the graph; the request's when absent.")] = ""
    labels: Annotated[Mapping[str, str], Schema("Labels added to the graph.")] = Field(default_factory=dict)
    annotations: Annotated[Mapping[str, str], Schema("Annotations added to the graph.")] = Field(default_factory=dict)
    workers_image: Annotated[str, Schema("Image of the graph's workers.")] = ""


class GraphRequestSpec(ApiModel):
    """A request's spec; immutable once profiling has begun."""

    model: Annotated[str, Schema("The model to serve.", required=True)] = ""
    backend: Annotated[
        str, Schema("Inference engine; profilers from 1.0 on choose one for `auto`.", enum=ENGINES_OR_AUTO)
    ] = ""
    use_mocker: Annotated[bool, Schema("Deploy the mocker, which needs no GPU.", default=False)] = False
    enable_gpu_discovery: Annotated[
        bool, Schema("Read GPU types and counts from the cluster's nodes.", default=False)
    ] = False
    runtime_version_override: Annotated[
        str, Schema("Release of Dynamo that the generated graph's services run, for images whose tag says none.")
    ] = ""
    profiling_config: Annotated[ProfilingConfig, Schema("How to profile.")] = Field(default_factory=ProfilingConfig)
    auto_apply: Annotated[bool, Schema("Create the generated graph at once.", default=False)] = False
    deployment_overrides: Annotated[
        DeploymentOverrides | None, Schema("Name, namespace and metadata of the generated graph.")
    ] = None


class GeneratedDeploymentStatus(ApiModel):
    """The graph that was created."""

    name: Annotated[str, Schema("Its name.")] = ""
    namespace: Annotated[str, Schema("Its namespace.")] = ""
    state: Annotated[str, Schema("Its `status.state`.")] = ""
    created: Annotated[bool, Schema("Whether it has been created.")] = False


class DeploymentInfo(ApiModel):
    """Replicas of all components of the graph together."""

    replicas: Annotated[int | None, Schema("How many are wanted.", format=INT32)] = None
    available_replicas: Annotated[int | None, Schema("How many are available.", format=INT32)] = None


class Hardware(ApiModel):
    """The GPUs to profile for; what is absent is read from the labels of the cluster's nodes."""

    gpu_sku: Annotated[str, Schema("The GPU, by the profiler's name for it.")] = ""
    vram_mb: Annotated[float | None, Schema("Memory of one GPU in MiB.")] = None
    total_gpus: Annotated[
        int | None, Schema("GPUs that the graph may use; at most 32 of those that are found.", format=INT32, minimum=1)
    ] = None
    num_gpus_per_node: Annotated[int | None, Schema("GPUs of one node.", format=INT32, minimum=1)] = None
    interconnect: Annotated[str, Schema("What joins the GPUs of a node, for example `nvlink` or `pcie`.")] = ""
    rdma: Annotated[bool | None, Schema("Whether nodes reach each other by RDMA.")] = None


class GraphRequestStatus(ApiModel):
    """State and results of a request."""

    state: Annotated[
        str, Schema("Empty at first, then Pending, Profiling, Deploying, Ready, DeploymentDeleted or Failed.")
    ] = ""
    backend: Annotated[str, Schema("The engine that was profiled.")] = ""
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0
    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the request, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    profiling_phase: Annotated[str, Schema("The profiler's own phase, while it runs.")] = ""
    profiling_job_name: Annotated[str, Schema("Name of the profiling Job.")] = ""
    hardware: Annotated[Hardware | None, Schema("The GPUs that were profiled for.")] = None
    profiling_results: Annotated[str, Schema("Where the results are: `configmap/<name>`.")] = ""
    generated_deployment: Annotated[
        Json, Schema("The graph that profiling generated.", open_object=True, embedded=True)
    ] = None
    deployment: Annotated[GeneratedDeploymentStatus | None, Schema("The graph that was created.")] = None
    deployment_info: Annotated[DeploymentInfo | None, Schema("Replicas of the graph's components.")] = None
    spec_hash: Annotated[
        str, Schema("Fingerprint of the profiled spec; while the spec has another one, the request does not continue.")
    ] = ""


class GraphRequest(ApiModel):
    """Asks for a graph that serves a model; profiling finds the graph that meets the goals."""

    metadata: ParentMetadata
    spec: Annotated[GraphRequestSpec, Schema("What is asked for.", required=True)]
    status: Annotated[GraphRequestStatus, Schema("State and results of the request.", default=UNSEEN)] = Field(
        default_factory=GraphRequestStatus
    )
