"""The spec that a component and a graph's service share.

Kubernetes fragments (`envs`, probes, `extraPodSpec`) stay JSON: their schema is in the CRD, `overlay` merges them.

Source: Dynamo operator, api/v1alpha1/dynamocomponentdeployment_types.go and common.go.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel
from hooks.language.api.checkpoint import ServiceCheckpoint
from hooks.language.api.preview import Failover, GpuMemoryService, ProviderOverride, RoleEntry
from hooks.language.api.schema import (
    CONFIG_MAP_KEY,
    CONTAINER,
    ENV_VAR,
    INT32,
    METRIC,
    POD_SPEC,
    PROBE,
    QUANTITY,
    RESOURCE_CLAIM,
    SCALING_BEHAVIOR,
    Schema,
)

_DOMAIN = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
_MAIN_CONTAINER = Schema(
    "Merged over the main container; its name is always `main`.", kubernetes=CONTAINER, optional=("name",)
)


class ResourceItem(ApiModel):
    """Requests or limits; all quantities are strings."""

    cpu: Annotated[str, Schema("Processors, for example `500m` or `4`.")] = ""
    memory: Annotated[str, Schema("Memory, for example `16Gi`.")] = ""
    gpu: Annotated[str, Schema('Whole GPUs, as a string: `"1"`.')] = ""
    gpu_type: Annotated[str, Schema("Resource name of the GPUs; `nvidia.com/gpu` when absent.")] = ""
    custom: Annotated[Mapping[str, str], Schema("Further resources, by resource name.")] = Field(default_factory=dict)


class Resources(ApiModel):
    """Requests, limits and resource claims of the main container."""

    requests: Annotated[ResourceItem | None, Schema("What must be free on a node.")] = None
    limits: Annotated[ResourceItem | None, Schema("What may be used at most.")] = None
    claims: Annotated[
        tuple[Json, ...], Schema("Claims of the pod that the container uses.", kubernetes=RESOURCE_CLAIM)
    ] = ()


class Autoscaling(ApiModel):
    """An autoscaler's settings; ignored, scaling adapters replace them."""

    enabled: Annotated[bool, Schema("Ignored.")] = False
    min_replicas: Annotated[int, Schema("Ignored.")] = 0
    max_replicas: Annotated[int, Schema("Ignored.")] = 0
    behavior: Annotated[Json, Schema("Ignored.", kubernetes=SCALING_BEHAVIOR)] = None
    metrics: Annotated[tuple[Json, ...], Schema("Ignored.", kubernetes=METRIC)] = ()


class ClaimMount(ApiModel):
    """A PersistentVolumeClaim mounted by its name."""

    name: Annotated[str, Schema("Name of the claim.", required=True)] = ""
    mount_point: Annotated[str, Schema("Path in the container; optional only for a compilation cache.")] = ""
    use_as_compilation_cache: Annotated[bool, Schema("Keep the engine's compiled kernels here.", default=False)] = False


class IngressTls(ApiModel):
    """TLS of an ingress."""

    secret_name: Annotated[str, Schema("Secret with the certificate.")] = ""


class Ingress(ApiModel):
    """How a component is reached from outside: an Ingress or an Istio VirtualService."""

    enabled: Annotated[bool, Schema("Make the component reachable from outside.")] = False
    host: Annotated[str, Schema("First label of the host name; needed when enabled.")] = ""
    use_virtual_service: Annotated[
        bool, Schema("Make an Istio VirtualService instead of an Ingress; needs `virtualServiceGateway`.")
    ] = False
    virtual_service_gateway: Annotated[str | None, Schema("Istio Gateway, as `namespace/name`.")] = None
    host_prefix: Annotated[str | None, Schema("Put before the host.")] = None
    annotations: Annotated[Mapping[str, str], Schema("Annotations of the Ingress.")] = Field(default_factory=dict)
    labels: Annotated[Mapping[str, str], Schema("Labels of the Ingress.")] = Field(default_factory=dict)
    tls: Annotated[IngressTls | None, Schema("Serve HTTPS.")] = None
    host_suffix: Annotated[str | None, Schema("Domain of the host; the installation's when absent.")] = None
    ingress_controller_class_name: Annotated[str | None, Schema("Ingress class; the installation's when absent.")] = (
        None
    )


class ModelReference(ApiModel):
    """The base model that a component serves."""

    name: Annotated[str, Schema("Name of the model, for example `Qwen/Qwen3-0.6B`.", required=True)]
    revision: Annotated[str, Schema("Revision of the model.")] = ""


class SharedMemory(ApiModel):
    """Shared memory of the main container."""

    disabled: Annotated[bool, Schema("Mount none.")] = False
    size: Annotated[
        str | int | None, Schema("Size, for example `16Gi`; needed unless disabled.", kubernetes=QUANTITY)
    ] = None


class PodMetadata(ApiModel):
    """Labels and annotations of pods alone."""

    annotations: Annotated[Mapping[str, str], Schema("Annotations of the pods.")] = Field(default_factory=dict)
    labels: Annotated[Mapping[str, str], Schema("Labels of the pods.")] = Field(default_factory=dict)


class Multinode(ApiModel):
    """One replica over several nodes."""

    node_count: Annotated[int, Schema("Nodes of one replica.", required=True, default=2, minimum=2, format=INT32)] = 2


class TopologyConstraint(ApiModel):
    """How close together the pods of one replica run."""

    pack_domain: Annotated[
        str, Schema("Topology domain that holds all pods of a replica, for example rack.", pattern=_DOMAIN)
    ] = ""


class ScalingAdapter(ApiModel):
    """Whether a scaling adapter sets the replicas, for an autoscaler."""

    enabled: Annotated[bool, Schema("Leave `replicas` to a DynamoGraphDeploymentScalingAdapter.", default=False)] = (
        False
    )


class EppConfig(ApiModel):
    """Configuration of an endpoint picker: a ConfigMap's key, or inline."""

    config_map_ref: Annotated[
        Json | None, Schema("Key of a ConfigMap that holds an EndpointPickerConfig.", kubernetes=CONFIG_MAP_KEY)
    ] = None
    config: Annotated[Json | None, Schema("An EndpointPickerConfig.", open_object=True)] = None


class FrontendSidecar(ApiModel):
    """A frontend beside the main container, in a container `sidecar-frontend`, with a frontend's defaults."""

    image: Annotated[str, Schema("Image of the frontend.", required=True)] = ""
    args: Annotated[tuple[str, ...], Schema("Arguments of `python3`, instead of `-m dynamo.frontend`.")] = ()
    env_from_secret: Annotated[str, Schema("Secret whose keys become environment variables of the frontend.")] = ""
    envs: Annotated[
        tuple[Json, ...], Schema("Environment of the frontend; its variables win.", kubernetes=ENV_VAR)
    ] = ()


class ComponentSpec(ApiModel):
    """What a service of a graph and a stand-alone component have in common."""

    annotations: Annotated[Mapping[str, str], Schema("Annotations of the pods, Service and Ingress.")] = Field(
        default_factory=dict
    )
    labels: Annotated[Mapping[str, str], Schema("Labels of the component's children.")] = Field(default_factory=dict)
    service_name: Annotated[str, Schema("Name of the component; in a graph, the name of the service counts.")] = ""
    component_type: Annotated[
        str, Schema("Type of the component: frontend, worker, prefill, decode, planner, epp, or any other word.")
    ] = ""
    sub_component_type: Annotated[str, Schema("Role of a worker: prefill or decode.")] = ""
    dynamo_namespace: Annotated[
        str, Schema("Dynamo namespace of a component without a graph; in a graph, the graph's name decides.")
    ] = ""
    global_dynamo_namespace: Annotated[bool, Schema("Join the Dynamo namespace that all graphs share.")] = False
    resources: Annotated[Resources | None, Schema("Resources of the main container.")] = None
    autoscaling: Annotated[
        Json | None,
        Schema("Ignored; enable `scalingAdapter` and point an autoscaler at the adapter.", shape=Autoscaling),
    ] = None
    envs: Annotated[tuple[Json, ...], Schema("Environment of the main container.", kubernetes=ENV_VAR)] = ()
    env_from_secret: Annotated[str, Schema("Secret whose keys become environment variables.")] = ""
    volume_mounts: Annotated[
        # More than a node can attach. The limit keeps rules about mounts within the API server's cost budget.
        tuple[ClaimMount, ...], Schema("Claims mounted into the main container.", max_items=256)
    ] = ()
    ingress: Annotated[Ingress | None, Schema("How the component is reached from outside.")] = None
    model_ref: Annotated[ModelReference | None, Schema("The base model that the component serves.")] = None
    shared_memory: Annotated[SharedMemory | None, Schema("Shared memory of the main container; 8Gi when absent.")] = (
        None
    )
    extra_pod_metadata: Annotated[PodMetadata | None, Schema("Labels and annotations of the pods alone.")] = None
    extra_pod_spec: Annotated[
        Mapping[str, Json],
        Schema(
            "Merged over the generated pod spec.",
            kubernetes=POD_SPEC,
            optional=("containers",),
            also=(("mainContainer", _MAIN_CONTAINER),),
        ),
    ] = Field(default_factory=dict)
    liveness_probe: Annotated[
        Mapping[str, Json] | None, Schema("Replaces the main container's liveness probe.", kubernetes=PROBE)
    ] = None
    readiness_probe: Annotated[
        Mapping[str, Json] | None, Schema("Replaces the main container's readiness probe.", kubernetes=PROBE)
    ] = None
    replicas: Annotated[int | None, Schema("How many replicas; 1 when absent.", minimum=0, format=INT32)] = None
    min_available: Annotated[
        int | None,
        Schema(
            "Replicas that must be available together; 1 when absent. Only in graphs under Grove. Immutable.",
            minimum=1,
            format=INT32,
        ),
    ] = None
    multinode: Annotated[Multinode | None, Schema("Spread each replica over several nodes.")] = None
    roles: Annotated[
        tuple[Json, ...], Schema("The roles `leader` and `worker` of several nodes, by name only.", shape=RoleEntry)
    ] = ()
    topology_constraint: Annotated[
        TopologyConstraint | None, Schema("Keep the pods of a replica close together; only in graphs under Grove.")
    ] = None
    scaling_adapter: Annotated[ScalingAdapter | None, Schema("Leave replicas to an autoscaler.")] = None
    epp_config: Annotated[
        EppConfig | None, Schema("Configuration of an endpoint picker; only for components of type epp.")
    ] = None
    frontend_sidecar: Annotated[
        FrontendSidecar | None, Schema("Run a frontend in each pod, beside the main container.")
    ] = None
    runtime_version_override: Annotated[
        str,
        Schema(
            "Release of Dynamo that chooses defaults, for example `1.6.0`; the version in the tag of the main "
            "container's image when absent.",
        ),
    ] = ""
    checkpoint: Annotated[
        Json | None, Schema("Start from a checkpoint; refused if enabled.", shape=ServiceCheckpoint)
    ] = None
    gpu_memory_service: Annotated[
        Json | None, Schema("Share memory of GPUs; refused if enabled.", shape=GpuMemoryService)
    ] = None
    failover: Annotated[Json | None, Schema("Keep standby engines; refused if enabled.", shape=Failover)] = None
    provider_override: Annotated[
        Json | None, Schema("Fields of Grove's objects; refused unless empty.", shape=ProviderOverride)
    ] = None

    @property
    def main_container(self) -> Mapping[str, Json]:
        """`extraPodSpec.mainContainer`; empty when absent."""
        return self.extra_pod_spec.get("mainContainer") or {}

    @property
    def node_count(self) -> int:
        """Nodes of one replica; 1 when `multinode` is absent."""
        return self.multinode.node_count if self.multinode else 1

    @property
    def is_multinode(self) -> bool:
        """Whether one replica spans several nodes."""
        return self.node_count > 1
