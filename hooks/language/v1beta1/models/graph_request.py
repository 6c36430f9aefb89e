"""DynamoGraphDeploymentRequest of v1beta1: names a model and goals; a profiler of Dynamo 1.x finds the graph.

Source: Dynamo operator 1.x, api/v1beta1/dynamographdeploymentrequest_types.go.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.contract import GPU_SKUS, MODEL_CACHE_PATH
from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel, ParentMetadata
from hooks.language.api.graph_request import DeploymentInfo, GeneratedDeploymentStatus, Hardware
from hooks.language.api.schema import ENGINES_OR_AUTO, INT32, INT64, POD_SPEC, Schema
from hooks.language.api.status import UNSEEN, ConditionEntry
from hooks.language.v1beta1.models.component_spec import RUNTIME_VERSION


class ModelCache(ApiModel):
    """A claim with the model's files, instead of a download."""

    pvc_name: Annotated[str, Schema("Name of the claim, in the request's namespace.")] = Field(
        default="", alias="pvcName"
    )
    pvc_model_path: Annotated[str, Schema("Folder of the model in the claim.")] = Field(
        default="", alias="pvcModelPath"
    )
    pvc_mount_path: Annotated[
        str, Schema(f"Where the claim is mounted, in the profiler and in workers; `{MODEL_CACHE_PATH}` when absent.")
    ] = Field(default=MODEL_CACHE_PATH, alias="pvcMountPath")


class RequestHardware(Hardware):
    """The GPUs to profile for; what is absent is read from the labels of the cluster's nodes."""

    gpu_sku: Annotated[str, Schema("The GPU, by the profiler's name for it.", enum=GPU_SKUS)] = ""


class Workload(ApiModel):
    """What clients send."""

    isl: Annotated[int | None, Schema("Tokens of a prompt; 4000 when absent.", format=INT32, minimum=1)] = None
    osl: Annotated[int | None, Schema("Tokens of an answer; 1000 when absent.", format=INT32, minimum=1)] = None
    concurrency: Annotated[float | None, Schema("Requests at the same time; not together with `requestRate`.")] = None
    request_rate: Annotated[float | None, Schema("Requests per second; not together with `concurrency`.")] = None


class Sla(ApiModel):
    """The goals for latency: `ttft` and `itl`, or `e2eLatency`."""

    ttft: Annotated[float | None, Schema("Milliseconds until the first token; not without `itl`.")] = None
    itl: Annotated[float | None, Schema("Milliseconds between two tokens; not without `ttft`.")] = None
    e2e_latency: Annotated[float | None, Schema("Milliseconds of a whole answer.")] = Field(
        default=None, alias="e2eLatency"
    )
    optimization_type: Annotated[
        str, Schema("What to prefer among graphs that meet the goals.", enum=("latency", "throughput"))
    ] = ""


class JobTemplate(ApiModel):
    """The Job's pod."""

    metadata: Annotated[Json, Schema("Labels and annotations of the pod.", open_object=True)] = None
    spec: Annotated[
        Json,
        Schema(
            "Merged over the Job's pod; the container `profiler` is merged over ours.",
            kubernetes=POD_SPEC,
            optional=("containers",),
        ),
    ] = None


class ProfilingJob(ApiModel):
    """Fields of the profiling Job."""

    active_deadline_seconds: Annotated[
        int | None, Schema("Seconds after which profiling fails.", format=INT64, minimum=1)
    ] = None
    backoff_limit: Annotated[
        int | None, Schema("How often a pod is replaced that failed.", format=INT32, minimum=0)
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None, Schema("Seconds after which the finished Job is deleted.", format=INT32, minimum=0)
    ] = None
    template: Annotated[JobTemplate | None, Schema("The Job's pod.")] = None


class RequestOverrides(ApiModel):
    """Changes of the profiling Job, and of the graph that it finds."""

    profiling_job: Annotated[ProfilingJob | None, Schema("Merged over the profiling Job.")] = None
    dgd: Annotated[
        Json,
        Schema(
            "Parts of a DynamoGraphDeployment of either version, merged over the one that profiling found; its name is "
            "the graph's.",
            open_object=True,
            embedded=True,
        ),
    ] = None
    trust_remote_code: Annotated[
        bool | None, Schema("Run code that comes with the model; read by profilers from 1.6 on.")
    ] = None


class Mocker(ApiModel):
    """The imitation engine, which needs no GPU."""

    enabled: Annotated[bool, Schema("Deploy it instead of a real engine.")] = False


class Features(ApiModel):
    """What the graph has beside its engine."""

    planner: Annotated[Json, Schema("The planner's configuration; with it the graph has one.", open_object=True)] = None
    mocker: Annotated[Mocker | None, Schema("The imitation engine.")] = None


class GraphRequestSpec(ApiModel):
    """A request's spec; immutable once profiling has begun."""

    model: Annotated[str, Schema("The model to serve.", required=True, min_length=1)] = ""
    backend: Annotated[
        str, Schema("Inference engine; `auto`, or an absent one, lets the profiler choose.", enum=ENGINES_OR_AUTO)
    ] = "auto"
    image: Annotated[
        str, Schema("Image of the profiler, `dynamo-planner` of a release; the setting `profiler_image` when absent.")
    ] = ""
    runtime_version_override: Annotated[
        str,
        Schema(
            "Release of Dynamo of the profiler and of the graph's components, for images whose tag says none.",
            pattern=RUNTIME_VERSION,
        ),
    ] = ""
    model_cache: Annotated[ModelCache | None, Schema("A claim with the model's files.")] = None
    hardware: Annotated[RequestHardware | None, Schema("The GPUs to profile for.")] = None
    workload: Annotated[Workload | None, Schema("What clients send.")] = None
    sla: Annotated[Sla | None, Schema("The goals for latency.")] = None
    overrides: Annotated[RequestOverrides | None, Schema("Changes of the profiling Job and of the found graph.")] = None
    features: Annotated[Features | None, Schema("What the graph has beside its engine.")] = None
    search_strategy: Annotated[
        str,
        Schema(
            "`rapid`, also when absent, simulates in minutes, `thorough` measures on GPUs for hours.",
            enum=("rapid", "thorough"),
        ),
    ] = "rapid"
    auto_apply: Annotated[bool, Schema("Create the generated graph at once.", default=True)] = True


class ProfilingResults(ApiModel):
    """What profiling found."""

    selected_config: Annotated[Json, Schema("The graph.", open_object=True)] = None
    output: Annotated[str, Schema("Where all results are: `configmap/<name>`.")] = ""
    pareto: Annotated[tuple[Json, ...], Schema("Of older releases of the Go operator.", open_object=True)] = ()


class GraphRequestStatus(ApiModel):
    """State and results of a request."""

    phase: Annotated[str, Schema("Pending, Profiling, Ready, Deploying, Deployed or Failed.")] = ""
    profiling_phase: Annotated[str, Schema("The profiler's own phase, while it runs.")] = ""
    dgd_name: Annotated[str, Schema("Name of the graph.")] = ""
    profiling_job_name: Annotated[str, Schema("Name of the profiling Job.")] = ""
    conditions: Annotated[
        tuple[Mapping[str, Json], ...],
        Schema("State of the request, one entry for each type.", shape=ConditionEntry, map_key="type"),
    ] = ()
    profiling_results: Annotated[ProfilingResults | None, Schema("What profiling found.")] = None
    deployment_info: Annotated[DeploymentInfo | None, Schema("Replicas of the graph's components.")] = None
    observed_generation: Annotated[int, Schema("Generation of the spec that this status describes.", format=INT64)] = 0
    backend: Annotated[str, Schema("The engine that was profiled.")] = ""
    hardware: Annotated[Hardware | None, Schema("The GPUs that were profiled for.")] = None
    deployment: Annotated[GeneratedDeploymentStatus | None, Schema("The graph that was created.")] = None
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
