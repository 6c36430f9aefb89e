"""Fields of features that the hooks do not have: accepted while they ask for nothing, else refused by name.

The models are schemas only; `hooks.component.rules.preview` reads the fields as JSON.

Source: Dynamo operator 1.6, api/v1alpha1/common.go and dynamographdeployment_types.go.
"""

from typing import Annotated

from hooks.ground.k8s.types import Json
from hooks.language.api.base import ApiModel
from hooks.language.api.schema import INT32, Schema

_GMS_MODES = ("intraPod", "interPod")


class ProviderOverride(ApiModel):
    """Fields of the object that another operator runs, written through; refused unless empty."""

    api_version: Annotated[str, Schema("Version of that object's API.")] = ""
    target: Annotated[str, Schema("Kind of that object.")] = ""
    value: Annotated[Json, Schema("The fields.", open_object=True)] = None


class RoleEntry(ApiModel):
    """One role of the pods of a replica over several nodes; only its name may be written."""

    name: Annotated[str, Schema("The role.", required=True, enum=("leader", "worker"))] = ""
    replicas: Annotated[int | None, Schema("Pods of the role; `nodeCount` decides.", format=INT32)] = None
    provider_override: Annotated[Json | None, Schema("Refused unless empty.", shape=ProviderOverride)] = None
    pod_template: Annotated[Json | None, Schema("Refused unless empty.", open_object=True)] = None


class GpuMemoryService(ApiModel):
    """Memory of GPUs that several containers share; refused if enabled."""

    enabled: Annotated[bool, Schema("Refused if true.", required=True)] = False
    mode: Annotated[str, Schema("Where the service runs.", enum=_GMS_MODES)] = ""
    device_class_name: Annotated[str, Schema("DeviceClass of the GPUs.")] = ""
    extra_client_containers: Annotated[tuple[str, ...], Schema("Further containers that use the service.")] = ()
    extra_client_pods: Annotated[tuple[Json, ...], Schema("Further pods that use the service.", open_object=True)] = ()


class Failover(ApiModel):
    """Standby engines; refused if enabled."""

    enabled: Annotated[bool, Schema("Refused if true.", required=True)] = False
    mode: Annotated[str, Schema("Where the standby engines run.", enum=_GMS_MODES)] = ""
    num_shadows: Annotated[int | None, Schema("Standby engines of each rank.", minimum=1, format=INT32)] = None


class GraphExperimental(ApiModel):
    """Preview features of a graph; refused unless empty."""

    kv_transfer_policy: Annotated[Json | None, Schema("Refused unless empty.", open_object=True)] = None
    component_groups: Annotated[tuple[Json, ...], Schema("Refused unless empty.", open_object=True)] = ()
