"""What makes a graph impossible to render, each problem with its field and what would be right.

Further rules of admission stand beside these; whatever passes here gives children that the API server can accept.
"""

from collections.abc import Iterator, Mapping, Sequence

from hooks import identity
from hooks.api.component_spec import ComponentSpec
from hooks.api.graph import GraphDeployment, PersistentVolumeClaimRequest
from hooks.component.subject import ComponentType
from hooks.component.validate import validate_spec
from hooks.graph.grove_rules import validate_for_grove
from hooks.graph.path import takes_grove
from hooks.graph.topology import validate_topology
from hooks.k8s import kinds
from hooks.k8s.names import MAX_LABEL, has_label_value_form, has_subdomain_form, is_subdomain
from hooks.k8s.quantities import canonical_quantity, parse_quantity
from hooks.k8s.types import GroupVersionKind, Json

_NO_INFERENCE_POOL = (
    "cannot deploy EPP component: InferencePool API group (inference.networking.k8s.io) is not available in the "
    "cluster. EPP requires the Gateway API Inference Extension to be installed. Please install the Gateway API "
    "Inference Extension before deploying EPP components"
)


def validate_graph(graph: GraphDeployment, installed: frozenset[GroupVersionKind]) -> tuple[str, ...]:
    """All problems of a graph; `installed` are the optional kinds that the controller declares."""
    under_grove = takes_grove(graph.metadata.annotations, installed)
    return (
        *_validate_name(graph),
        *_validate_claims(graph.spec.pvcs),
        *_validate_envs("spec.envs", graph.spec.envs),
        *_validate_distinct(graph),
        *(
            problem
            for service, spec in sorted(graph.spec.services.items())
            for problem in _validate_service(graph, service, spec, installed)
        ),
        *(validate_for_grove(graph) if under_grove else ()),
        *validate_topology(graph, takes_grove=under_grove),
    )


def _validate_name(graph: GraphDeployment) -> Iterator[str]:
    name = graph.metadata.name
    if len(name) > MAX_LABEL:
        yield f"metadata.name has {len(name)} characters, must have at most {MAX_LABEL}: it becomes a label"
    if not has_subdomain_form(name):
        yield f"metadata.name {name!r} must consist of lower case letters, digits, '-' and '.'"


def _validate_claims(claims: Sequence[PersistentVolumeClaimRequest]) -> Iterator[str]:
    for index, claim in enumerate(claims):
        path = f"spec.pvcs[{index}]"
        if not claim.name:
            yield f"{path}.name is required"
        elif not is_subdomain(claim.name):
            yield f"{path}.name {claim.name!r} must consist of lower case letters, digits, '-' and '.'"
        if claim.create:
            yield from _validate_created(path, claim)


def _validate_created(path: str, claim: PersistentVolumeClaimRequest) -> Iterator[str]:
    if not claim.storage_class:
        yield f"{path}.storageClass is required when create is true"
    try:
        if claim.size is None or canonical_quantity(claim.size) == "0":
            yield f"{path}.size is required when create is true"
        elif parse_quantity(str(claim.size)) < 0:
            yield f"{path}.size {claim.size} must be greater than zero"
    except ValueError as error:
        yield f"{path}.size: {error}"
    if not claim.volume_access_mode:
        yield f"{path}.volumeAccessMode is required when create is true"


def _validate_envs(path: str, envs: Sequence[Json]) -> Iterator[str]:
    for index, entry in enumerate(envs):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            yield f"{path}[{index}].name is required"
        elif not isinstance(entry.get("value") or "", str):
            yield f"{path}[{index}].value of {entry['name']} must be a string; quote it"


def _validate_distinct(graph: GraphDeployment) -> Iterator[str]:
    seen: dict[str, str] = {}
    for service in sorted(graph.spec.services):
        first = seen.setdefault(service.lower(), service)
        if first != service:
            name = identity.component_name(graph.metadata.name, service)
            yield f"spec.services[{service}] and spec.services[{first}] would both be named {name}; rename one"


def _validate_service(
    graph: GraphDeployment, service: str, spec: ComponentSpec, installed: frozenset[GroupVersionKind]
) -> Iterator[str]:
    path = f"spec.services[{service}]"
    yield from _validate_service_name(graph, service)
    yield from validate_spec(spec, path, framework=graph.spec.backend_framework)
    if spec.component_type == ComponentType.EPP:
        yield from _validate_picker(path, spec, installed)


def _validate_service_name(graph: GraphDeployment, service: str) -> Iterator[str]:
    path, metadata = f"spec.services[{service}]", graph.metadata
    name = identity.component_name(metadata.name, service)
    if not has_label_value_form(service) or not has_subdomain_form(name):
        yield f"{path}: the name {name} is not possible; a service's name has letters, digits and '-' only"
    if len(name) > MAX_LABEL:
        yield (
            f"{path}: the name {name} has {len(name)} characters, at most {MAX_LABEL} are possible; shorten the "
            f"DynamoGraphDeployment name (length {len(metadata.name)}) or the service name (length {len(service)})"
        )


def _validate_picker(path: str, spec: ComponentSpec, installed: frozenset[GroupVersionKind]) -> Iterator[str]:
    if kinds.INFERENCE_POOL not in installed:
        yield f"{path}: {_NO_INFERENCE_POOL}"
    picker = spec.epp_config
    if picker is None:
        yield f"{path}.eppConfig is required for EPP components"
    elif not picker.config_map_ref and not picker.config:
        yield (f"{path}.eppConfig: either configMapRef or config must be specified (no default configuration provided)")
    elif not isinstance(picker.config_map_ref or picker.config, Mapping):
        yield f"{path}.eppConfig: configMapRef and config must be objects"
