"""The spec that a component of a graph and a stand-alone component share.

Source: Dynamo operator 1.x, api/v1beta1/dynamocomponentdeployment_types.go and common.go.
"""

from typing import Annotated

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel
from hooks.language.api.component_spec import EppConfig, ModelReference, Multinode
from hooks.language.api.preview import RoleEntry
from hooks.language.api.schema import INT32, OBJECT_META, POD_SPEC, QUANTITY, Schema
from hooks.language.v1beta1.models.experimental import Experimental

COMPONENT_TYPES = ("frontend", "worker", "prefill", "decode", "planner", "epp")
NAME_LENGTH = 63
DOMAIN = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"

_NAME = r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$"
_NUMBER = "(0|[1-9][0-9]{0,3})"
RUNTIME_VERSION = f"^{_NUMBER}[.]{_NUMBER}[.]{_NUMBER}$"
_CONTAINERS = 100
"""Most containers of a pod; Kubernetes has no limit. It keeps rules about containers within the cost budget."""


StandaloneName = Annotated[
    str,
    Schema(
        "Name of the component; that of the object when absent.", min_length=1, max_length=NAME_LENGTH, pattern=_NAME
    ),
]
"""The name of a component that no graph needs to tell from others."""


class PodTemplate(ApiModel):
    """A pod as Kubernetes defines it; the container `main` runs Dynamo."""

    metadata: Annotated[
        Json, Schema("Labels and annotations of the pods; other fields have no effect.", kubernetes=OBJECT_META)
    ] = None
    spec: Annotated[
        Json,
        Schema(
            "Merged over the generated pod spec; the container `main` is merged over the generated one.",
            kubernetes=POD_SPEC,
            optional=("containers",),
            max_items_of=(("containers", _CONTAINERS),),
        ),
    ] = None


class CompilationCache(ApiModel):
    """A PersistentVolumeClaim in which the engine keeps its compiled kernels."""

    pvc_name: Annotated[str, Schema("Name of the claim, which must exist.", required=True, min_length=1)] = ""
    mount_path: Annotated[str, Schema("Path in the main container; the engine's own when absent.")] = ""


class ComponentTopologyConstraint(ApiModel):
    """How close together the pods of one replica run."""

    pack_domain: Annotated[
        str,
        Schema("Topology domain that holds all pods of a replica, for example rack.", required=True, pattern=DOMAIN),
    ] = ""


class ScalingAdapter(ApiModel):
    """A scaling adapter sets the replicas; an empty object switches it on."""

    enabled: Annotated[
        bool | None,
        Schema("Whether it does; absent is true. The Go operator does not know this field, and takes false for true."),
    ] = None


class ComponentSpec(ApiModel):
    """What a component of a graph and a stand-alone component have in common."""

    name: Annotated[
        str,
        Schema(
            "Name of the component, unique in its graph.",
            required=True,
            min_length=1,
            max_length=NAME_LENGTH,
            pattern=_NAME,
        ),
    ] = ""
    type: Annotated[str, Schema("Type of the component; fixed once it is set.", enum=COMPONENT_TYPES)] = ""
    runtime_version_override: Annotated[
        str,
        Schema(
            "Release of Dynamo that chooses defaults, for example `1.6.0`; the version in the tag of the main "
            "container's image when absent.",
            pattern=RUNTIME_VERSION,
        ),
    ] = ""
    global_dynamo_namespace: Annotated[bool, Schema("Join the Dynamo namespace that all graphs share.")] = False
    pod_template: Annotated[PodTemplate | None, Schema("The pods; a new component names a main container.")] = None
    # Stored at once, as upstream's webhook does: a planner reads absent replicas as 0.
    replicas: Annotated[int | None, Schema("How many replicas.", default=1, minimum=0, format=INT32)] = None
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
        tuple[RoleEntry, ...], Schema("The roles `leader` and `worker` of several nodes, by name only.", map_key="name")
    ] = ()
    shared_memory_size: Annotated[
        str | int | None,
        Schema("Size of `/dev/shm`, for example `16Gi`; 8Gi when absent, none at 0.", kubernetes=QUANTITY),
    ] = None
    compilation_cache: Annotated[CompilationCache | None, Schema("Where the engine keeps its compiled kernels.")] = None
    scaling_adapter: Annotated[
        ScalingAdapter | None,
        Schema("Leave replicas to a DynamoGraphDeploymentScalingAdapter: `{}` is on, an absent field is off."),
    ] = None
    model_ref: Annotated[ModelReference | None, Schema("The base model that the component serves.")] = None
    epp_config: Annotated[
        EppConfig | None, Schema("Configuration of an endpoint picker; only for components of type epp.")
    ] = None
    frontend_sidecar: Annotated[
        str,
        Schema(
            "Name of the container of the pod template that runs a frontend beside the worker.", max_length=NAME_LENGTH
        ),
    ] = ""
    topology_constraint: Annotated[
        ComponentTopologyConstraint | None,
        Schema("Keep the pods of a replica close together; only in graphs under Grove."),
    ] = None
    experimental: Annotated[Experimental | None, Schema("Features whose form may still change upstream.")] = None
