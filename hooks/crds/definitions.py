"""The custom resource definitions: the five kinds, and the one that workers write for discovery.

The schemas come from the models in `hooks.api`; this module adds names, columns and subresources.

Source: Dynamo operator, api/v1alpha1/*_types.go (kubebuilder markers).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from hooks import contract
from hooks.api.base import ApiModel
from hooks.api.component import ComponentDeployment
from hooks.api.graph import GraphDeployment
from hooks.api.graph_request import GraphRequest
from hooks.api.model import Model
from hooks.api.scaling_adapter import GraphScalingAdapter
from hooks.api.structural import SchemaNode, build_kubernetes_schema, build_object_schema
from hooks.api.worker_metadata import WorkerMetadata
from hooks.crds.cel import add_rules
from hooks.crds.cel_rules import CEL_RULES
from hooks.k8s.types import Json, Manifest, ReadManifest

CATEGORY = "dynamo"
OPEN = "x-kubernetes-preserve-unknown-fields"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; `type` is string, integer or date. Only `-o wide` shows one that `is_wide`."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    is_wide: bool = False


_READY = '.status.conditions[?(@.type=="Ready")]'
READY = Column("Ready", f"{_READY}.status", description="Whether it is ready with its current spec")
REASON = Column("Reason", f"{_READY}.reason", description="Reason why it is not ready")
MESSAGE = Column("Message", f"{_READY}.message", description="Why it is not ready, and remarks", is_wide=True)
AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomResource:
    """A kind of ours: its model, and its names and columns for `kubectl`."""

    kind: str
    short_name: str
    model: type[ApiModel]
    columns: tuple[Column, ...]
    subresources: Mapping[str, Json] = field(default_factory=lambda: {"status": {}})
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def plural(self) -> str:
        """`dynamographdeployments`: the kind in lower case, and an s."""
        return f"{self.kind.lower()}s"


CUSTOM_RESOURCES = (
    CustomResource(
        kind=contract.GRAPH.kind,
        short_name="dgd",
        model=GraphDeployment,
        columns=(
            READY,
            # The reason of the condition is upstream's, and the same for whatever is not ready.
            replace(REASON, path=".status.notReadyReason", description="The worst reason why it is not ready"),
            Column("Components", ".status.componentsReady", description="Ready components of all"),
            Column("GPUs", ".status.gpus", "integer", "GPUs that all wanted pods request"),
            AGE,
            Column("Path", ".status.path", description="What runs the pods", is_wide=True),
            Column("Backend", ".spec.backendFramework", description="Inference engine, if it is named", is_wide=True),
            MESSAGE,
        ),
    ),
    CustomResource(
        kind=contract.COMPONENT.kind,
        short_name="dcd",
        model=ComponentDeployment,
        columns=(
            # Upstream's column of this name reads a removed field, which held the service name.
            Column("DynamoComponent", ".spec.serviceName", description="Name of the component"),
            Column(
                "Available", ".status.conditions[?(@.type=='Available')].status", description="Whether it is available"
            ),
            Column("Backend", ".spec.backendFramework", description="Inference engine, if the component names one"),
            READY,
            REASON,
            AGE,
            MESSAGE,
        ),
    ),
    CustomResource(
        kind=contract.MODEL.kind,
        short_name="dm",
        model=Model,
        columns=(
            Column(
                "BaseModel",
                ".spec.baseModelName",
                description="The base model: the model itself, or the one that the adapter extends",
            ),
            Column("Type", ".spec.modelType", description="base, lora or adapter"),
            Column("Ready", ".status.readyEndpoints", "integer", "Endpoints that have loaded it"),
            Column("Total", ".status.totalEndpoints", "integer", "Endpoints that should load it"),
            # Ready is upstream's name for a count.
            replace(READY, name="AllReady"),
            REASON,
            AGE,
            MESSAGE,
        ),
    ),
    CustomResource(
        kind=contract.GRAPH_REQUEST.kind,
        short_name="dgdr",
        model=GraphRequest,
        columns=(
            Column("Model", ".spec.model"),
            Column("Backend", ".status.backend"),
            Column("State", ".status.state"),
            Column("DGD-State", ".status.deployment.state"),
            READY,
            REASON,
            AGE,
            MESSAGE,
        ),
    ),
    CustomResource(
        kind=contract.SCALING_ADAPTER.kind,
        short_name="dgdsa",
        model=GraphScalingAdapter,
        columns=(
            Column("DGD", ".spec.dgdRef.name", description="Graph of the scaled service"),
            Column("SERVICE", ".spec.dgdRef.serviceName", description="The scaled service"),
            Column("REPLICAS", ".status.replicas", "integer", "Replicas of the service"),
            replace(READY, name="READY"),
            replace(REASON, name="REASON"),
            replace(AGE, name="AGE"),
            replace(MESSAGE, name="MESSAGE"),
        ),
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
    ),
    CustomResource(
        kind=contract.WORKER_METADATA.kind,
        short_name="dwm",
        model=WorkerMetadata,
        columns=(AGE,),
        subresources={},
        labels={contract.LABEL_DISCOVERY_BACKEND: contract.DISCOVERY_KUBERNETES},
    ),
)


def build_crds() -> list[Manifest]:
    """Build all definitions, the graph's first."""
    return [_build_crd(resource) for resource in CUSTOM_RESOURCES]


@cache
def _root_schemas() -> Mapping[str, SchemaNode]:
    """Schemas of whole objects by kind, with all fields of `metadata`; a definition leaves those to the API server."""
    metadata = build_kubernetes_schema(OBJECT_META)
    schemas = {resource.kind: build_root_schema(resource) for resource in CUSTOM_RESOURCES}
    return {kind: s | {"properties": s["properties"] | {"metadata": metadata}} for kind, s in schemas.items()}


def read_root_schema(manifest: ReadManifest) -> SchemaNode | None:
    """The schema of an object of ours, with all of `metadata`; None for any other kind. Do not change it."""
    if manifest.get("apiVersion") != contract.GRAPH.api_version:
        return None
    return _root_schemas().get(str(manifest.get("kind")))


def build_root_schema(resource: CustomResource) -> SchemaNode:
    """Build the schema of a whole object of that kind."""
    schema = build_object_schema(resource.model)
    header: SchemaNode = {
        "apiVersion": {"description": f"Always {contract.GRAPH.api_version}.", "type": "string"},
        "kind": {"description": f"Always {resource.kind}.", "type": "string"},
        "metadata": {"type": "object"},
    }
    return schema | {"properties": header | schema["properties"]}


def _build_crd(resource: CustomResource) -> Manifest:
    metadata: dict[str, Json] = {
        "name": f"{resource.plural}.{contract.GROUP}",
        # Else Helm would delete the definition, and with it every object of the kind.
        "annotations": {"helm.sh/resource-policy": "keep"},
    }
    if resource.labels:
        metadata["labels"] = dict(resource.labels)
    spec = {
        "group": contract.GROUP,
        "scope": "Namespaced",
        "names": {
            "kind": resource.kind,
            "listKind": f"{resource.kind}List",
            "plural": resource.plural,
            "singular": resource.kind.lower(),
            "shortNames": [resource.short_name],
            "categories": [CATEGORY],
        },
        "versions": [_build_version(resource)],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def _build_version(resource: CustomResource) -> dict[str, Json]:
    version: dict[str, Json] = {
        "name": contract.VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_build_column(column) for column in resource.columns],
        "schema": {"openAPIV3Schema": add_rules(build_root_schema(resource), CEL_RULES.get(resource.kind, ()))},
    }
    return version | ({"subresources": dict(resource.subresources)} if resource.subresources else {})


def _build_column(column: Column) -> dict[str, Json]:
    described = {"description": column.description} if column.description else {}
    wide = {"priority": 1} if column.is_wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **described, **wide}
