"""A service of a graph as a DynamoComponentDeployment: the user's spec and the graph's additions.

Source: Dynamo operator, internal/dynamo/graph.go, GenerateDynamoComponentsDeployments.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.image.runtime_version import CURRENT_SINCE, is_since, resolve_runtime_version
from hooks.component.pod.defaults.epp import CONFIG_KEY
from hooks.component.spec.subject import ComponentType
from hooks.graph.spec.deployment_config import VARIABLE, Overrides, UnreadableConfig, read_overrides, rewrite_port
from hooks.graph.spec.envs import find_env, replace_env
from hooks.graph.spec.ports import frontend_port
from hooks.graph.spec.service_metadata import common_annotations, namespace_of, service_annotations, service_labels
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.pods import literal_env, merge_env, single_variables
from hooks.ground.k8s.types import Json, Manifest, build_manifest, build_metadata
from hooks.ground.problems import SPEC, FieldPath, Key, Problem
from hooks.language.api.component_spec import ComponentSpec, Resources
from hooks.language.api.graph import GraphDeployment
from hooks.language.rules.config import CONFIG, CONFIG_OF_FRONTEND
from hooks.wire.policy import identity

_ROLES = frozenset({ComponentType.PREFILL.value, ComponentType.DECODE.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphServicePlan:
    """One component: its object's name, labels and annotations, and the whole spec."""

    service: str
    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceInputs:
    """Inputs of a component that are not in the graph's spec.

    `replicas` are those of its scaling adapter, None without one; `restart_at` the id of the restart, empty for none;
    `ingress` the default ingress of frontends; `frontend` the container of its pods that v1beta1 calls its frontend,
    empty where the spec says it; `prefix` the decision about the bare prefix of the Dynamo namespace. `keeps_type`: its
    workload exists, and selectors have the type `worker`. `name` is that of its component if that has a generation.
    `suffix` is the generation of a worker, empty for none.
    """

    replicas: int | None
    restart_at: str
    ingress: Mapping[str, Json]
    frontend: str = ""
    keeps_type: bool = False
    prefix: str = ""
    name: str = ""
    suffix: str = ""


def plan_component(
    graph: GraphDeployment, service: str, written: Mapping[str, Json], around: ServiceInputs
) -> GraphServicePlan:
    """Decide a component's whole spec; `written` is the service's spec by the user, without nulls and floats.

    Raises:
        InvalidSpec: `DYN_DEPLOYMENT_CONFIG` cannot be read.
    """
    spec, metadata = graph.spec.services[service], graph.metadata
    labels = dict(sorted({**_generation_labels(around.suffix), **service_labels(graph, service)}.items()))
    annotations = _annotations(graph, spec, around)
    envs, overrides = _configured_envs(graph, service, spec, written.get("envs") or [])
    written = single_variables(written)
    if around.suffix and find_env([*envs, *(spec.main_container.get("env") or ())], contract.WORKER_SUFFIX) is None:
        envs = [*envs, *literal_env({contract.WORKER_SUFFIX: around.suffix})]
    fields: dict[str, Json] = {
        **written,
        "serviceName": service,
        "dynamoNamespace": namespace_of(graph, spec),
        "labels": labels,
        "replicas": _replicas(spec, overrides, around.replicas),
        **({"annotations": annotations} if annotations else {}),
        **_pod_metadata(graph, spec, written),
        **(single_variables({"envs": envs}) if envs else {}),
        **({"backendFramework": graph.spec.backend_framework} if graph.spec.backend_framework else {}),
        **_typed_fields(graph, spec, written, around.ingress),
        **_worker_type(spec, around),
    }
    if overrides.resources is not None:
        fields["resources"] = _override_resources(written.get("resources") or {}, overrides.resources)
    name = around.name or identity.component_name(metadata.name, service)
    return GraphServicePlan(
        service=service,
        name=name,
        namespace=metadata.namespace,
        labels=labels,
        annotations=_object_annotations(graph, spec),
        spec=fields,
    )


def _generation_labels(suffix: str) -> dict[str, str]:
    return {contract.LABEL_WORKER_HASH: suffix} if suffix else {}


def build_component(plan: GraphServicePlan) -> Manifest:
    """Build the DynamoComponentDeployment."""
    metadata = build_metadata(plan.name, plan.namespace, labels=plan.labels, annotations=plan.annotations)
    return build_manifest(contract.COMPONENT, metadata, spec=plan.spec)


def read_configured(graph: GraphDeployment, service: str) -> tuple[ComponentSpec, tuple[Problem, ...]]:
    """The service's spec with the resources of `DYN_DEPLOYMENT_CONFIG`, and the problems of that variable.

    With problems, the spec is the user's. Entries of `envs` may have any shape; other rules check it.
    """
    spec = graph.spec.services[service]
    if not graph.spec.envs and not spec.envs:
        return spec, ()
    entries = (*graph.spec.envs, *spec.envs)
    if not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries):
        return spec, ()
    values = [entry.get("value") for entry in entries if entry["name"] == VARIABLE]
    if not values or not all(isinstance(value, str | None) for value in values):
        return spec, ()
    try:
        _, overrides = _configured_envs(graph, service, spec, clean_json(list(spec.envs)))
    except InvalidSpec as error:
        return spec, error.problems
    if overrides.resources is None:
        return spec, ()
    written = spec.resources.model_dump(by_alias=True, exclude_none=True) if spec.resources else {}
    resources = Resources.model_validate(_override_resources(written, overrides.resources))
    return spec.model_copy(update={"resources": resources}), ()


def uses_account(spec: ComponentSpec, account: str) -> bool:
    """Whether a service's pods use this ServiceAccount, because the user names no other one."""
    pod = spec.extra_pod_spec
    return (pod.get("serviceAccountName") or pod.get("serviceAccount") or account) == account


def _object_annotations(graph: GraphDeployment, spec: ComponentSpec) -> dict[str, str]:
    """The queue of Volcano for a service over several nodes. It is no part of the spec, so it restarts nothing."""
    queue = graph.metadata.annotations.get(contract.ANNOTATION_VOLCANO_QUEUE, "").strip()
    return {contract.ANNOTATION_VOLCANO_QUEUE: queue} if queue and spec.is_multinode else {}


def _annotations(graph: GraphDeployment, spec: ComponentSpec, around: ServiceInputs) -> dict[str, str]:
    added = {
        contract.ANNOTATION_RESTART_AT: around.restart_at,
        contract.ANNOTATION_FRONTEND_CONTAINER: around.frontend,
        contract.ANNOTATION_NAMESPACE_PREFIX: around.prefix,
    }
    own = {key: value for key, value in added.items() if value}
    return dict(sorted({**service_annotations(graph, spec), **own}.items()))


def _pod_metadata(graph: GraphDeployment, spec: ComponentSpec, written: Mapping[str, Json]) -> dict[str, Json]:
    """The annotations of the pods, if the graph's spec has some: a component's other annotations reach no pod."""
    common = common_annotations(graph)
    if not common:
        return {}
    of_service = {key: value for key, value in spec.annotations.items() if key in common}
    own = written.get("extraPodMetadata") or {}
    annotations = {**common, **of_service, **(own.get("annotations") or {})}
    return {"extraPodMetadata": {**own, "annotations": dict(sorted(annotations.items()))}}


def _configured_envs(
    graph: GraphDeployment, service: str, spec: ComponentSpec, own: list[Json]
) -> tuple[list[Json], Overrides]:
    """The component's variables, and the overrides that `DYN_DEPLOYMENT_CONFIG` among them asks for."""
    common = clean_json(list(graph.spec.envs))
    envs = merge_env(common, own) if common else own
    entry = find_env(envs, VARIABLE)
    if entry is None:
        return envs, Overrides()
    text, is_rewritten = entry.get("value", ""), spec.component_type == ComponentType.FRONTEND
    try:
        text = rewrite_port(text, service, frontend_port(graph, service)) if is_rewritten else text
    except UnreadableConfig as error:
        raise InvalidSpec(CONFIG_OF_FRONTEND.at(_path_of(entry, common, own, service), why=str(error))) from error
    try:
        overrides = read_overrides(text, service)
    except UnreadableConfig as error:
        raise InvalidSpec(CONFIG.at(_path_of(entry, common, own, service), why=str(error))) from error
    return replace_env(envs, entry, {**entry, "value": text}) if is_rewritten else envs, overrides


def _path_of(entry: Json, common: list[Json], own: list[Json], service: str) -> FieldPath:
    """The path of this entry's value; the entry is in the graph's variables or in the service's own."""
    places = ((SPEC / "envs", common), (SPEC / "services" / Key(service) / "envs", own))
    found = (path / index for path, envs in places for index, one in enumerate(envs) if one is entry)
    return next(found) / "value"


def _replicas(spec: ComponentSpec, overrides: Overrides, asked: int | None) -> int:
    candidates = (asked, spec.replicas, overrides.workers)
    return next((count for count in candidates if count is not None), 1)


def _typed_fields(
    graph: GraphDeployment, spec: ComponentSpec, written: Mapping[str, Json], ingress: Mapping[str, Json]
) -> dict[str, Json]:
    """Fields that depend on a component's type: a frontend's ingress, the accounts, the picker's configuration."""
    name = graph.metadata.name
    if spec.component_type == ComponentType.FRONTEND and ingress and "ingress" not in written:
        return {"ingress": dict(ingress)}
    if spec.component_type == ComponentType.PLANNER:
        return _account(spec, written, identity.planner_account(name))
    if spec.component_type == ComponentType.EPP:
        return {**_account(spec, written, identity.epp_account(name)), **_picker_config(name, spec)}
    return {}


def _worker_type(spec: ComponentSpec, around: ServiceInputs) -> dict[str, Json]:
    """The type of a new worker of 1.x for prefill or decode, which the user writes as a worker's `subComponentType`.

    Source: Dynamo operator 1.5, internal/dynamo/dgd_grove_workload_renderer.go.
    """
    is_worker = spec.component_type == ComponentType.WORKER and spec.sub_component_type in _ROLES
    if not is_worker or around.keeps_type or not is_since(resolve_runtime_version(spec), CURRENT_SINCE):
        return {}
    return {"componentType": spec.sub_component_type}


def _account(spec: ComponentSpec, written: Mapping[str, Json], name: str) -> dict[str, Json]:
    if not uses_account(spec, name):
        return {}
    return {"extraPodSpec": {**(written.get("extraPodSpec") or {}), "serviceAccountName": name}}


def _picker_config(graph: str, spec: ComponentSpec) -> dict[str, Json]:
    """Refer to the generated ConfigMap: an inline configuration may hold floats, which a child must not hold."""
    if spec.epp_config is None or spec.epp_config.config_map_ref:
        return {}
    reference = {"name": identity.epp_config_map(graph), "key": CONFIG_KEY}
    return {"eppConfig": {"configMapRef": reference}}


def _override_resources(written: Mapping[str, Json], overrides: Mapping[str, Json]) -> dict[str, Json]:
    both = {part: {**(written.get(part) or {}), **overrides} for part in ("requests", "limits")}
    return {**written, **both}
