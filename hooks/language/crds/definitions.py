"""The custom resource definitions: the five kinds, and the one that workers write for discovery.

The schemas come from the models in `hooks.language.api`; this module adds names, columns and subresources of
v1alpha1, and `hooks.language.v1beta1.resources` those of v1beta1.

Source: Dynamo operator, api/v1alpha1/*_types.go (kubebuilder markers).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.graph_request import GraphRequest
from hooks.language.api.model import Model
from hooks.language.api.resources import (
    ADAPTERS_STATE,
    AGE,
    AVAILABLE,
    COMPONENTS,
    GPUS,
    GRAPH_REASON,
    MESSAGE,
    PATH,
    READY,
    REASON,
    SCALE,
    SERVING,
    Column,
    CustomResource,
)
from hooks.language.api.scaling_adapter import GraphScalingAdapter
from hooks.language.api.schema import OBJECT_META
from hooks.language.api.structural import SchemaNode, build_kubernetes_schema, build_object_schema
from hooks.language.api.worker_metadata import WorkerMetadata
from hooks.language.cel.expressions import CelRule, add_rules
from hooks.language.conversion.version import Version
from hooks.language.rules.values import suggest
from hooks.language.versions import VERSIONS
from hooks.language.versions.documents import Versions

CATEGORY = "dynamo"


CUSTOM_RESOURCES = (
    CustomResource(
        kind=contract.GRAPH.kind,
        short_name="dgd",
        model=GraphDeployment,
        columns=(
            READY,
            SERVING,
            GRAPH_REASON,
            COMPONENTS,
            GPUS,
            AGE,
            PATH,
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
            AVAILABLE,
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
            Column("Model", ".spec.modelName", description="The name that clients ask for"),
            Column("Type", ".spec.modelType", description="base, lora or adapter"),
            Column("Ready", ".status.readyEndpoints", "integer", "Endpoints that have loaded it"),
            Column("Total", ".status.totalEndpoints", "integer", "Endpoints that should load it"),
            # Ready is upstream's name for a count.
            replace(READY, name="AllReady"),
            REASON,
            AGE,
            Column("Source", ".spec.source.uri", description="Where an adapter's weights are", is_wide=True),
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
            *ADAPTERS_STATE,
        ),
        subresources={"status": {}, "scale": dict(SCALE)},
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


def all_resources(versions: Versions = VERSIONS) -> tuple[CustomResource, ...]:
    """Our kinds in each of their versions, v1alpha1 first."""
    return (*CUSTOM_RESOURCES, *(resource for version in versions.beside for resource in version.resources()))


def _find_resource(api_version: str, kind: str) -> CustomResource | None:
    group, _, name = api_version.partition("/")
    if group != contract.GROUP:
        return None
    known = CUSTOM_RESOURCES if name == contract.VERSION else _resources_beside(name)
    return next((one for one in known if (one.api_version, one.kind) == (api_version, kind)), None)


def _resources_beside(name: str) -> tuple[CustomResource, ...]:
    return next((version.resources() for version in VERSIONS.beside if version.name == name), ())


def suggest_kind(kind: str) -> str:
    """What a kind that is not ours should be."""
    kinds = [resource.kind for resource in CUSTOM_RESOURCES]
    return suggest(kind, kinds) or f"should be one of {', '.join(kinds)}"


def build_crds(converter: ReadManifest | None = None, versions: Versions = VERSIONS) -> list[Manifest]:
    """Build all definitions, the graph's first.

    `converter` is the `clientConfig` of the webhook that converts objects. With it, all versions of a kind are served;
    without it v1alpha1 alone, in which objects are stored either way.
    """
    beside = versions.beside if converter is not None else ()
    return [_build_crd(resource, converter, beside) for resource in CUSTOM_RESOURCES]


def build_version_entries(version: Version) -> Mapping[str, Json]:
    """The entries of `spec.versions` for a version beside v1alpha1, by the names of the definitions."""
    rules = version.cel()
    return {_name_of(one): _build_version(one, rules.get(one.kind, ())) for one in version.resources()}


def read_root_schema(manifest: ReadManifest) -> SchemaNode | None:
    """The schema of an object of ours, with all of `metadata`; None for any other version or kind. Do not change it."""
    return _read_root_schema(str(manifest.get("apiVersion")), str(manifest.get("kind")))


@cache
def _build_metadata_schema() -> SchemaNode:
    """The schema of all of `metadata`, which definitions leave to the server."""
    return build_kubernetes_schema(OBJECT_META)


@lru_cache(maxsize=64)
def _read_root_schema(api_version: str, kind: str) -> SchemaNode | None:
    resource = _find_resource(api_version, kind)
    if resource is None:
        return None
    schema = build_root_schema(resource)
    return schema | {"properties": schema["properties"] | {"metadata": _build_metadata_schema()}}


def build_root_schema(resource: CustomResource) -> SchemaNode:
    """Build the schema of a whole object of that kind."""
    schema = build_object_schema(resource.model)
    header: SchemaNode = {
        "apiVersion": {"description": f"Always {resource.api_version}.", "type": "string"},
        "kind": {"description": f"Always {resource.kind}.", "type": "string"},
        "metadata": {"type": "object"},
    }
    return schema | {"properties": header | schema["properties"]}


def _name_of(resource: CustomResource) -> str:
    return f"{resource.plural}.{contract.GROUP}"


def _build_crd(resource: CustomResource, converter: ReadManifest | None, beside: Iterable[Version]) -> Manifest:
    from hooks.language.cel.kinds import CEL_RULES  # noqa: PLC0415 - only definitions need them, no manifest

    others = [build_version_entries(one)[_name_of(resource)] for one in beside if resource.kind in one.prefixes]
    metadata: dict[str, Json] = {
        "name": _name_of(resource),
        # Else Helm would delete the definition, and with it every object of the kind.
        "annotations": {"helm.sh/resource-policy": "keep"},
    }
    if resource.labels:
        metadata["labels"] = dict(resource.labels)
    spec: dict[str, Json] = {
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
        "versions": [_build_version(resource, CEL_RULES.get(resource.kind, ())), *others],
        **({"conversion": _build_conversion(converter)} if others and converter is not None else {}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def _build_conversion(converter: ReadManifest) -> dict[str, Json]:
    """Build `spec.conversion` of a definition whose objects that webhook converts."""
    return {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": dict(converter)},
    }


def _build_version(resource: CustomResource, rules: Iterable[CelRule]) -> dict[str, Json]:
    version: dict[str, Json] = {
        "name": resource.version,
        "served": True,
        "storage": resource.version == contract.VERSION,
        "additionalPrinterColumns": [_build_column(column) for column in resource.columns],
        "schema": {"openAPIV3Schema": add_rules(build_root_schema(resource), rules)},
    }
    return version | ({"subresources": dict(resource.subresources)} if resource.subresources else {})


def _build_column(column: Column) -> dict[str, Json]:
    described = {"description": column.description} if column.description else {}
    wide = {"priority": 1} if column.is_wide else {}
    return {"name": column.name, "type": column.type, "jsonPath": column.path, **described, **wide}
